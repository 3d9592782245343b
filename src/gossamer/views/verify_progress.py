"""The checks of what is in progress: leases, claims, budgets, and what is noted of the crawl."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple, TypeAlias

import msgspec

from gossamer.frontier.claims import HeldClaim, Refusal, read_claim
from gossamer.model import Outcome
from gossamer.stores.counting import wrong_counts
from gossamer.stores.rows import ReadableRows
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


DIGEST_BYTES = 16
LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start."""

_RULES = read_rules(f"""
-- notes: what is noted of a crawl as a whole is there, and a valid value
    -- A crawl that has asked for no URL yet has noted less.
    WITH due (name, least) AS (
        VALUES ('starts', 1), ('queues', 1), ('url_queue_peak', 1), ('unsure_since', -9e999),
               ('closed', NULL), ('counts', NULL)
    )
    SELECT name || ': ' || coalesce(value, 'nothing') FROM due LEFT JOIN notes USING (name)
    WHERE EXISTS (SELECT 1 FROM attempts) AND CASE name
        WHEN 'closed' THEN coalesce(CAST(value AS TEXT), '') NOT IN ('yes', 'no')
        WHEN 'counts' THEN value IS NULL
        ELSE coalesce(number_of(value) < least, TRUE)
    END
    UNION ALL
    SELECT name || ': ' || value FROM notes
    WHERE name IN ('visits', 'bytes', 'received', 'short_at', 'seeds_pending', 'listed',
                   'over_host_urls')
      AND coalesce(number_of(value), -1) < 0
-- leases: every lease has a number of its own that was given to it
    SELECT 'URL ' || url || ' has the lease ' || number FROM leases
    WHERE number >> {LEASES_OF_A_START} NOT BETWEEN 1 AND :starts
    UNION ALL
    SELECT count(*) || ' URLs have the lease ' || number FROM leases
    GROUP BY number HAVING count(*) > 1
    UNION ALL
    SELECT 'URL ' || url || ' is leased until ' || deadline || ' by worker ' || worker
    FROM leases WHERE worker < 0 OR deadline <= 0 OR allowed < 0
-- slots: a host is asked for its robots.txt for a limited time, and not in a closed crawl
    SELECT key || ' is asked ' || robots_slots || ' times' FROM hosts
    WHERE robots_slots > 0 AND (:closed OR robots_until <= 0)
-- domains: only domains of known hosts are served by workers
    SELECT name || ' is served by worker ' || worker FROM domains
    WHERE worker IS NOT NULL AND (worker < 0 OR name NOT IN (SELECT domain FROM hosts))
-- received: the bytes that were received are those of all hosts together
    SELECT :received || ' bytes counted, and ' || total || ' of the hosts'
    FROM (SELECT coalesce(sum(received), 0) AS total FROM hosts)
    WHERE :received <> total
-- budgets: neither budget is exceeded, also not by what is reserved
    SELECT :visits || ' visits of ' || :max_pages WHERE :visits > :max_pages
    UNION ALL
    SELECT :received || ' bytes of ' || :max_bytes WHERE :received > :max_bytes
    UNION ALL
    SELECT reserved || ' bytes are reserved, and ' || :received || ' of ' || :max_bytes
        || ' were received'
    FROM (SELECT coalesce(sum(allowed), 0) AS reserved FROM leases)
    WHERE reserved > 0 AND :received + reserved > :max_bytes
-- relaxing: the URLs from which shorter paths are still to be followed have been visited
    SELECT coalesce(urls.url, 'URL ' || relaxing.url)
    FROM relaxing LEFT JOIN urls ON urls.id = relaxing.url
    WHERE urls.id IS NULL OR urls.attempts = 0 OR urls.depth > relaxing.depth
       OR done < 0 OR done > length(coalesce(targets, x'')) / 8
""")  # noqa: S608 -- our own words


class ClaimedUrl(NamedTuple):
    """A URL in progress with what is stored of its claim."""

    url: str
    page: int | None
    """The page that it has already, if it is visited again."""
    claim: bytes


_CLAIMED = """
    SELECT urls.url, page, claim FROM leases JOIN urls ON urls.id = leases.url
    WHERE claim IS NOT NULL ORDER BY urls.id
"""


def progress_checks(
    tables: sqlite3.Connection, rows: ReadableRows, facts: Facts
) -> Iterator[Check]:
    """Yield the checks."""

    def number_of(value: bytes | str | None) -> float | None:
        try:
            return None if value is None else float(value)
        except ValueError:
            return None

    tables.create_function("number_of", 1, number_of, deterministic=True)
    for rule in _RULES:
        yield from rule.check(tables, facts)
    promise = "the stored counters are those of the URLs, pages and hosts"
    yield "counters", promise, wrong_counts(rows)
    promise = "pages in progress claim numbers that no other page has"
    yield "claims", promise, _wrong_claims(tables)


def _wrong_claims(tables: sqlite3.Connection) -> Iterator[str]:
    claims: list[tuple[ClaimedUrl, HeldClaim]] = []
    refusals: list[tuple[ClaimedUrl, Refusal]] = []
    for claimed in map(ClaimedUrl._make, tables.execute(_CLAIMED)):
        try:
            claim, refusal = read_claim(claimed.claim)
        except msgspec.MsgspecError as error:
            yield f"the claim of {claimed.url} cannot be read: {error}"
            continue
        if claim is not None:
            claims.append((claimed, claim))
        if refusal is not None:
            refusals.append((claimed, refusal))
    yield from _wrong_numbers(tables, claims)
    taken = {claim.number for _, claim in claims if not claim.again}
    for claimed, refusal in refusals:
        original = refusal.duplicate_of
        if not refusal.void and original not in taken and not _is_page(tables, original):
            yield f"{claimed.url} repeats page {original}, which nobody has"


def _wrong_numbers(
    tables: sqlite3.Connection, claims: Sequence[tuple[ClaimedUrl, HeldClaim]]
) -> Iterator[str]:
    (last_url,) = tables.execute("SELECT count(*) FROM urls").fetchone()
    taken: set[int] = set()
    for claimed, claim in claims:
        url, number = claimed.url, claim.number
        if claim.again and number != claimed.page:
            yield f"{url} is visited again as page {number}, and is page {claimed.page}"
        elif not claim.again and (number in taken or _is_page(tables, number)):
            yield f"{url} claims the number {number}, which another page has"
        elif number < 1 or len(claim.digest) != DIGEST_BYTES:
            yield f"{url} claims the number {number} for a content of no digest"
        elif any(not 1 <= url_id <= last_url for url_id in claim.duplicates):
            yield f"a URL that is missing repeats {url}"
        if not claim.again:
            taken.add(number)


def _is_page(tables: sqlite3.Connection, number: int) -> bool:
    return tables.execute("SELECT 1 FROM pages WHERE id = ?", (number,)).fetchone() is not None
