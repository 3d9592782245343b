"""The folder in a crawl's directory where its own Redis keeps its files.

Nothing else in the directory is touched, and a folder of that name without our mark is refused.
"""

import fcntl
import os
from pathlib import Path

from gossamer.errors import CrawlError, UsageError

FOLDER = "redis"
MARK = ".gossamer"
MARK_WORDS = "Gossamer keeps the state of a crawl here: the files of a Redis of its own.\n"
APPEND_ONLY_FILES = "appendonlydir/appendonly.aof.*"


def is_own_redis(directory: Path) -> bool:
    """Tell whether a crawl in this directory has a Redis of its own, as far as we may know."""
    return os.path.isfile(directory / FOLDER / MARK)  # noqa: PTH113 -- a Path complains if not


class OwnFolder:
    """The folder, of which one server at a time has the lock: itself, while it runs."""

    def __init__(self, directory: Path) -> None:
        self.path = directory.absolute() / FOLDER
        self.log = self.path / "log"
        self.in_order = self.path / "stopped-in-order"
        """Is there while the server has stopped with everything on disk."""
        self._socket_note = self.path / "socket-path"

    def make(self) -> None:
        """Make the folder, which only its owner can enter; refuse one that is not ours."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            mark = self.path / MARK
            if not mark.is_file():
                if any(self.path.iterdir()):
                    raise UsageError(
                        f"{self.path} was not written by Gossamer: move it away, or name another "
                        "directory with --dir"
                    )
                mark.write_text(MARK_WORDS, encoding="ascii")
        except OSError as error:
            raise UsageError(
                f"cannot keep a Redis in {self.path}: {error.strerror}; name another directory "
                "with --dir"
            ) from error

    def clear(self) -> None:
        """Remove what an earlier crawl has left; nobody may have the lock."""
        for file in self.path.glob(APPEND_ONLY_FILES):
            file.unlink()

    def try_lock(self) -> int | None:
        """Return a descriptor that has the lock; None: a server has it."""
        try:
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CrawlError(f"cannot use the Redis in {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def note_socket(self, socket: Path) -> None:
        """Let other processes know where the server listens."""
        part = self._socket_note.with_suffix(".part")
        part.write_bytes(os.fsencode(socket))
        part.replace(self._socket_note)

    def socket(self) -> Path | None:
        """Return where the server listens, if it runs; None: it was never started."""
        try:
            return Path(os.fsdecode(self._socket_note.read_bytes()))
        except OSError:
            return None
