"""Requests as the server saw them, with its own times and statistics: the proof of politeness."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import accumulate

import msgspec

from gossamer.model import Headers


class RequestRecord(msgspec.Struct, gc=False):
    """One request as the server saw it; times are seconds of `time.monotonic()`."""

    host: str
    """The name in the Host field, in lower case, without port; empty if there was none."""
    path: str
    """The target as on the request line, with its query."""
    method: str
    header: bytes
    """The header fields as received, without the request line."""
    connection: int
    """The number of its connection: requests with the same number shared a connection."""
    started: float
    """When the request's header was complete."""
    ended: float = math.inf
    """When the last byte so far was written; infinite before the first. A raw answer, and one
    that the client did not wait for, ends with its connection."""
    closes: bool = False
    """Whether the client expects the connection to close after the answer."""

    @property
    def headers(self) -> Headers:
        """The header fields in order, names in lower case."""
        lines = self.header.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return Headers(tuple((name.strip().lower(), value.strip()) for name, _, value in pairs))


class HostTraffic(msgspec.Struct, frozen=True):
    """The statistics of one host."""

    requests: int
    min_gap_s: float | None
    """From the end of a request to the start of the next; negative when two overlapped, None
    when there were not two."""
    most_at_once: int
    """The most requests that ran at the same time."""


class Traffic(msgspec.Struct, frozen=True):
    """The statistics of all hosts."""

    hosts: dict[str, HostTraffic]
    repeated: dict[str, int]
    """The URLs that were requested more than once, with the number of requests."""

    @property
    def requests(self) -> int:
        """The requests to all hosts."""
        return sum(host.requests for host in self.hosts.values())

    @property
    def min_gap_s(self) -> float | None:
        """The smallest gap on any host; None when none had two requests."""
        gaps = [host.min_gap_s for host in self.hosts.values() if host.min_gap_s is not None]
        return min(gaps, default=None)

    @property
    def most_at_once(self) -> int:
        """The most requests to one host that ran at the same time."""
        return max((host.most_at_once for host in self.hosts.values()), default=0)


def traffic_of(records: Iterable[RequestRecord], now: float) -> Traffic:
    """Return the statistics of requests; unanswered ones last until `now`."""
    by_host: defaultdict[str, list[RequestRecord]] = defaultdict(list)
    times: Counter[str] = Counter()
    for record in records:
        ended = min(record.ended, now)
        by_host[record.host].append(msgspec.structs.replace(record, ended=ended))
        times[f"http://{record.host}{record.path}"] += 1
    hosts = {
        name: HostTraffic(len(those), min_gap_s(those), most_at_once(those))
        for name, those in sorted(by_host.items())
    }
    return Traffic(hosts, {url: count for url, count in times.items() if count > 1})


def min_gap_s(records: Iterable[RequestRecord]) -> float | None:
    """Return the shortest time from the end of a request to the start of the next on its host.

    Negative when two requests to a host overlapped; None when no host had two requests.
    """
    # Neighbours suffice: an overlap with an earlier request is smaller than that with the next one.
    last: dict[str, RequestRecord] = {}
    gaps: list[float] = []
    for record in sorted(records, key=lambda record: record.started):
        if record.host in last:
            gaps.append(record.started - last[record.host].ended)
        last[record.host] = record
    return min(gaps, default=None)


def most_at_once(records: Iterable[RequestRecord]) -> int:
    """Return the most requests that ran at the same time."""
    # At the same time, the end of a request comes before the start of the next.
    steps = sorted(step for record in records for step in ((record.started, 1), (record.ended, -1)))
    return max(accumulate(change for _, change in steps), default=0)
