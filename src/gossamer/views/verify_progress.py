"""The checks of what is in progress: leases, claims, budgets, and what is noted of the crawl."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from gossamer.frontier.claims import HeldClaim, Refusal, read_claim
from gossamer.stores.counting import wrong_counts
from gossamer.stores.rows import ReadableRows
from gossamer.views.verify_rules import Check, Facts, read_rules

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
    WHERE name IN ('visits', 'bytes', 'received', 'short_at', 'reading', 'listed',
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
