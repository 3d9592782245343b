"""The rules of `verify` in SQL: a promise each, and the query for what breaks it.

A query that names a parameter is left out if that is not known. Rules of form come first: if one is
broken, others make no sense.

A URL may be visited again after `revisit_s`. Its page keeps its number, its earlier links are
forgotten: such URLs are in the table `revisited`, and some rules allow for them.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import TypeAlias

import msgspec

from gossamer.model import Outcome
from gossamer.stores.counting import REASONS_NAME
from gossamer.stores.sqlite.file import COUNT_REASONS, make_tables

Check: TypeAlias = tuple[str, str, Iterator[str]]
"""The name of a check, the promise that it checks, and what breaks it."""
_PARAMETER = re.compile(r":([a-z_]+)")
_HEAD = re.compile(r"^-- (\w+): (.+)$", re.MULTILINE)


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


_AGAIN = """
    FROM (
        SELECT url, at, outcome, lead(at) OVER (PARTITION BY url ORDER BY rowid) AS next_at,
               sum(outcome = 'redirected') OVER (PARTITION BY url ORDER BY rowid) AS redirects
        FROM attempts
    ) AS one JOIN urls ON urls.id = one.url
    WHERE one.outcome IN ('fetched', 'redirected')
      AND (next_at IS NOT NULL OR state <> 4) AND coalesce(next_at, :now) - at
"""
"""The visits of URLs that were visited again, or wait for that; a bound on the time follows."""
_LED_BACK = ":cookies AND one.outcome = 'redirected' AND redirects = 1"
"""Where a redirect has led back with a cookie, for the first time."""
_SIMILAR_ONCE = """
    SELECT one.url FROM attempts AS one JOIN urls ON urls.id = one.url
    WHERE one.outcome = 'similar' AND (state <> 4 OR urls.outcome <> 'similar')
"""
"""The URLs that were similar to a page which was not kept in the end: their links were followed."""
REVISITED = f"""
    CREATE TEMP TABLE revisited AS
    SELECT one.url {_AGAIN} >= 0 AND ({_LED_BACK} OR coalesce(next_at, :now) - at
        >= coalesce(:revisit_s, 0)) UNION {_SIMILAR_ONCE}
    UNION SELECT url FROM listings WHERE sitemap_of IS NOT NULL
"""  # noqa: S608 -- our own words
"""The URLs of which not all links are stored; those of sitemaps never are."""

URL_RULES = read_rules(f"""
-- outcome: a URL has an outcome, and its time, exactly if it is finished
    SELECT url FROM urls WHERE (outcome IS NULL) <> (finished_at IS NULL)
    OR (state = 4) <> (outcome IS NOT NULL)
-- score: a URL has a score from 0 to 100 and a queue exactly if it has been scored
    SELECT url FROM urls WHERE (score IS NULL) <> (queue IS NULL)
    OR score NOT BETWEEN 0 AND 100 OR state IN (1, 2, 3, 4) AND score IS NULL
    OR state IN (0, 5) AND score IS NOT NULL AND id NOT IN revisited
-- queue: a URL is in the queue of its score
    SELECT url || ' with the score ' || score || ' is in queue ' || queue FROM urls
    WHERE :queues AND queue <> queue_of(score)
-- rest: only URLs that wait are in progress, and none in a crawl that was closed
    SELECT coalesce(urls.url, 'URL ' || leases.url) FROM leases
    LEFT JOIN urls ON urls.id = leases.url WHERE :closed OR urls.state IS NOT 1
    UNION ALL SELECT url FROM urls WHERE :closed AND state IN (2, 3)
-- limit: a URL is left out exactly if it is deeper than the depth limit
    SELECT url || ' at depth ' || depth FROM urls WHERE (state = 5) <> (depth > :max_depth)
-- host: every URL belongs to a known host
    SELECT url FROM urls WHERE host NOT IN (SELECT id FROM hosts)
