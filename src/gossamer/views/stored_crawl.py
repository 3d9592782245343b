"""A crawl as it is kept, whether it runs, has ended or was killed.

It is looked at in the tables of a file. A crawl in a shared store is copied into such tables first
(`shared_view`).
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.coordinator.directory import DATABASE, is_locked
from gossamer.coordinator.stored_options import StoredOptions, read_options
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.embedded.sqlite.reader import SqliteReader
from gossamer.stores.embedded.sqlite.readonly import reading

SAVED_PAGES = "pages"
"""The folder in which the module `save` writes."""

CrawlState = Literal["running", "finished", "interrupted", "crashed"]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """How much is wanted of a crawl that has to be copied to be looked at."""

    links: bool = False
    """Also by which keys URLs are known, and where their links lead."""
    audit: bool = False
    """Also contents, and whether the store agrees with itself."""
    page: int | None = None
    """Nothing but this page, with its content."""


class StoredCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """An open crawl: everything is read as it was at one moment."""

    name: str
    """What it is called where it is shown: its directory, or its place in a shared store."""
    results: Path | None
    """Where modules have written, as far as that is known."""
    connection: sqlite3.Connection
    reader: SqliteReader
    options: StoredOptions | None
    """None if they were not kept with the crawl."""
    running: bool
    """Whether a process works on it."""
    closed: bool
    """Whether the last process that worked on it ended in order."""
    broken_indexes: Sequence[str] | None = None
    """Where the queues and counters of a shared store do not agree with the records; None: it is in
    no shared store, or nobody has asked."""

    @property
    def bytes(self) -> int:
        """How much was downloaded so far."""
        note = self.reader.note("bytes") or b"0"
        if not note.isdigit():
            raise CrawlError(f"the count of bytes in {self.name} is damaged: {note[:40]!r}")
        return int(note)

    def exhausted_by(self) -> str | None:
        """Return which budget is used up: `max-pages` or `max-bytes`."""
        if self.options is None:
            return None
        budget = self.options.budget(self.reader.page_count(), self.bytes)
        return budget.exhausted_by() if budget else None

    def ended_by(self, left: int) -> str | None:
        """Return what ended the crawl, of which so many URLs are left; None: nothing did."""
        if self.running:
            return None
        if not left:
            return "complete"
        return (self.exhausted_by() or "interrupted") if self.closed else None

    def state(self, left: int) -> CrawlState:
        """Return how it is with the crawl, of which so many URLs are left."""
        if self.running:
            return "running"
        if not self.closed:
            return "crashed"
        return "interrupted" if self.ended_by(left) == "interrupted" else "finished"


@contextmanager
def open_crawl(directory: Path, file: Path | None = None) -> Iterator[StoredCrawl]:
    """Open the crawl in a directory to look at it; it is not disturbed.

    Its state is in another file if one is named.
    """
    path = file or directory / DATABASE
    if not path.is_file():
        where = directory if file is None else file
        raise UsageError(f"there is no crawl in {where}: name its directory with --dir")
    with reading(path) as connection:
        reader = SqliteReader(connection)
        closed = reader.note("closed") == b"yes"
        running = not closed and is_locked(directory)
        if not closed and not running:
            # It was killed, or has ended since the moment that we see: then look again, for a
            # process closes its crawl before it lets go of the lock.
            connection.execute("COMMIT")
            connection.execute("BEGIN")
            closed = reader.note("closed") == b"yes"
            running = not closed and is_locked(directory)
        yield StoredCrawl(
            name=str(file or directory),
            results=directory,
            connection=connection,
            reader=reader,
            options=read_options(reader.note("options"), path),
            running=running,
            closed=closed,
        )
