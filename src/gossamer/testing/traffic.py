"""The statistics of the server's log of a crawl."""

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from gossamer.testing.records import RequestRecord, min_gap_s


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


def most_at_once(records: Iterable[RequestRecord]) -> int:
    """Return the most requests that ran at the same time."""
    # At the same time, the end of a request comes before the start of the next.
    steps = sorted(step for record in records for step in ((record.started, 1), (record.ended, -1)))
    most = current = 0
    for _, change in steps:
        current += change
        most = max(most, current)
    return most