-- counts: the known URLs of each host are counted, and those that have ended for each reason
    SELECT key || ' has ' || coalesce(known, 0) || ' URLs, and counts ' || urls FROM hosts
    LEFT JOIN (SELECT host, count(*) AS known FROM urls GROUP BY host) ON host = hosts.id
    WHERE urls <> coalesce(known, 0)
    UNION ALL
    SELECT reason || ': ' || sum(ended) || ' URLs, and ' || sum(noted) || ' counted' FROM (
        SELECT reason_of(outcome, cause, status) AS reason, urls AS ended, 0 AS noted
        FROM ({COUNT_REASONS})
        UNION ALL
        SELECT key, 0, value FROM json_each((
            SELECT CASE WHEN json_valid(CAST(value AS TEXT)) THEN CAST(value AS TEXT) END
            FROM notes WHERE name = '{REASONS_NAME}'
        ))
    ) GROUP BY reason HAVING sum(ended) <> sum(noted)
-- parent: every URL but the seeds was found on one that has been visited
    SELECT one.url FROM urls AS one LEFT JOIN urls AS other ON other.id = one.parent
    WHERE one.parent IS NULL AND one.depth > 0 AND NOT :seed_depths
       OR one.parent IS NOT NULL AND other.state IS NOT 4 AND one.parent NOT IN revisited
-- attempts: every attempt at a URL is recorded
    SELECT url || ' counts ' || attempts || ' attempts' FROM urls
    WHERE attempts <> (SELECT count(*) FROM attempts WHERE attempts.url = urls.id)
    UNION ALL
    SELECT 'an attempt at an unknown URL' FROM attempts WHERE url NOT IN (SELECT id FROM urls)
-- ending: the outcome of a finished URL is that of its last attempt
    SELECT url || ' ended as ' || outcome FROM urls
    WHERE state = 4 AND outcome IS NOT (
        SELECT outcome FROM attempts WHERE attempts.url = urls.id ORDER BY rowid DESC LIMIT 1
    )
-- once: nothing is visited again, or only after the time of --revisit or with a new cookie
    SELECT urls.url {_AGAIN} < :revisit_s AND NOT ({_LED_BACK})
""")  # noqa: S608 -- our own words

PAGE_RULES = read_rules("""
-- numbers: the pages are numbered 1, 2, 3 … without gaps, except for pages in progress
    SELECT 'page ' || (id + 1) || ' is missing'
    FROM (SELECT 0 AS id UNION ALL SELECT id FROM pages) AS one
    WHERE id < (SELECT max(id) FROM pages) AND id + 1 NOT IN (SELECT id FROM pages)
      AND (:over OR (SELECT max(id) - count(*) FROM pages)
                    > (SELECT count(*) FROM urls WHERE state < 4))
-- fetched: a URL has one page exactly if it was ever fetched, and each refers to the other
    -- What was fetched stays if a later visit fails, or is still to come.
    SELECT one.url FROM urls AS one LEFT JOIN pages ON pages.id = page
    WHERE page IS NULL AND state = 4 AND outcome = 'fetched'
       OR page IS NOT NULL AND pages.url IS NOT one.id
       OR page IS NOT NULL AND (state <> 4 OR outcome <> 'fetched') AND one.id NOT IN revisited
    UNION ALL
    SELECT 'page ' || pages.id FROM pages LEFT JOIN urls AS one ON one.id = pages.url
    WHERE one.page IS NOT pages.id
-- visits: every visit of a page is counted, and every page was visited
    SELECT :visits || ' visits counted, ' || total || ' recorded'
    FROM (SELECT count(*) AS total FROM attempts WHERE outcome = 'fetched')
    WHERE :visits <> total
    UNION ALL
    SELECT 'page ' || id FROM pages WHERE NOT EXISTS (
        SELECT 1 FROM attempts WHERE attempts.url = pages.url AND outcome = 'fetched'
    )
