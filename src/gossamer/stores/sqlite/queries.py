"""Queries over the tables of a crawl, for whoever checks or moves it as a whole."""

import sqlite3
from collections import Counter

from gossamer.stores.reasons import WITHOUT_CAUSE, Reason

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


def read_note(db: sqlite3.Connection, name: str) -> bytes | None:
    """Return a note."""
    found = db.execute("SELECT CAST(value AS BLOB) FROM notes WHERE name = ?", (name,)).fetchone()
    return None if found is None else bytes(found[0])


def read_reasons(db: sqlite3.Connection) -> dict[Reason, int]:
    """Count how many URLs are finished, by the reason."""
    found: Counter[Reason] = Counter()
    for outcome, cause, status, urls in db.execute(COUNT_REASONS):
        found[Reason.of(outcome, cause, status)] += urls
    return dict(found)
