"""Queries over the tables of a crawl: rows in, records out."""

import sqlite3
from array import array
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec

from gossamer.model import Cause
from gossamer.stores.reading import Step, StepKind
from gossamer.stores.reasons import WITHOUT_CAUSE, Reason
from gossamer.stores.results import Result, unpack_records
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord

Record = TypeVar("Record", bound=msgspec.Struct)

_LEASED = "EXISTS (SELECT 1 FROM leases WHERE leases.url = urls.id)"
STATE = f"CASE WHEN state = 1 AND {_LEASED} THEN 3 ELSE state END"
"""The state of a URL: one in progress is stored as queued, with a lease."""
URL_COLUMNS = f"""
    SELECT urls.id, urls.url, hosts.key AS host, domain, {STATE}, depth, parent, score, queue,
           CASE state WHEN 4 THEN outcome END AS outcome,
           coalesce(CASE state WHEN 4 THEN detail END, '') AS detail,
           page AS page_id, found_at, finished_at, attempts, duplicate_of,
           similarity, own_similarity
"""
"""The columns of a `UrlRecord`."""
_PAGE = """
    SELECT pages.id, urls.url, depth, 'fetched' AS outcome, size AS bytes, content_type, encoding,
           title, fetched_at, (
               SELECT count(*) FROM attempts WHERE attempts.url = urls.id AND outcome = 'fetched'
           ) AS visits, (
               SELECT status FROM attempts WHERE attempts.url = pages.url AND outcome = 'fetched'
               ORDER BY attempts.rowid DESC LIMIT 1
           ) AS status
    FROM pages JOIN urls ON urls.id = pages.url
"""
_REASONS = """
    SELECT urls.outcome, cause, status FROM urls
    JOIN attempts ON attempts.rowid = (SELECT max(rowid) FROM attempts WHERE url = urls.id)
"""
"""Why finished URLs have ended: their outcomes, with cause and status of the last attempt."""
_WITHOUT_CAUSE = (
    f"(urls.outcome IN {tuple(map(str, sorted(WITHOUT_CAUSE)))} "
    "OR urls.outcome = 'fetched' AND urls.detail IS NULL)"
)
"""What surely has no cause, so that its last attempt, one of many, need not be found."""
COUNT_REASONS = f"""
    SELECT outcome, NULL AS cause, NULL AS status, count(*) AS urls FROM urls
    WHERE state = 4 AND {_WITHOUT_CAUSE} GROUP BY outcome
    UNION ALL SELECT *, count(*) FROM (
        {_REASONS} WHERE state = 4 AND NOT {_WITHOUT_CAUSE}
    ) GROUP BY outcome, cause, status
"""  # noqa: S608 -- our own words
"""How many URLs are finished, by the reason."""
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


def read_reasons(db: sqlite3.Connection) -> dict[Reason, int]:
    """Count how many URLs are finished, by the reason."""
    found: Counter[Reason] = Counter()
    for outcome, cause, status, urls in db.execute(COUNT_REASONS):
        found[Reason.of(outcome, cause, status)] += urls
    return dict(found)


def read_redirected(db: sqlite3.Connection, url_id: int) -> UrlRecord | None:
    """Return the URL that another one redirects to."""
    (targets,) = db.execute("SELECT targets FROM urls WHERE id = ?", (url_id,)).fetchone()
    query = "FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.id = ?"
    first = next(iter(array("q", targets or b"")), None)
    return read_record(db, UrlRecord, f"{URL_COLUMNS} {query}", first)


def read_pages(db: sqlite3.Connection) -> Iterator[PageRecord]:
    """Yield the kept pages in the order of their numbers."""
    return (record(PageRecord, row) for row in db.execute(f"{_PAGE} ORDER BY pages.id"))


def read_page(db: sqlite3.Connection, number: int) -> PageRecord | None:
    """Return a kept page; None if no page has that number."""
    if abs(number) > _LARGEST:
        return None
    return read_record(db, PageRecord, f"{_PAGE} WHERE pages.id = ?", number)


def read_results(db: sqlite3.Connection, after: int, limit: int) -> list[Result]:
    """Return the first results of the log that come after a number."""
    rows = db.execute(
        "SELECT results.number, url, page, settled_at, records, row FROM results "
        "LEFT JOIN result_rows ON result_rows.number = results.number "
        "WHERE results.number > ? ORDER BY results.number LIMIT ?",
        (after, limit),
    )
    return [record(Result, (*row, unpack_records(records), more)) for *row, records, more in rows]


def read_last_result(db: sqlite3.Connection) -> int:
    """Return the number of the last result; 0 when there is none."""
    return read_number(db, "SELECT coalesce(max(number), 0) FROM results")


def read_content(db: sqlite3.Connection, number: int) -> bytes | None:
    """Return the content of a page as it is stored; None if it has expired."""
    found = db.execute("SELECT content FROM contents WHERE page = ?", (number,)).fetchone()
    return None if found is None else bytes(found[0])


def read_path(db: sqlite3.Connection, url_id: int, *, whole: bool = True) -> list[Step]:
    """Return the shortest path from a seed to a URL, both included.

    If not the whole: from the page before the last link.
    """
    steps: list[Step] = []
    passed: set[int] = set()
    at: int | None = url_id
    while at is not None and at not in passed:
        passed.add(at)
        row = db.execute(
            "SELECT one.url, one.depth, one.parent, parent.redirect, EXISTS (SELECT 1 FROM "
            "listings WHERE url IN (one.id, one.parent) AND sitemap_of IS NOT NULL) "
            "FROM urls AS one LEFT JOIN urls AS parent ON parent.id = one.parent "
            "WHERE one.id = ?",
            (at,),
        ).fetchone()
        if row is None:
            break
        is_end = not whole and bool(steps) and steps[-1].over in {"link", "sitemap"}
        url, depth, at, redirect, is_listed = row
        over: StepKind = "seed" if at is None else "redirect" if redirect else "link"
        steps.append(Step(url, depth, "sitemap" if is_listed else over))
        if is_end:
            break
    return steps[::-1]


def has_relaxing(db: sqlite3.Connection) -> bool:
    """Return whether the links of any URL that has come nearer are still to be followed."""
    return bool(read_number(db, "SELECT EXISTS (SELECT 1 FROM relaxing)"))


def count_pages(db: sqlite3.Connection) -> int:
    """Return how many pages are kept."""
    return read_number(db, "SELECT count(*) FROM pages")
