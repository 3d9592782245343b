"""What the server saw, in its own time: the only honest witness of a client's politeness."""

import math
import threading
from collections.abc import Iterable

import msgspec

from gossamer.model import Headers


class RequestRecord(msgspec.Struct, gc=False):
    """One request as the server saw it; moments are seconds of `time.monotonic()`."""

    host: str
    """The name in the Host field, in lower case, without port."""
    path: str
    """The target as it stood on the request line, with its query."""
    method: str
    header: bytes
    """The header fields as they came, without the request line."""
    connection: int
    """The number of the connection it came on: requests with one number shared a connection."""
    started: float
    """When the request's header was complete."""
    ended: float = math.inf
    """When the last byte so far was handed to the transport; infinite before the first. A raw
    answer, and one the client did not wait for, ends with its connection."""

    @property
    def headers(self) -> Headers:
        """The header fields in order, names in lower case."""
        lines = self.header.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return Headers(tuple((name.strip().lower(), value.strip()) for name, _, value in pairs))


class RequestLog:
    """The requests in the order they came; written by the server's thread, read by any."""

    def __init__(self) -> None:
        self._records: list[RequestRecord] = []
        self._arrival = threading.Condition()

    def add(self, record: RequestRecord) -> None:
        """Append a request and wake who waits for it."""
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
    # Neighbours suffice: who overlaps with an earlier request overlaps less than its successor did.
    last: dict[str, RequestRecord] = {}
    gaps: list[float] = []
    for record in sorted(records, key=lambda record: record.started):
        if record.host in last:
            gaps.append(record.started - last[record.host].ended)
        last[record.host] = record
    return min(gaps, default=None)
