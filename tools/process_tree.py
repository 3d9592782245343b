"""The processes of a machine as a tree: who started whom, and who is still there.

A forked process has the command line of its parent, so that of a worker says nothing about it; but
the launcher is the child of the command, and workers are children of the launcher. Whoever writes
outputs is one too, and has a name.
"""

import os
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from gossamer.coordinator.processes.launcher_process import WRITER_NAME


def is_alive(pid: int) -> bool:
    """Tell whether a process is there; one that has ended and is not yet collected is not."""
    return _parent(pid) is not None


def children(pid: int) -> list[int]:
    """Return the processes that a process has started and that are still there, oldest first."""
    return _tree()[pid]


def descendants(pid: int) -> list[int]:
    """Return the children of a process, their children, and so on."""
    tree, found = _tree(), [pid]
    for one in found:
        found += tree[one]
    return found[1:]


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a command."""
    return [one for one in _launched(pid) if _name(one) != WRITER_NAME]


def writers_of(pid: int) -> list[int]:
    """Return the processes that write the outputs of a command."""
    return [one for one in _launched(pid) if _name(one) == WRITER_NAME]


def kill_all(pids: list[int]) -> None:
    """Kill those that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _launched(pid: int) -> list[int]:
    """Return what the launcher of a command has forked."""
    tree = _tree()
    return [one for launcher in tree[pid] for one in tree[launcher]]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
    except OSError:  # it has ended
        return ""


def _tree() -> defaultdict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for pid in sorted(int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
        if (parent := _parent(pid)) is not None:
            found[parent].append(pid)
    return found


def _parent(pid: int) -> int | None:
    """Return who started a process, or None if it is not there."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, parent, *_ = text.rpartition(")")[2].split()  # the name before it may be anything
    return None if state in "ZX" else int(parent)
