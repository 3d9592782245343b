"""The log of requests as the server saw them, with its own times: the proof of politeness."""

import math
import threading
from collections.abc import Iterable

import msgspec

from gossamer.model import Headers


class RequestRecord(msgspec.Struct, gc=False):
    """One request as the server saw it; times are seconds of `time.monotonic()`."""

    host: str
    """The name in the Host field, in lower case, without port."""
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

    @property
    def headers(self) -> Headers:
        """The header fields in order, names in lower case."""
        lines = self.header.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return Headers(tuple((name.strip().lower(), value.strip()) for name, _, value in pairs))


class RequestLog:
    """The log of requests in their order; written by the server's thread, read by any."""

    def __init__(self) -> None:
        self._records: list[RequestRecord] = []
        self._arrival = threading.Condition()

    def add(self, record: RequestRecord) -> None:
        """Append a request and notify waiting threads."""
        with self._arrival:
            self._records.append(record)
            self._arrival.notify_all()

    def snapshot(self) -> list[RequestRecord]:
        """Return the requests so far, in the order they started."""
        return self._records.copy()

    def clear(self) -> None:
        """Forget every request so far."""
        with self._arrival:
            self._records.clear()

    def wait_for(self, count: int, timeout_s: float) -> list[RequestRecord]:
        """Return the requests once there are at least `count`, or raise TimeoutError."""
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self._records) >= count, timeout_s):
                seen = len(self._records)
                raise TimeoutError(f"{seen} of {count} requests came within {timeout_s} s")
            return self._records.copy()


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
