"""Measurements of a crawl over time: memory and open files of its processes, and their trend."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from process_tree import children, workers_of, writers_of


class ProcessSample(msgspec.Struct, frozen=True):
    """One process at one moment."""

    memory_mb: float
    """What it shares with others is divided among them."""
    files: int
    """Open files and sockets."""


class Sample(msgspec.Struct, frozen=True):
    """The processes of a crawl at one moment, by their names."""

    at_s: float
    processes: dict[str, ProcessSample]
    data_mb: float = 0.0
    """What the server of the store says that its data take; 0 without one."""

    @property
    def memory_mb(self) -> float:
        """The memory of all of them."""
        return self.of("all")

    @property
    def files(self) -> int:
        """The open files and sockets of all of them."""
        return sum(one.files for one in self.processes.values())

    def of(self, kind: str) -> float:
        """Return the memory of all processes of a kind, such as worker; or of all."""
        found = self.processes.items()
        return sum(one.memory_mb for name, one in found if kind in {"all", name.split()[0]})


def measure(pid: int, server: int | None) -> dict[str, ProcessSample]:
    """Measure the processes of a crawl: those of a command, and the server of its store."""
    pids = {"coordinator": pid}
    pids |= {f"launcher {one}": one for one in children(pid)}
    pids |= {f"worker {one}": one for one in workers_of(pid)}
    pids |= {f"writer {one}": one for one in writers_of(pid)}
    if server is not None:
        pids["server"] = server
    found = {name: _measured(one) for name, one in pids.items()}
    return {name: one for name, one in found.items() if one is not None}


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return by how much the second figure grows with the first, by least squares."""
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def growth(samples: Sequence[Sample]) -> dict[str, float]:
    """Return by how many MB a minute each process grows that was there all the time."""
    lasting = set.intersection(*({*one.processes} for one in samples))
    return {
        name: 60 * slope([(one.at_s, one.processes[name].memory_mb) for one in samples])
        for name in samples[0].processes
        if name in lasting
    }


def _measured(pid: int) -> ProcessSample | None:
    """Measure a process; None if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return None
    shares = [int(line.split()[1]) for line in lines if line.startswith("Pss:")]
    return ProcessSample(sum(shares) / 1000, files)
