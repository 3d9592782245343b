"""An output that is a directory with a file for each page: Markdown, or a mirror.

While it is written it is called `NAME.part`, and the links in its files are absolute. Finishing
makes those to kept pages relative and gives it its name; to be continued it is called `.part`
again. Files are written about once a second, after the index knows of them, and are not flushed to
the disk one by one: a loss of power may cost the last half minute of them, a crash does not.
"""

import contextlib
import errno
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.model import Page, Url
from gossamer.outputs.contract import (
    OutputReport,
    OutputSpec,
    PositionLostError,
    note_of_expired,
)
from gossamer.outputs.page_paths import FindPath, folded, free_path
from gossamer.stores.url_record import Result
from gossamer.urls import fingerprint

MARK: Final = ".gossamer-output"
"""A file in the directory that says whose it is."""
_HALF: Final = ".gossamer-half"
"""A file that is being replaced."""
_GATHERED_BYTES: Final = 16_000_000
_CACHED_PATHS: Final = 100_000
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS mark (text TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    number INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    url TEXT NOT NULL UNIQUE, -- its fingerprint
    path TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    depth INTEGER NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS files_by_page ON files (page);
CREATE TABLE IF NOT EXISTS aliases (
    url TEXT PRIMARY KEY, -- its fingerprint
    number INTEGER NOT NULL
) WITHOUT ROWID;
"""


class _IndexConnection(sqlite3.Connection):
    """A connection whose failures are those of a file, as outputs report them."""

    def execute(self, *statement: Any) -> sqlite3.Cursor:  # noqa: ANN401 -- as it is declared
        """Run a statement; OSError if that cannot be done."""
        try:
            return super().execute(*statement)
        except sqlite3.Error as error:
            is_full = error.sqlite_errorcode == sqlite3.SQLITE_FULL
            raise OSError(errno.ENOSPC if is_full else errno.EIO, f"its index: {error}") from error


class IndexedFile(msgspec.Struct, frozen=True, gc=False):
    """A file of a page."""

    number: int
    page_id: int
    path: str
    depth: int
    """The depth that it shows."""


class DirectoryIndex:
    """The index of one directory."""

    def __init__(self, path: Path) -> None:
        # A commit is flushed to the disk; the writer of outputs may open and use it in two threads.
        self._db = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=_IndexConnection
        )
        try:
            self.mark = self._prepared()
            """What the directory holds, too, so that it is known as the one of this index."""
        except OSError:
            self._db.close()
            raise

    def _prepared(self) -> str:
        for statement in _SCHEMA.split(";\n"):
            self._db.execute(statement)
        if (row := self._db.execute("SELECT text FROM mark").fetchone()) is None:
            row = (secrets.token_hex(16),)
            self._db.execute("INSERT INTO mark VALUES (?)", row)
        return str(row[0])

    @property
    def last(self) -> int:
        """The number of the last file; 0 when there is none."""
        (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM files").fetchone()
        return int(last)

    def enter(self, page: Page, extension: str) -> IndexedFile:
        """Return the file of a page, the one that it has or a new one; a draft until `commit`."""
        self._begin()
        key = fingerprint(page.url)
        row = self._db.execute(
            "UPDATE files SET page = ?, depth = ? WHERE url = ? RETURNING number, path",
            (page.id, page.depth, key),
        ).fetchone()
        if row is None:
            path = free_path(page.url, extension, self._is_taken)
            row = self._db.execute(
                "INSERT INTO files (page, url, path, folded, depth) VALUES (?, ?, ?, ?, ?) "
                "RETURNING number, path",
                (page.id, key, path, folded(path), page.depth),
            ).fetchone()
        number, path = row
        return IndexedFile(number, page.id, path, page.depth)

    def add_alias(self, url: Url, page_id: int) -> None:
        """Enter a URL that leads to a page, if that has a file; a draft until `commit`."""
        self._begin()
        self._db.execute(
            "INSERT OR REPLACE INTO aliases SELECT ?, number FROM files WHERE page = ?",
            (fingerprint(url), page_id),
        )

    def set_size(self, number: int, size: int, depth: int) -> None:
        """Enter what a file holds now; a draft until `commit`."""
        self._begin()
        self._db.execute(
            "UPDATE files SET bytes = ?, depth = ? WHERE number = ?", (size, depth, number)
        )

    def commit(self) -> None:
        """Make all drafts durable."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def after(self, number: int) -> list[str]:
        """Return the paths of the files after a number."""
        rows = self._db.execute("SELECT path FROM files WHERE number > ?", (number,))
        return [path for (path,) in rows]

    def drop_after(self, number: int) -> None:
        """Forget the files after a number, and all aliases: they are entered before each end."""
        self._begin()
        self._db.execute("DELETE FROM aliases")
        self._db.execute("DELETE FROM files WHERE number > ?", (number,))
        self.commit()

    def files(self) -> Iterator[IndexedFile]:
        """Yield all files; others may be changed meanwhile."""
        last, number = self.last, 0
        while number < last:
            rows = self._db.execute(
                "SELECT number, page, path, depth FROM files WHERE number > ? ORDER BY number "
                "LIMIT 1000",
                (number,),
            ).fetchall()
            for row in rows:
                yield IndexedFile(*row)
            number = rows[-1][0]

    def find(self, url: Url) -> str | None:
        """Return the path of the page at a URL; None if it has none."""
        key = fingerprint(url)
        row = self._db.execute(
            "SELECT path FROM files WHERE url = ?1 UNION ALL SELECT path FROM files WHERE number = "
            "(SELECT number FROM aliases WHERE url = ?1) LIMIT 1",
            (key,),
        ).fetchone()
        return None if row is None else str(row[0])

    def totals(self) -> tuple[int, int]:
        """Return how many files there are, and the size of all."""
        row: tuple[int, int] = self._db.execute(
            "SELECT count(*), coalesce(sum(bytes), 0) FROM files"
        ).fetchone()
        return row

    def close(self) -> None:
        """Close it; drafts are forgotten."""
        if self._db.in_transaction:
            with contextlib.suppress(OSError):
                self._db.execute("ROLLBACK")
        self._db.close()

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN")

    def _is_taken(self, path: str) -> bool:
        query = "SELECT 1 FROM files WHERE folded = ?"
        return self._db.execute(query, (path,)).fetchone() is not None


class PageForm:
    """What the files of a directory hold."""

    follows_depths = False

    def extension(self, page: Page) -> str | None:
        """Return what the name of a page's file ends in; None: the page gets no file."""
        raise NotImplementedError

    def content(self, page: Page) -> bytes:
        """Return the file of a page, with absolute links."""
        raise NotImplementedError

    def localised(self, content: bytes, path: str, find: FindPath) -> bytes:
        """Return the file with relative links to pages that are kept."""
        raise NotImplementedError

    def with_depth(self, content: bytes, depth: int) -> bytes:
        """Return the file with another depth of its page, if it shows one."""
        del depth
        return content

    def start(self, first: str) -> tuple[str, bytes] | None:
        """Return the name and content of a file that leads to the first page, at that path."""
        del first
        return None


class DirectoryPosition(msgspec.Struct, frozen=True, array_like=True):
    """How far a directory is."""

    mark: str
    last: int
    """The number of its last file."""
    missing: int = 0
    """How many pages had no content any more."""


class DirectoryOutput:
    """One directory."""

    def __init__(self, spec: OutputSpec, form: PageForm) -> None:
        self._spec = spec
        self._form = form
        self.follows_depths = form.follows_depths
        self._part = spec.part
        self._index: DirectoryIndex | None = None
        self._gathered: dict[str, tuple[IndexedFile, bytes]] = {}
        self._gathered_bytes = 0
        self._missing = 0

    def wants_page(self, result: Result) -> bool:
        """Tell whether a result is a page."""
        return result.page_id is not None

    def rewind(self, position: bytes | None) -> None:
        """Open the directory, and drop the files that were written after a position."""
        self.close()
        self._index = index = DirectoryIndex(self._spec.folder / f"{self._spec.key}.files")
        at = msgspec.msgpack.decode(position, type=DirectoryPosition) if position else None
        if at is not None and (at.mark != index.mark or at.last > index.last):
            raise PositionLostError
        self._open(is_new=at is None)
        last = 0 if at is None else at.last
        for path in index.after(last):
            self._remove(path)
        index.drop_after(last)
        self._missing = 0 if at is None else at.missing

    def write(self, result: Result, page: Page | None) -> None:
        """Add a page, or another version of it."""
        if page is None:
            self._missing += result.page_id is not None
            return
        if (extension := self._form.extension(page)) is None:
            return
        file = self._opened.enter(page, extension)
        content = self._form.content(page)
        self._gathered[file.path] = file, content
        self._gathered_bytes += len(content)
        if self._gathered_bytes > _GATHERED_BYTES:
            self._write_gathered()

    def flush(self) -> bytes:
        """Write the files that were gathered."""
        self._write_gathered()
        index = self._opened
        return msgspec.msgpack.encode(DirectoryPosition(index.mark, index.last, self._missing))

    def add_alias(self, url: Url, page_id: int) -> None:
        """Let links to a URL lead to the file of a page, if that has one."""
        self._opened.add_alias(url, page_id)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Link the files to each other, and give the directory its name."""
        self._write_gathered()
        index = self._opened
        find = lru_cache(_CACHED_PATHS)(index.find)
        first = None
        for file in index.files():
            first = first or file.path
            self._complete(file, find, depths)
        index.commit()
        files, size = index.totals()
        if first is not None and (start := self._form.start(first)) is not None:
            self._put(*start)
        self._part.rename(self._spec.path)
        self.close()
        return OutputReport(
            target=self._spec.target,
            items=files,
            bytes=size,
            files=files,
            unit="page",
            note=note_of_expired(self._missing),
        )

    def close(self) -> None:
        """Leave the directory as it is."""
        self._gathered, self._gathered_bytes = {}, 0
        if self._index is not None:
            self._index.close()
            self._index = None

    @property
    def _opened(self) -> DirectoryIndex:
        assert self._index is not None, "an output is rewound before it is used"
        return self._index

    def _open(self, *, is_new: bool) -> None:
        """Find the directory under one of its names, or make it; refuse that of somebody else."""
        target, part = self._spec.path, self._part
        for path in (part, target):
            if os.path.lexists(path) and not self._is_own(path):
                raise FileExistsError(errno.EEXIST, f"{path} was not written by this crawl")
        if target.exists():
            target.rename(part)
        elif not part.exists():
            if not is_new:
                raise PositionLostError
            part.mkdir(parents=True)
        (part / MARK).write_text(f"{self._opened.mark}\n")
        (part / _HALF).unlink(missing_ok=True)

    def _is_own(self, path: Path) -> bool:
        """Tell whether a directory has the mark of this output, or nothing at all."""
        if path.is_symlink() or not path.is_dir():
            return False
        try:
            return (path / MARK).read_text().strip() == self._opened.mark
        except OSError:
            return next(path.iterdir(), None) is None

    def _write_gathered(self) -> None:
        """Write the files that were gathered, once the index knows them for sure."""
        index = self._opened
        for file, content in self._gathered.values():
            index.set_size(file.number, len(content), file.depth)
        index.commit()
        for path, (_, content) in self._gathered.items():
            self._put(path, content)
        self._gathered, self._gathered_bytes = {}, 0

    def _complete(self, file: IndexedFile, find: FindPath, depths: Sequence[int]) -> None:
        """Give a file its final links, and its final depth."""
        try:
            content = (self._part / file.path).read_bytes()
        except FileNotFoundError:
            return  # somebody did not want it
        completed = self._form.localised(content, file.path, find)
        depth = file.depth
        if file.page_id < len(depths) and 0 <= depths[file.page_id] < depth:
            depth = depths[file.page_id]
            completed = self._form.with_depth(completed, depth)
        if completed != content:
            self._put(file.path, completed)
            self._opened.set_size(file.number, len(completed), depth)

    def _put(self, path: str, content: bytes) -> None:
        """Write a file that is there whole or not at all."""
        half, final = f"{self._part}/{_HALF}", f"{self._part}/{path}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        with os.fdopen(os.open(half, flags, 0o666), "wb") as file:
            file.write(content)
        try:
            os.replace(half, final)  # noqa: PTH105 -- a Path object costs more than the call
        except FileNotFoundError:
            Path(final).parent.mkdir(parents=True)
            os.replace(half, final)  # noqa: PTH105

    def _remove(self, path: str) -> None:
        """Remove a file and the folders that are empty without it."""
        file = self._part / path
        file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            for folder in file.parents:
                if folder == self._part:
                    break
                folder.rmdir()
