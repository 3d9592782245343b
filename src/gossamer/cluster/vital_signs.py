"""What a process tells of itself: its memory, and how busy it is."""

import os
import resource
import socket
import sys
import time

from gossamer.stores.figures import WorkerReport


class VitalSigns:
    """Reports on this process; `busy` counts from one report to the next."""

    def __init__(self) -> None:
        self._machine = socket.gethostname()
        self._cpu_s = time.process_time()
        self._wall_s = time.monotonic()

    def report(self) -> WorkerReport:
        """Return how the process is."""
        cpu_s, wall_s = time.process_time(), time.monotonic()
        busy = (cpu_s - self._cpu_s) / max(wall_s - self._wall_s, 1e-3)
        self._cpu_s, self._wall_s = cpu_s, wall_s
        return WorkerReport(
            pid=os.getpid(), machine=self._machine, memory=resident_bytes(), busy=min(busy, 1.0)
        )


def resident_bytes() -> int:
    """Return the resident memory of this process; where that is not known, the most it had."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