-- results: every visit of a page is in the log of results once, and nothing that was not settled
    -- Who follows the log tells its results apart by their URLs and times.
    SELECT urls.url || ' has ' || kept || ' visits, and ' || logged || ' results' FROM (
        SELECT url, sum(kept) AS kept, sum(logged) AS logged FROM (
            SELECT url, count(*) AS kept, 0 AS logged FROM attempts
            WHERE outcome = 'fetched' GROUP BY url
            UNION ALL SELECT url, 0, count(*) FROM results WHERE page IS NOT NULL GROUP BY url
        ) GROUP BY url
    ) AS visited LEFT JOIN urls ON urls.id = visited.url WHERE kept <> logged
    UNION ALL
    SELECT 'result ' || number || ' of page ' || page FROM results
    WHERE page IS NOT NULL AND page IS NOT (SELECT page FROM urls WHERE urls.id = results.url)
    UNION ALL
    SELECT 'result ' || number FROM results WHERE NOT EXISTS (
        SELECT 1 FROM attempts WHERE attempts.url = results.url AND at <= settled_at
    )
    UNION ALL
    SELECT 'row of result ' || number FROM result_rows
    WHERE number NOT IN (SELECT number FROM results)
-- reported: the modules know the depth of every page, or will when the crawl continues
    -- A crawl that was killed at its very end has that left to do.
    SELECT 'page ' || pages.id || ' at depth ' || depth FROM pages JOIN urls ON page = pages.id
    WHERE reported_depth < depth OR :over AND :closed AND reported_depth <> depth
-- duplicates: no content is kept twice, unless its time was over or a page is visited again
    -- A page is compared when it has been parsed, a little after it was fetched.
    SELECT 'pages ' || before || ' and ' || id FROM (
        SELECT id, fetched_at,
               lag(id) OVER same AS before, lag(fetched_at) OVER same AS before_at
        FROM pages WHERE url NOT IN revisited
        WINDOW same AS (PARTITION BY digest ORDER BY fetched_at, id)
    )
    WHERE NOT :keep_duplicates AND fetched_at - before_at < :keep_s - min(60, :keep_s / 2)
      AND before_at > :expired_before
-- original: only duplicates name a page, which exists, and only similar ones their similarity
    -- While a crawl runs, that page may be in progress; after a crash it may be visited again.
    SELECT url || ' repeats page ' || coalesce(duplicate_of, '(none)')
    FROM urls
    WHERE state = 4 AND (outcome IN ('duplicate', 'similar')) <> (duplicate_of IS NOT NULL)
       OR state = 4 AND (outcome = 'similar') <> (similarity IS NOT NULL)
       OR (similarity IS NULL) <> (own_similarity IS NULL)
       OR :closed AND duplicate_of IS NOT NULL AND duplicate_of NOT IN (SELECT id FROM pages)
-- sketches: a page has a sketch no longer than its content
    SELECT 'sketch of page ' || sketches.page FROM sketches
    LEFT JOIN contents ON contents.page = sketches.page
    WHERE contents.fetched_at IS NOT sketches.fetched_at
-- contents: the content of every page is stored until its time is over, and no other
    SELECT 'page ' || pages.id
    FROM pages LEFT JOIN contents ON contents.page = pages.id
    WHERE contents.page IS NULL AND pages.fetched_at > :expired_before
       OR contents.fetched_at <> pages.fetched_at
    UNION ALL
    SELECT 'content of a page ' || page FROM contents WHERE page NOT IN (SELECT id FROM pages)
-- bytes: the bytes of the pages are counted, and so are those of what was not kept
    -- What was fetched and not kept repeats a page or is not HTML, or is an earlier version;
    -- its size is not recorded.
    SELECT :bytes || ' counted, ' || total || ' kept'
    FROM (SELECT coalesce(sum(size), 0) AS total FROM pages)
    WHERE :bytes < total OR :bytes > total
      AND NOT EXISTS (
          SELECT 1 FROM attempts WHERE outcome IN ('duplicate', 'similar', 'unwanted_type')
      ) AND NOT EXISTS (SELECT 1 FROM revisited)
""")

LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start."""

PROGRESS_RULES = read_rules(f"""
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
