"""Measurements of a crawl over time: memory and open files of its processes, and their trend."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from process_tree import descendants


class Sample(msgspec.Struct, frozen=True):
    """The state of the processes of a crawl at one moment."""

    at_s: float
    memory_mb: float
    """Of all processes together; what they share is counted once."""
    files: int
    """Open files and sockets."""


def sample(pid: int, at_s: float) -> Sample:
    """Measure a process and its descendants."""
    pids = [pid, *descendants(pid)]
    return Sample(at_s, sum(map(_memory_mb, pids)), sum(map(_open_files, pids)))


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """Return by how much the second figure grows with the first, by least squares."""
    mean_x = sum(x for x, _ in samples) / len(samples)
    mean_y = sum(y for _, y in samples) / len(samples)
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0


def _memory_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def _open_files(pid: int) -> int:
    try:
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0
