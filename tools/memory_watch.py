"""The memory of a process and its descendants, sampled while they live."""

import os
import threading
from collections.abc import Collection, Iterator
from pathlib import Path

EVERY_S = 0.2


class MemoryWatch(threading.Thread):
    """Notes the most memory that a process and its descendants held, together and each."""

    def __init__(self, pid: int, ignored: Collection[int] = ()) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ignored = ignored
        self._done = threading.Event()
        self.peak_bytes = 0
        self.peaks: dict[int, int] = {}
        """By process."""

    def run(self) -> None:
        """Sample until stopped, or until the process has ended."""
        unit = os.sysconf("SC_PAGE_SIZE")
        while not self._done.wait(EVERY_S):
            found = dict(_resident_pages(self._pid, self._ignored))
            if not found:
                return
            self.peak_bytes = max(self.peak_bytes, sum(found.values()) * unit)
            for pid, pages in found.items():
                self.peaks[pid] = max(self.peaks.get(pid, 0), pages * unit)

    def stop(self) -> None:
        """Stop sampling."""
        self._done.set()
        self.join()


def _resident_pages(pid: int, ignored: Collection[int]) -> Iterator[tuple[int, int]]:
    """Give each process and its resident size; nothing where there is no /proc."""
    if pid in ignored:
        return
    try:
        yield pid, int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return  # it has ended
    for child in children_of(pid):
        yield from _resident_pages(child, ignored)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started; none where there is no /proc."""
    try:
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        return [int(one) for each in threads for one in (each / "children").read_text().split()]
    except OSError:
        return []
