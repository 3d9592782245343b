"""How many workers a crawl has: a fixed number, or as many as there is work for."""

import os
from collections.abc import Sequence

import msgspec

BUSY = 0.6
"""A worker that wants a core for this share of the time has as much to do as it can do."""


class Staffing(msgspec.Struct, frozen=True):
    """The number of workers: so many from the beginning, and more while that helps."""

    least: int
    most: int

    @classmethod
    def of(cls, workers: int | None, connections: int) -> "Staffing":
        """Return it for the option: a number, or None for as many as there is work for."""
        if workers is not None:
            return cls(workers, workers)
        return cls(1, max(1, min(cores(), connections)))

    def wants_more(self, busy: Sequence[float], ready_hosts: int) -> bool:
        """Tell whether one more worker helps: all others are busy, and hosts wait for them.

        `busy` has the share of the time in which each worker wanted a core lately.
        """
        return len(busy) < self.most and ready_hosts > 0 and min(busy, default=BUSY) >= BUSY


def cores() -> int:
    """Return how many cores this process may use: in a container often fewer than there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shares(total: int, parts: int) -> list[int]:
    """Return a number in as many parts, as equal as can be, each at least 1."""
    share, rest = divmod(total, max(1, parts))
    return [max(1, share + (part < rest)) for part in range(parts)]
