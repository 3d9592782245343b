"""Files that are whole or not there, and whose they are.

A crawl replaces and removes only what it wrote itself. It has an identity, which is drawn when it
begins, and is among the metadata in its store. It stays the same
when the crawl goes on or starts over (`--fresh`). The folder `.gossamer` in a directory of results
says which crawl they belong to, and has an empty file for each entry of the directory that this
crawl made: any other is somebody else's.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import CrawlError, UsageError

IDENTITY_NAME: Final = "identity"
"""Where the identity is among the metadata of a crawl."""
MARKS: Final = ".gossamer"
OWNER: Final = "crawl.json"
STARTING_OVER: Final = "starting-over"
"""There while the state of a crawl is removed and made again: its identity is only here then."""

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


def new_identity() -> str:
    """Return the identity of a new crawl."""
    return secrets.token_hex(16)


class CrawlOwner(msgspec.Struct, frozen=True):
    """The crawl that a directory of results belongs to."""

    identity: str
    name: str
    """What people call it."""


class ResultDirectory:
    """The directory for the results of one crawl."""

    def __init__(self, path: Path, owner: CrawlOwner) -> None:
        self._path = path
        self._owner = owner

    def check(self) -> None:
        """Refuse the directory of another crawl."""
        marks = self._path / MARKS
        _refuse_link(marks)
        try:
            owner = msgspec.json.decode((marks / OWNER).read_bytes(), type=CrawlOwner)
        except FileNotFoundError:
            return
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"{marks / OWNER} does not say whose results these are ({error}): name another "
                "directory with --dir"
            ) from error
        if owner.identity != self._owner.identity:
            raise UsageError(
                f"{self._path} holds the results of another crawl, {owner.name}: name another "
                "directory with --dir, or move this one away"
            )

    def mark(self) -> None:
        """Make the directory that of this crawl; refuse that of another one."""
        self.check()
        marks = self._path / MARKS
        with _explained(marks):
            marks.mkdir(parents=True, exist_ok=True)
            if (marks / OWNER).exists():
                return
            try:
                content = msgspec.json.encode(self._owner)
                write_file(str(marks), OWNER, (content, b"\n"), replace=False)
            except FileExistsError:
                self.check()  # another worker of this crawl, or another crawl, was quicker

    def start_over(self) -> None:
        """Note that the state of this crawl is about to be removed, until `started_over`."""
        self.mark()
        (self._path / MARKS / STARTING_OVER).touch()

    def started_over(self) -> None:
        """Note that the state is there again."""
        (self._path / MARKS / STARTING_OVER).unlink(missing_ok=True)

    def claim_folder(self, name: str) -> Path:
        """Return a folder here for this crawl alone: a new or an empty one, or its own."""
        path = self._path / name
        with _explained(path):
            self._claim(path, lambda: min(path.iterdir(), default=None) if path.is_dir() else path)
            path.mkdir(exist_ok=True)
        return path

    def claim_file(self, name: str) -> Path:
        """Return the path of a file here that this crawl may replace: a new one, or its own."""
        path = self._path / name
        with _explained(path):
            self._claim(path, lambda: path)
        return path

    def _claim(self, path: Path, find_stranger: Callable[[], Path | None]) -> None:
        """Note that an entry is this crawl's; refuse what it did not write there."""
        if path.parent != self._path or path.name in {"", ".."}:
            raise UsageError(
                f"{path} cannot hold results: name an entry of the crawl's directory, without a "
                "path"
            )
        self.mark()
        _refuse_link(path)  # it would lead out of the directory
        note = self._path / MARKS / f"own-{path.name}"
        stranger = find_stranger() if path.exists() and not note.exists() else None
        # Another worker of the crawl may have claimed it meanwhile, and then written there.
        if stranger is not None and not note.exists():
            raise UsageError(
                f"{stranger} was not written by this crawl, which leaves it alone: move it away, "
                "or name another directory with --dir"
            )
        note.touch()


def is_starting_over(directory: Path) -> bool:
    """Tell whether a crawl was killed while it started over in a directory."""
    return (directory / MARKS / STARTING_OVER).exists()


def owner_of(directory: Path) -> CrawlOwner | None:
    """Return the crawl that a directory belongs to; None if it does not tell."""
    try:
        return msgspec.json.decode((directory / MARKS / OWNER).read_bytes(), type=CrawlOwner)
    except (OSError, msgspec.MsgspecError):
        return None  # `ResultDirectory.check` says what is wrong


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise UsageError(f"{path} is a symbolic link, which Gossamer does not follow: remove it")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CrawlError(
            f"cannot make {path}: {error.strerror}; fix this and run the same command again"
        ) from error
