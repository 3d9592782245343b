"""Files that are there whole or not at all: written under a hidden name, then renamed.

A process may die at any moment, `kill -9` included, and leaves at most a hidden file behind. Unless
`durable` is asked for nothing is flushed to the disk: what the operating system has accepted
survives the process, not a loss of power.
"""

import contextlib
import errno
import os
from collections.abc import Sequence

# Paths are text, and the calls those of `os`: a Path object costs more than the system call.


def write_file(
    folder: str,
    name: str,
    parts: Sequence[bytes],
    *,
    durable: bool = False,
    replace: bool = True,
) -> None:
    """Make the file consist of the parts; OSError leaves what was there untouched.

    Without `replace` a file of that name that is there already is an error.
    """
    hidden, final = f"{folder}/.{name}.{os.getpid()}.part", f"{folder}/{name}"
    try:
        write_hidden(hidden, parts, durable=durable)
        if replace:
            os.replace(hidden, final)  # noqa: PTH105
        else:
            publish(hidden, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(hidden)  # noqa: PTH108
        raise


def write_hidden(path: str, parts: Sequence[bytes], *, durable: bool) -> None:
    """Write the parts to a file; OSError if that cannot be done to the end."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o666)
    try:
        written = os.writev(descriptor, parts)
        if written < sum(map(len, parts)):
            # The disk is full, or a limit or a signal came in between.
            rest = memoryview(b"".join(parts))[written:]
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(hidden: str, final: str) -> None:
    """Give a hidden file its name; FileExistsError if another file has it."""
    try:
        os.link(hidden, final)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no hard links.
        if os.path.lexists(final):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(hidden, final)  # noqa: PTH104
    else:
        os.unlink(hidden)  # noqa: PTH108
