"""What a process tells of itself: its memory, and how busy it is."""

import os
import resource
import socket
import sys
import time

from gossamer.stores.views import WorkerReport


class VitalSigns:
    """Reports on this process; `busy` counts from one report to the next.

    A process is busy while it runs and while it waits for a core: one that shares its core with
    others has no time to spare, however little of it it gets.
    """

    def __init__(self) -> None:
        self._machine = socket.gethostname()
        self._wanted_s = _wanted_s()
        self._wall_s = time.monotonic()

    def report(self) -> WorkerReport:
        """Return how the process is."""
        wanted_s, wall_s = _wanted_s(), time.monotonic()
        busy = (wanted_s - self._wanted_s) / max(wall_s - self._wall_s, 1e-3)
        self._wanted_s, self._wall_s = wanted_s, wall_s
        return WorkerReport(
            pid=os.getpid(), machine=self._machine, memory=resident_bytes(), busy=min(busy, 1.0)
        )


def _wanted_s() -> float:
    """Return how long this process has run, with the time that its main thread waited for a core.

    Only Linux tells the second.
    """
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:  # noqa: PTH123
            waited_ns = int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        waited_ns = 0
    return time.process_time() + waited_ns / 1e9


def resident_bytes() -> int:
    """Return the resident memory of this process; where that is not known, the most it had."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
