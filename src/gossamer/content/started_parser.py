"""A parser process that is started early.

It takes as long to start as the engine of a crawl takes to load. A command that will need it loads
only this module, starts the process, and loads the rest meanwhile.
"""

import os
import socket
import subprocess
import sys
from typing import Self


class StartedParser:
    """A started parser process and our end of its socket, until a caller takes them over."""

    def __init__(self) -> None:
        """Start it; raise OSError if that fails."""
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
                    # Ctrl-C is for the parent: the process exits when the parent does.
                    process_group=0,
                )
            except OSError:
                ours.close()
                raise
        self._socket = ours
        self._taken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if nobody has taken it over."""
        if not self._taken:
            self._socket.close()
            self._process.kill()
            self._process.wait()

    def take(self) -> "tuple[subprocess.Popen[bytes], socket.socket]":
        """Return the process and the socket, for which the caller is responsible from now on."""
        self._taken = True
        return self._process, self._socket


def has_spare_core() -> bool:
    """Return whether another process would have a core of its own."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) > 1  # in a container often fewer than the machine has
    return (os.cpu_count() or 1) > 1
