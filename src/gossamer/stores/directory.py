"""The directory of a crawl: its lock, and its state in a file or in a Redis of its own."""

import fcntl
import os
import re
import time
from pathlib import Path
from typing import Self

from gossamer.model import Url
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.files import CrawlOwner, ResultDirectory
from gossamer.stores.sqlite.file import check_own, is_written
from gossamer.urls import location, shown

DATABASE = "crawl.sqlite"
LOCK = ".lock"
WORKER_LOCK = ".lock-workers"
"""Its workers have this one as well, so that those of a killed crawl are noticed."""
REDIS_FOLDER = "redis"
"""The folder of a Redis that the crawl has for itself."""
REDIS_MARK = ".gossamer"
"""A file that says that Gossamer has made that folder."""
APPEND_ONLY_FILES = "appendonlydir/appendonly.aof.*"
"""What that Redis writes there."""
LEFT_WITHIN_S = 5.0
"""How long the workers of a killed crawl are waited for: they end by themselves, within 2 s."""


def name_for(seed: Url) -> str:
    """Return the name of a directory for the crawl of this seed."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", location(seed)).strip("-.") or "crawl"


def name_for_file(name: str) -> str:
    """Return the name of a directory for the crawl of the seeds in a file; - is standard input."""
    stem = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(name).stem).strip("-.") or "seeds"
    return f"{stem}-crawl"  # a file without an ending has the name without that


class CrawlDirectory:
    """A directory that one process at a time crawls into; use it in a with statement.

    With the path None no directory is needed: nothing is created or locked.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path or Path()
        self._needed = path is not None
        self._lock: int | None = None
        self.worker_lock: int | None = None
        """A descriptor for worker processes to keep: who crawls next waits until they are gone."""

    @property
    def database(self) -> Path:
        """The file of a crawl without a server."""
        return self.path / DATABASE

    def __enter__(self) -> Self:
        if not self._needed:
            return self
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            self._lock = os.open(self.path / LOCK, flags, 0o644)
            self.worker_lock = os.open(self.path / WORKER_LOCK, flags, 0o644)
        except OSError as error:
            self.__exit__()
            raise UsageError(
                f"cannot crawl into {self.path}: {error.strerror}; name another with --dir"
            ) from error
        if not _locked(self._lock):
            self.__exit__()
            raise CrawlError(
                f"another process is crawling into {self.path}: wait for it, or name another "
                "directory with --dir"
            )
        if not _locked(self.worker_lock, LEFT_WITHIN_S):
            self.__exit__()
            raise CrawlError(
                f"workers of a crawl that was killed still write into {self.path}: end them, and "
                "run the same command again"
            )
        return self

    def __exit__(self, *_: object) -> None:
        # The files stay: if one were removed, two processes could lock two files of one name.
        for lock in (self.worker_lock, self._lock):
            if lock is not None:
                os.close(lock)
        self._lock = self.worker_lock = None

    def check_owner(self, owner: CrawlOwner) -> None:
        """Refuse a directory that holds the results of another crawl."""
        if self._needed:
            ResultDirectory(self.path, owner).check()

    def mark(self, owner: CrawlOwner) -> None:
        """Make it the directory of that crawl; refuse that of another."""
        if self._needed:
            results = ResultDirectory(self.path, owner)
            results.mark()
            results.started_over()

    def start_over(self, database: Path, owner: CrawlOwner) -> None:
        """Remove the state of a crawl that keeps its directory, also if it is killed meanwhile."""
        if self._needed and database.exists():
            ResultDirectory(self.path, owner).start_over()
        self.clear(database)

    def clear(self, database: Path) -> None:
        """Remove the state of an earlier crawl, and nothing else; modules replace their results."""
        check_own(database)
        if not database.exists():
            return
        if is_written(database):
            raise CrawlError(f"another process is writing to {database}: let it end first")
        for suffix in ("", "-wal", "-shm", "-journal"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)


def is_locked(directory: Path) -> bool:
    """Return whether a process crawls into the directory, that is, holds its lock."""
    try:
        lock = os.open(directory / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def is_crawl(directory: Path) -> bool:
    """Return whether there is a crawl in the directory: in a file, or in a Redis of its own."""
    # A Path complains about a directory that may not be entered.
    return os.path.isfile(directory / DATABASE) or is_own_redis(directory)  # noqa: PTH113


def find_crawl(directory: Path | None, here: Path) -> Path:
    """Return the given directory, or else the only crawl in or right below `here`."""
    if directory is not None:
        return directory
    if is_crawl(here):
        return here.resolve()
    crawls = sorted(path for path in here.iterdir() if is_crawl(path))
    if len(crawls) == 1:
        return crawls[0].relative_to(here)
    if not crawls:
        raise UsageError("there is no crawl here: name its directory with --dir")
    names = ", ".join(shown(crawl.name) for crawl in crawls)
    raise UsageError(f"there are several crawls here: name one of {names} with --dir")


def _locked(lock: int, within_s: float = 0.1) -> bool:
    """Take the lock; `is_locked` of another process may hold it very briefly."""
    give_up_at = time.monotonic() + within_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_at:
                return False
            time.sleep(0.02)
        else:
            return True


def is_own_redis(directory: Path) -> bool:
    """Tell whether a crawl in this directory has a Redis of its own, as far as we may know."""
    return os.path.isfile(directory / REDIS_FOLDER / REDIS_MARK)  # noqa: PTH113 -- a Path complains if not


def make_folder(directory: Path) -> Path:
    """Make the folder, which only its owner can enter; refuse one that is not ours."""
    folder = directory / REDIS_FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_own_redis(directory) and any(folder.iterdir()):
        raise UsageError(
            f"{folder} was not written by Gossamer: move it away, or use another --dir"
        )
    folder.joinpath(REDIS_MARK).touch()
    return folder
