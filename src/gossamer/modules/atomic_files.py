"""Files that are there whole or not at all: written under a hidden name, then renamed.

A process may die at any moment, `kill -9` included, and leaves at most a hidden file behind. Unless
`durable` is asked for nothing is flushed to the disk: what the operating system has accepted
survives the process, not a loss of power.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path


def write_hidden(path: str | Path, parts: Sequence[bytes], *, durable: bool = False) -> None:
    """Write a file from its parts; OSError if that cannot be done to the end."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o666)
    try:
        written = os.writev(descriptor, parts)
        if written < sum(map(len, parts)):
            write_rest(descriptor, memoryview(b"".join(parts))[written:])
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_rest(descriptor: int, rest: memoryview) -> None:
    """Go on after a short write: the disk is full, or a limit or a signal came in between."""
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_atomically(hidden: str | Path, final: str | Path, parts: Sequence[bytes]) -> None:
    """Make `final` consist of the parts, replacing what it was; OSError leaves that untouched."""
    try:
        write_hidden(hidden, parts)
        os.replace(hidden, final)  # noqa: PTH105 -- a Path object costs more than the system call
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(hidden)  # noqa: PTH108 -- as above
        raise
