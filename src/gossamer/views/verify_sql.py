"""The rules of `gossamer verify` that are SQL queries on the file of a crawl.

A rule is a promise and a query for its violations, one line of text each. The rules of form come
first; the others are checked only on a file that obeys them. What the rules need to know in
addition to the file are `Facts`; a rule is skipped if one of its facts is not known.

A URL may be visited again after `revisit_s`. Its page keeps its number, its earlier links are
forgotten: such URLs are in the table `revisited`, and some rules allow for them.
"""

import msgspec

from gossamer.stores.reasons import REASONS_NOTE
from gossamer.stores.sqlite.queries import COUNT_REASONS


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules need to know."""

    now: float
    closed: bool
    """Whether the last process ended properly."""
    over: bool
    """Whether no URLs are left, or no budget."""
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
    needs: tuple[str, ...] = ()
    """The facts that it needs."""


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

CONTENT = (
    VerifyRule(
        "outcome",
        "a URL has an outcome, and its time, exactly if it is finished",
        "SELECT url FROM urls WHERE (outcome IS NULL) <> (finished_at IS NULL) "
        "OR (state = 4) <> (outcome IS NOT NULL)",
    ),
    VerifyRule(
        "score",
        "a URL has a score from 0 to 100 and a queue exactly if it has been scored",
        "SELECT url FROM urls WHERE (score IS NULL) <> (queue IS NULL) "
        "OR score NOT BETWEEN 0 AND 100 OR state IN (1, 2, 3, 4) AND score IS NULL "
        "OR state IN (0, 5) AND score IS NOT NULL AND id NOT IN revisited",
    ),
    VerifyRule(
        "queue",
        "a URL is in the queue of its score",
        "SELECT url || ' with the score ' || score || ' is in queue ' || queue FROM urls "
        "WHERE queue <> queue_of(score)",
        needs=("queues",),
    ),
    VerifyRule(
        "rest",
        "only URLs that wait are in progress, and none in a crawl that was closed",
        "SELECT coalesce(urls.url, 'URL ' || leases.url) FROM leases "
        "LEFT JOIN urls ON urls.id = leases.url WHERE :closed OR urls.state IS NOT 1 "
        "UNION ALL SELECT url FROM urls WHERE :closed AND state IN (2, 3)",
    ),
    VerifyRule(
        "limit",
        "a URL is left out exactly if it is deeper than the depth limit",
        "SELECT url || ' at depth ' || depth FROM urls WHERE (state = 5) <> (depth > :max_depth)",
        needs=("max_depth",),
    ),
    VerifyRule(
        "host",
        "every URL belongs to a known host",
        "SELECT url FROM urls WHERE host NOT IN (SELECT id FROM hosts)",
    ),
    VerifyRule(
        "counts",
        "the known URLs of each host are counted, and those that have ended for each reason",
        f"""
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
                FROM notes WHERE name = '{REASONS_NOTE}'
            ))
        ) GROUP BY reason HAVING sum(ended) <> sum(noted)
        """,  # noqa: S608 -- our own words
    ),
    VerifyRule(
        "parent",
        "every URL but the seeds was found on one that has been visited",
        """
        SELECT one.url FROM urls AS one LEFT JOIN urls AS other ON other.id = one.parent
        WHERE one.parent IS NULL AND one.depth > 0 AND NOT :seed_depths
           OR one.parent IS NOT NULL AND other.state IS NOT 4 AND one.parent NOT IN revisited
        """,
    ),
    VerifyRule(
        "attempts",
        "every attempt at a URL is recorded",
        """
        SELECT url || ' counts ' || attempts || ' attempts' FROM urls
        WHERE attempts <> (SELECT count(*) FROM attempts WHERE attempts.url = urls.id)
        UNION ALL
        SELECT 'an attempt at an unknown URL' FROM attempts WHERE url NOT IN (SELECT id FROM urls)
        """,
    ),
    VerifyRule(
        "ending",
        "the outcome of a finished URL is that of its last attempt",
        """
        SELECT url || ' ended as ' || outcome FROM urls
        WHERE state = 4 AND outcome IS NOT (
            SELECT outcome FROM attempts WHERE attempts.url = urls.id ORDER BY rowid DESC LIMIT 1
        )
        """,
    ),
    VerifyRule(
        "once",
        "nothing is visited again, or only after the time of --revisit or with a new cookie",
        f"SELECT urls.url {_AGAIN} < :revisit_s AND NOT ({_LED_BACK})",
        needs=("revisit_s",),
    ),
    VerifyRule(
        "numbers",
        "the pages are numbered 1, 2, 3 … without gaps, except for pages in progress",
        """
        SELECT 'page ' || (id + 1) || ' is missing'
        FROM (SELECT 0 AS id UNION ALL SELECT id FROM pages) AS one
        WHERE id < (SELECT max(id) FROM pages) AND id + 1 NOT IN (SELECT id FROM pages)
          AND (:over OR (SELECT max(id) - count(*) FROM pages)
                        > (SELECT count(*) FROM urls WHERE state < 4))
        """,
    ),
    VerifyRule(
        "fetched",
        "a URL has one page exactly if it was ever fetched, and each refers to the other",
        # What was fetched stays if a later visit fails, or is still to come.
        """
        SELECT one.url FROM urls AS one LEFT JOIN pages ON pages.id = page
        WHERE page IS NULL AND state = 4 AND outcome = 'fetched'
           OR page IS NOT NULL AND pages.url IS NOT one.id
           OR page IS NOT NULL AND (state <> 4 OR outcome <> 'fetched') AND one.id NOT IN revisited
        UNION ALL
        SELECT 'page ' || pages.id FROM pages LEFT JOIN urls AS one ON one.id = pages.url
        WHERE one.page IS NOT pages.id
        """,
    ),
    VerifyRule(
        "visits",
        "every visit of a page is counted, and every page was visited",
        """
        SELECT visits || ' visits counted, ' || total || ' recorded'
        FROM counted, (SELECT count(*) AS total FROM attempts WHERE outcome = 'fetched')
        WHERE visits <> total
        UNION ALL
        SELECT 'page ' || id FROM pages WHERE NOT EXISTS (
            SELECT 1 FROM attempts WHERE attempts.url = pages.url AND outcome = 'fetched'
        )
        """,
    ),
    VerifyRule(
        "results",
        "every visit of a page is in the log of results once, and nothing that was not settled",
        # Who follows the log tells its results apart by their URLs and times.
        """
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
        """,
    ),
    VerifyRule(
        "reported",
        "the depth of every page was reported to the modules, or will be when the crawl continues",
        # A crawl that was killed at its very end has that left to do.
        """
        SELECT 'page ' || pages.id || ' at depth ' || depth FROM pages JOIN urls ON page = pages.id
        WHERE reported_depth < depth OR :over AND :closed AND reported_depth <> depth
        """,
    ),
    VerifyRule(
        "relaxing",
        "the URLs from which shorter paths are still to be followed have been visited",
        """
        SELECT coalesce(urls.url, 'URL ' || relaxing.url)
        FROM relaxing LEFT JOIN urls ON urls.id = relaxing.url
        WHERE urls.id IS NULL OR urls.attempts = 0 OR urls.depth > relaxing.depth
           OR done < 0 OR done > length(coalesce(targets, x'')) / 8
        """,
    ),
    VerifyRule(
        "duplicates",
        "no content is kept twice, unless its time was over or a page is visited again",
        # A page is compared when it has been parsed, a little after it was fetched.
        """
        SELECT 'pages ' || before || ' and ' || id FROM (
            SELECT id, fetched_at,
                   lag(id) OVER same AS before, lag(fetched_at) OVER same AS before_at
            FROM pages WHERE url NOT IN revisited
            WINDOW same AS (PARTITION BY digest ORDER BY fetched_at, id)
        ), counted
        WHERE NOT :keep_duplicates AND fetched_at - before_at < :keep_s - min(60, :keep_s / 2)
          AND before_at > expired_before
        """,
        needs=("keep_s", "keep_duplicates"),
    ),
    VerifyRule(
        "original",
        "exactly the duplicates name a page that they repeat, and it exists; "
        "exactly the similar ones say how similar they are",
        # While a crawl runs, that page may be in progress; after a crash it may be visited again.
        """
        SELECT url || ' repeats page ' || coalesce(duplicate_of, '(none)')
        FROM urls
        WHERE state = 4 AND (outcome IN ('duplicate', 'similar')) <> (duplicate_of IS NOT NULL)
           OR state = 4 AND (outcome = 'similar') <> (similarity IS NOT NULL)
           OR (similarity IS NULL) <> (own_similarity IS NULL)
           OR :closed AND duplicate_of IS NOT NULL AND duplicate_of NOT IN (SELECT id FROM pages)
        """,
    ),
    VerifyRule(
        "sketches",
        "a page has a sketch no longer than its content",
        """
        SELECT 'sketch of page ' || sketches.page FROM sketches
        LEFT JOIN contents ON contents.page = sketches.page
        WHERE contents.fetched_at IS NOT sketches.fetched_at
        """,
    ),
    VerifyRule(
        "contents",
        "the content of every page is stored until its time is over, and no other",
        """
        SELECT 'page ' || pages.id
        FROM pages JOIN counted LEFT JOIN contents ON contents.page = pages.id
        WHERE contents.page IS NULL AND pages.fetched_at > expired_before
           OR contents.fetched_at <> pages.fetched_at
        UNION ALL
        SELECT 'content of a page ' || page FROM contents WHERE page NOT IN (SELECT id FROM pages)
        """,
    ),
    VerifyRule(
        "budgets",
        "neither budget is exceeded",
        """
        SELECT visits || ' visits of ' || :max_pages FROM counted WHERE visits > :max_pages
        UNION ALL
        SELECT received || ' bytes of ' || :max_bytes FROM counted WHERE received > :max_bytes
        """,
        needs=("max_pages", "max_bytes"),
    ),
    VerifyRule(
        "bytes",
        "the bytes of the pages are counted, and so are those of what was not kept",
        # What was fetched and not kept repeats a page or is not HTML, or is an earlier version;
        # its size is not recorded.
        """
        SELECT bytes || ' counted, ' || total || ' kept'
        FROM counted, (SELECT coalesce(sum(size), 0) AS total FROM pages)
        WHERE bytes < total OR bytes > total
          AND NOT EXISTS (
              SELECT 1 FROM attempts WHERE outcome IN ('duplicate', 'similar', 'not_html')
          ) AND NOT EXISTS (SELECT 1 FROM revisited)
        """,
    ),
)

COUNTED = """
    CREATE TEMP VIEW counted AS SELECT
        coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM notes WHERE name = 'bytes'), 0)
            AS bytes,
        coalesce(
            (SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM notes WHERE name = 'received'), 0
        ) AS received,
        coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM notes WHERE name = 'visits'), 0)
            AS visits,
        coalesce(
            (SELECT CAST(CAST(value AS TEXT) AS REAL) FROM notes WHERE name = 'expired_before'),
            -9e999
        ) AS expired_before
"""
