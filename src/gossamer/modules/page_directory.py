"""The classic crawler's directory of pages: numbered files, and never one replaced."""

import contextlib
import errno
import os
from pathlib import Path

from gossamer.errors import CrawlError, UsageError
from gossamer.model import Url
from gossamer.modules.atomic_files import write_hidden
from gossamer.modules.page_file import hidden_name, is_integer, page_head


class PageDirectory:
    """A directory that receives pages as files 1, 2, 3 …, each whole or not there at all.

    A page is written under a hidden name, made durable, and only then given its number; a number
    is never given twice and no existing file is ever replaced.
    """

    def __init__(self, path: Path, *, first_id: int = 1) -> None:
        self._path = path
        self._first_id = first_id
        self._next_id = first_id
        self._check()

    @property
    def path(self) -> Path:
        """The directory."""
        return self._path

    @property
    def first_id(self) -> int:
        """The number of the first page."""
        return self._first_id

    @property
    def count(self) -> int:
        """How many pages have been saved."""
        return self._next_id - self._first_id

    def save(self, url: Url, depth: int, body: bytes) -> int:
        """Write one page and return its number; CrawlError if it cannot be written whole."""
        number = self._next_id
        hidden = self._path / hidden_name(number)
        try:
            try:
                write_hidden(hidden, (page_head(url, depth), body), durable=True)
                self._publish(hidden, self._path / str(number))
            finally:
                # After a success the hidden name is gone or a second name of the page.
                with contextlib.suppress(FileNotFoundError):
                    hidden.unlink()
        except OSError as error:
            raise CrawlError(
                f"cannot write page {number} to {self._path}: {error.strerror}; "
                f"the {self.count} pages before it are whole"
            ) from error
        self._next_id += 1
        return number

    def set_depth(self, number: int, depth: int) -> None:
        """Write another depth into a page that was saved."""
        file = self._path / str(number)
        hidden = self._path / hidden_name(number)
        try:
            url, _, body = file.read_bytes().split(b"\n", 2)
            write_hidden(hidden, (page_head(Url(url.decode()), depth), body), durable=True)
            hidden.rename(file)
        except OSError as error:
            raise CrawlError(
                f"cannot write the depth of page {number} in {self._path}: {error.strerror}"
            ) from error

    @staticmethod
    def _publish(hidden: Path, final: Path) -> None:
        """Give the file its name, refusing to replace another."""
        try:
            final.hardlink_to(hidden)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems have no hard links.
            if final.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            hidden.rename(final)

    def _check(self) -> None:
        """Refuse a directory that pages cannot go to, with one sentence that says what to do."""
        path = self._path
        if not path.exists():
            raise UsageError(f"page directory {path} does not exist: create it with 'mkdir {path}'")
        if not path.is_dir():
            raise UsageError(f"page directory {path} is not a directory: name one")
        try:
            numbered = sorted(entry.name for entry in path.iterdir() if is_integer(entry.name))
            if not numbered:
                self._probe()
        except OSError as error:
            raise UsageError(
                f"page directory {path} cannot be written to ({error.strerror}): "
                "change its permissions or name another"
            ) from error
        if numbered:
            raise UsageError(
                f"page directory {path} already holds numbered files (such as {numbered[0]!r}): "
                "name an empty one; nothing is overwritten"
            )

    def _probe(self) -> None:
        """Write and remove a file: permissions alone do not tell (read-only file systems, root)."""
        probe = self._path / ".gossamer-probe"
        probe.open("wb").close()
        probe.unlink()
