"""The index of a directory that is written: which page is in which file.

It is beside the crawl and not in the directory. A page is entered before its file is written, so
that whatever a crash leaves in the directory is known here, and nothing else is ever removed.
"""

import contextlib
import errno
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gossamer.model import Page, Url
from gossamer.outputs.page_paths import folded, free_path
from gossamer.urls import fingerprint

_SCHEMA = """
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
        if (found := self._db.execute("SELECT text FROM mark").fetchone()) is None:
            found = (secrets.token_hex(16),)
            self._db.execute("INSERT INTO mark VALUES (?)", found)
        return str(found[0])

    @property
    def last(self) -> int:
        """The number of the last file; 0 when there is none."""
        (last,) = self._db.execute("SELECT coalesce(max(number), 0) FROM files").fetchone()
        return int(last)

    def enter(self, page: Page, extension: str) -> IndexedFile:
        """Return the file of a page, the one that it has or a new one; a draft until `commit`."""
        self._begin()
        key = fingerprint(page.url)
        found = self._db.execute(
            "UPDATE files SET page = ?, depth = ? WHERE url = ? RETURNING number, path",
            (page.id, page.depth, key),
        ).fetchone()
        if found is None:
            path = free_path(page.url, extension, self._is_taken)
            (number,) = self._db.execute(
                "INSERT INTO files (page, url, path, folded, depth) VALUES (?, ?, ?, ?, ?) "
                "RETURNING number",
                (page.id, key, path, folded(path), page.depth),
            ).fetchone()
            found = number, path
        return IndexedFile(found[0], page.id, found[1], page.depth)

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
        found = self._db.execute("SELECT path FROM files WHERE number > ?", (number,))
        return [path for (path,) in found]

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
        found = self._db.execute(
            "SELECT path FROM files WHERE url = ?1 UNION ALL SELECT path FROM files WHERE number = "
            "(SELECT number FROM aliases WHERE url = ?1) LIMIT 1",
            (key,),
        ).fetchone()
        return None if found is None else str(found[0])

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
