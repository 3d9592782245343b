"""The directory of saved pages: numbered files, for the module `save` and the classic crawler.

`pages/17` holds the URL, the depth, then the body byte for byte. A file is whole or not there (see
`stores/files.py`), and only what is such a file is ever replaced or removed.
"""

import errno
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.loading import parse_spec
from gossamer.stores.files import write_file
from gossamer.urls import MAX_URL_LENGTH

FOLDER = "pages"
"""Where the module `save` writes unless told otherwise."""
SAVE = frozenset({"save", "gossamer.modules.builtin:Save"})
HIDDEN_NAME = re.compile(r"\.-?[0-9]+\.[0-9]+\.part", re.ASCII)
"""A page that is being written: its number and the process that writes it."""
_HEAD = re.compile(rb"https?://[^\n]+\n[0-9]+\n")
_HEAD_LENGTH = MAX_URL_LENGTH + 100


def is_integer(name: str) -> bool:
    """Tell whether a file name is an integer."""
    return name.isascii() and name.removeprefix("-").isdigit()


def page_number(name: str) -> int | None:
    """Return the number of a saved page from its file name; None if it is not one."""
    if not (name.isascii() and name.isdigit()) or (name[0] == "0" and name != "0"):
        return None
    return int(name)


def saved_folders(modules: Iterable[str]) -> list[str]:
    """Return the names of the folders to which the modules of a crawl save pages."""
    specs = map(parse_spec, modules)
    return [spec.options.get("folder", FOLDER) for spec in specs if spec.what in SAVE]


def is_page_file(path: str) -> bool:
    """Tell whether a file was written by `save`: the URL and the depth of a page are at its head.

    An empty one may be what a loss of power left of it. A link is not one, wherever it leads.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        head = os.read(descriptor, _HEAD_LENGTH)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return not head or _HEAD.match(head) is not None


class PageDirectory:
    """A directory that receives each page as a file, named by the page's number.

    A page that comes again replaces its file, so a crawl can be continued. With `fresh` it cannot:
    the directory must hold no numbered file, none is ever replaced, and each is flushed to the
    disk. `first_id` is the name of page 1.
    """

    def __init__(self, path: Path, *, first_id: int = 1, fresh: bool = False) -> None:
        self.path = path
        self.count = 0
        """How many pages were saved here by this process."""
        self._folder = str(path)
        self._first_id = first_id
        self._fresh = fresh
        if fresh:
            check_fresh(path)

    def save(self, page: Page) -> None:
        """Write the page; CrawlError if that cannot be done."""
        head = f"{page.url}\n{page.depth}\n".encode()
        self._write(page.id, (head, page.body), replace=not self._fresh)
        self.count += 1

    def set_depth(self, page_id: int, depth: int) -> None:
        """Write a smaller depth into a page's file; one that is not there was saved elsewhere."""
        path = self.path / self._name(page_id)
        try:
            if not os.path.lexists(path):
                return
            self._check_own(str(path))
            url, known, body = [*path.read_bytes().split(b"\n", 2), b"", b""][:3]
        except OSError as error:
            raise self._failed(f"read page {path.name} in", error) from error
        if known and depth < int(known):  # a file that a loss of power emptied has none
            self._write(page_id, (b"%b\n%d\n" % (url, depth), body), replace=True)

    def remove_unsettled(self, is_settled: Callable[[int], bool]) -> int:
        """Remove what a crash left, half and unsettled pages; return how many pages stay.

        Files with other names are not touched. If a name is that of a page and the file is not
        one, nothing is removed: FileExistsError.
        """
        stay, remove = 0, []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                number = page_number(entry.name)
                if number is not None and is_settled(number):
                    stay += entry.stat(follow_symlinks=False).st_size > 0
                elif number is not None:
                    self._check_own(entry.path)
                    remove.append(entry.path)
                elif HIDDEN_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    remove.append(entry.path)
        for path in remove:
            os.unlink(path)  # noqa: PTH108 -- scandir gives paths as text
        return stay

    def _check_own(self, path: str) -> None:
        """Raise FileExistsError for what is not a page that was saved."""
        if not is_page_file(path):
            raise FileExistsError(errno.EEXIST, "it is not a page that Gossamer saved", path)

    def _name(self, page_id: int) -> str:
        return str(page_id - 1 + self._first_id)

    def _write(self, page_id: int, parts: Sequence[bytes], *, replace: bool) -> None:
        name = self._name(page_id)
        path = f"{self._folder}/{name}"
        try:
            if replace and os.path.lexists(path):
                self._check_own(path)
            write_file(self._folder, name, parts, durable=self._fresh, replace=replace)
        except OSError as error:
            raise self._failed(f"write page {name} to", error) from error

    def _failed(self, what: str, error: OSError) -> CrawlError:
        """Return the error that ends the crawl: a page that is not saved must not be settled."""
        if self._fresh:
            advice = f"the {self.count} pages before it are whole"
        else:
            advice = "the pages before it are whole; fix this and run the same command again"
        return CrawlError(f"cannot {what} {self.path}: {error.strerror}; {advice}")


def check_fresh(path: Path) -> None:
    """Refuse a directory that new pages cannot go to; UsageError says what to do."""
    if not path.exists():
        raise UsageError(f"page directory {path} does not exist: create it with 'mkdir {path}'")
    if not path.is_dir():
        raise UsageError(f"page directory {path} is not a directory: name one")
    try:
        numbered = sorted(entry.name for entry in path.iterdir() if is_integer(entry.name))
        if not numbered:
            # Permissions alone do not tell: there are read-only file systems, and there is root.
            with tempfile.TemporaryFile(dir=path):
                pass
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
