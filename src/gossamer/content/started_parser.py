"""A process that analyses pages, just started.

It takes as long to come up as the engine of a crawl takes to load. Who knows early that it will be
needed loads only this module, starts it, and then the rest beside it.
"""

import os
import socket
import subprocess
import sys
from types import TracebackType
from typing import Self


class StartedParser:
    """The process and our end of the line to it, until somebody takes them over."""

    def __init__(self) -> None:
        """Start it; raise OSError if that cannot be done."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        number = theirs.fileno()
        command = [sys.executable, "-P", "-m", "gossamer.content.parser_main", str(number)]
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 -- our own program
                    command,
                    pass_fds=[number],
                    stdin=subprocess.DEVNULL,
                    # Ctrl-C is for whoever wants the pages: the process ends when that one does.
                    process_group=0,
                )
            except OSError:
                ours.close()
                raise
        self._line = ours
        self._taken = False

    def __repr__(self) -> str:
        return f"<StartedParser {self._process.pid}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End it if nobody has taken it over."""
        if not self._taken:
            self._line.close()
            self._process.kill()
            self._process.wait()

    def take(self) -> "tuple[subprocess.Popen[bytes], socket.socket]":
        """Return the process and the line, for which the caller is responsible from now on."""
        self._taken = True
        return self._process, self._line


def has_spare_core() -> bool:
    """Tell whether another process would have a core of its own to run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1  # fewer than the machine has, in many containers
    return (os.cpu_count() or 1) > 1
