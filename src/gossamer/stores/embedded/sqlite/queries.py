"""Queries over the tables of a crawl: rows in, records out."""

import sqlite3
from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec
import zstandard

from gossamer.errors import CrawlError
from gossamer.model import Cause
from gossamer.stores.contract import Attempt, PageRecord

Record = TypeVar("Record", bound=msgspec.Struct)

URL_COLUMNS = """
    SELECT urls.id, urls.url, hosts.key AS host, domain, state, depth, parent, score, queue,
           CASE state WHEN 4 THEN outcome END AS outcome,
           coalesce(CASE state WHEN 4 THEN detail END, '') AS detail,
           page AS page_id, found_at, finished_at, attempts, duplicate_of
"""
"""The columns of a `UrlRecord`."""
_PAGE = """
    SELECT pages.id, urls.url, depth, 'fetched' AS outcome, size AS bytes, content_type, encoding,
           title, fetched_at
    FROM pages JOIN urls ON urls.id = pages.url
"""
_LARGEST = 2**63 - 1
"""The largest number that SQLite knows."""


def read_number(db: sqlite3.Connection, query: str, *values: object) -> int:
    """Return the one number that a query finds."""
    (found,) = db.execute(query, values).fetchone()
    return int(found)


def record(kind: type[Record], row: Collection[object]) -> Record:
    """Return a row as a record; the columns are those of its fields, in their order."""
    return msgspec.convert(dict(zip(kind.__struct_fields__, row, strict=True)), kind)


def read_record(
    db: sqlite3.Connection, kind: type[Record], query: str, *values: object
) -> Record | None:
    """Return the first row that a query finds as a record; None if there is none."""
    row = db.execute(query, values).fetchone()
    return None if row is None else record(kind, row)


def read_note(db: sqlite3.Connection, name: str) -> bytes | None:
    """Return a note."""
    found = db.execute("SELECT CAST(value AS BLOB) FROM notes WHERE name = ?", (name,)).fetchone()
    return None if found is None else bytes(found[0])


def read_attempts(db: sqlite3.Connection, url_id: int) -> list[Attempt]:
    """Return the history of a URL."""
    rows = db.execute(
        "SELECT at, outcome, cause, detail, status FROM attempts WHERE url = ? ORDER BY rowid",
        (url_id,),
    )
    return [
        record(Attempt, (at, outcome, Cause.__members__.get(cause, cause), *more))
        for at, outcome, cause, *more in rows
    ]


def read_pages(db: sqlite3.Connection) -> Iterator[PageRecord]:
    """Yield the kept pages in the order of their numbers."""
    return (record(PageRecord, row) for row in db.execute(f"{_PAGE} ORDER BY pages.id"))


def read_page(db: sqlite3.Connection, number: int) -> PageRecord | None:
    """Return a kept page; None if no page has that number."""
    if abs(number) > _LARGEST:
        return None
    return read_record(db, PageRecord, f"{_PAGE} WHERE pages.id = ?", number)


def read_content(db: sqlite3.Connection, number: int) -> bytes | None:
    """Return a page's body, decompressed; None if it has expired."""
    found = db.execute("SELECT body FROM contents WHERE page = ?", (number,)).fetchone()
    if found is None:
        return None
    try:
        return zstandard.decompress(found[0])
    except zstandard.ZstdError as error:
        raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error


def count_pages(db: sqlite3.Connection) -> int:
    """Return how many pages are kept."""
    return read_number(db, "SELECT count(*) FROM pages")
