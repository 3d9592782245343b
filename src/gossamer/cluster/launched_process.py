"""A process that a launcher has forked, as seen by whoever it works for: no child of its own.

A process id may belong to a stranger as soon as the launcher has collected the process, so where
the system has them we keep a descriptor of the process itself.
"""

import os
import select
import signal
import sys
from contextlib import suppress


class LaunchedProcess:
    """A process that can be killed and watched, whoever its parent is by now; to be closed."""

    def __init__(self, pid: int, *, is_worker: bool) -> None:
        """Begin to watch a process that has just been started."""
        self.pid = pid
        self.is_worker = is_worker
        self._descriptor: int | None = None
        self._has_ended = False
        if sys.platform == "linux":
            try:
                self._descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self._has_ended = True
            except OSError:  # too many descriptors, or an old kernel: its id has to do
                self._descriptor = None

    def kill(self) -> None:
        """Kill it, if it has not ended yet."""
        if self.has_ended():
            return
        with suppress(OSError):
            if sys.platform == "linux" and self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Tell whether it has ended; whether its parent has collected it does not matter."""
        if not self._has_ended:
            self._has_ended = self._is_over()
        return self._has_ended

    def close(self) -> None:
        """Stop watching it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._collect()

    def _is_over(self) -> bool:
        if self._descriptor is not None:
            watch = select.poll()
            watch.register(self._descriptor, select.POLLIN)
            return bool(watch.poll(0))
        if self._collect():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _collect(self) -> bool:
        """Collect it, if we have become its parent: as the first process of a container does."""
        with suppress(ChildProcessError):
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return False
