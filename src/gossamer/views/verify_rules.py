"""Rules of `gossamer verify` that are SQL queries over the tables of a crawl; here those of form.

A rule is a promise and a query for its violations, one line of text each. The rules of form come
first; all others are checked only on tables that obey them. What a query needs to know in addition
to the tables it names as a parameter, one of `Facts`: if that is not known, the rule is skipped.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import TypeAlias

import msgspec

from gossamer.model import Outcome
from gossamer.stores.sqlite.file import make_tables

Check: TypeAlias = tuple[str, str, Iterator[str]]
"""The name of a check, the promise that it checks, and what breaks it."""
_PARAMETER = re.compile(r":([a-z_]+)")
_HEAD = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)
_OUTCOMES = ", ".join(f"'{outcome}'" for outcome in Outcome)
_FORM = f"""
-- values: every value is a valid one
    SELECT 'URL ' || id || ': ' || url FROM urls
    WHERE state NOT BETWEEN 0 AND 5 OR depth < 0 OR deaths < 0 OR length(key) <> 16
       OR length(targets) % 8 <> 0 OR redirect NOT IN (0, 1) OR outcome NOT IN ({_OUTCOMES})
    UNION ALL
    SELECT 'attempt ' || rowid || ' ended as ' || outcome FROM attempts
    WHERE outcome NOT IN ({_OUTCOMES})
    UNION ALL
    SELECT 'page ' || id FROM pages WHERE id < 1 OR size < 0 OR length(digest) <> 16
    UNION ALL
    SELECT 'sketch of page ' || page FROM sketches WHERE length(bands) % 8 <> 0
    UNION ALL
    SELECT 'host ' || key FROM hosts
    WHERE failures < 0 OR delay_s < 0 OR unanswered < 0 OR requests < failed OR failed < 0
       OR pages < 0 OR took_s < 0 OR received < 0 OR robots_slots < 0
    UNION ALL
    SELECT 'domain ' || name FROM domains WHERE credit < 0
    UNION ALL
    SELECT 'lease of URL ' || url FROM leases
    WHERE shared NOT IN (0, 1) OR unproven NOT IN (0, 1)
-- ids: the URLs are numbered in the order of discovery, and none is missing
    SELECT count(*) || ' URLs, the last of which is number ' || max(id) FROM urls
    HAVING count(*) AND (min(id) <> 1 OR max(id) <> count(*))
"""  # noqa: S608 -- our own words
_WRONG_TYPES = """
    SELECT tables.name, iif(tables.name = 'domains', 'name', 'rowid'), group_concat(
        'typeof(' || columns.name || ') NOT IN (' || quote(lower(columns.type))
            || iif("notnull" OR pk, '', ', ' || quote('null')) || ')',
        ' OR '
    ) FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table' AND tables.name <> 'notes' GROUP BY tables.name
"""
"""What is true of a row with a value of a wrong type, by table; metadata are of any type."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules need to know; None: it is not known."""

    now: float
    closed: bool
    """Whether the last process ended properly."""
    over: bool
    """Whether no URLs are left, or no budget."""
    visits: int
    bytes: int
    received: int
    starts: int
    """How often the crawl was begun or continued."""
    expired_before: float
    """Contents of pages that were fetched up to then are gone."""
    revisit_s: float | None = None
    """Infinite if nothing is visited again."""
    keep_s: float | None = None
    """Infinite if contents are kept for good."""
    max_depth: float | None = None
    """Infinite if there is no limit."""
    queues: int | None = None
    max_pages: int | None = None
    max_bytes: int | None = None
    keep_duplicates: bool | None = None
    seed_depths: bool = False
    """Whether seeds may have been given with a depth."""
    cookies: bool = False
    """Whether a redirect may lead back to the URL that had led there, which is visited again."""


class VerifyRule(msgspec.Struct, frozen=True):
    """A promise, and the query for its violations."""

    name: str
    promise: str
    query: str

    def check(self, tables: sqlite3.Connection, facts: Facts | None = None) -> Iterator[Check]:
        """Yield the check of this rule, unless it needs what is not known."""
        known = {} if facts is None else msgspec.structs.asdict(facts)
        if all(known[name] is not None for name in _PARAMETER.findall(self.query)):
            violations = (str(text) for (text,) in tables.execute(self.query, known))
            yield self.name, self.promise, violations


def read_rules(text: str) -> list[VerifyRule]:
    """Return the rules of a text: before each query a comment with its name and its promise."""
    _, *parts = _HEAD.split(text)
    return [VerifyRule(*rule) for rule in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]


def form_rules() -> list[VerifyRule]:
    """Return the rules about types and values: if one is broken, others make no sense."""
    types = VerifyRule("types", "every value has the type of its column", _mistyped())
    return [types, *read_rules(_FORM)]


def _mistyped() -> str:
    """Return the query for values of other types than the schema says."""
    with closing(sqlite3.connect(":memory:")) as db:
        make_tables(db)
        wrong = db.execute(_WRONG_TYPES).fetchall()
    return " UNION ALL ".join(
        f"SELECT 'row ' || {key} || ' of {table}' FROM {table} WHERE {condition}"  # noqa: S608 -- our own names
        for table, key, condition in wrong
    )
