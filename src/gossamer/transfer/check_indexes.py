"""Whether what a crawl in Redis has beside its records agrees with them.

Queues and counters say again what the records of URLs say, so that every step is quick. Here both
are compared. The counters are of the moment of the copy; the queues are
looked at only where nobody works, for they could not be had at one moment with the rest.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from gossamer.stores.embedded.sqlite.queries import read_reasons
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.url_record import UrlState
from gossamer.transfer.copied_crawl import CopiedCrawl
from gossamer.transfer.export import cut

HOSTS_AT_ONCE = 500

_COUNTS = """
SELECT 'urls', count(*) FROM urls
UNION ALL SELECT 'unscored', count(*) FROM urls WHERE state = 0
UNION ALL SELECT 'in_progress', count(*) FROM urls WHERE state = 3
UNION ALL SELECT 'too_deep', count(*) FROM urls WHERE state = 5
UNION ALL SELECT 'relaxing', count(*) FROM relaxing
UNION ALL SELECT 'pages', count(*) FROM pages
UNION ALL SELECT 'visits', count(*) FROM attempts WHERE outcome = 'fetched'
UNION ALL SELECT 'started', coalesce(min(at), 0) FROM attempts
UNION ALL SELECT 'last', coalesce(max(at), 0) FROM attempts
UNION ALL SELECT 'scored and waiting', count(*) FROM urls WHERE state IN (1, 2)
"""
_DEPTHS = """
SELECT 'urls:' || depth, count(*) FROM urls GROUP BY depth
UNION ALL SELECT 'done:' || depth, count(*) FROM urls WHERE state = 4 GROUP BY depth
UNION ALL SELECT 'pages:' || depth, count(*) FROM urls WHERE page IS NOT NULL GROUP BY depth
"""
_QUEUES = "SELECT queue, count(*) FROM urls WHERE state IN (1, 2) GROUP BY queue"

_MISFILED = """
SELECT url || ' waits, and is in no queue' FROM urls
WHERE state IN (0, 1, 2) AND id NOT IN (SELECT url FROM filed)
UNION ALL
SELECT coalesce(urls.url, 'URL ' || filed.url) || ' is in a queue, and does not wait urls'
FROM filed LEFT JOIN urls ON urls.id = filed.url
WHERE urls.id IS NULL OR filed.host <> urls.host
   OR filed.state <> CASE urls.state WHEN 2 THEN 1 ELSE urls.state END
UNION ALL
SELECT urls.url || ' is in a queue with the score ' || filed.score
FROM filed JOIN urls ON urls.id = filed.url WHERE filed.state = 1 AND filed.score <> urls.score
UNION ALL
SELECT urls.url || ' is in ' || count(*) || ' queues'
FROM filed JOIN urls ON urls.id = filed.url GROUP BY filed.url HAVING count(*) > 1
"""


async def check_indexes(
    crawl: CrawlClient, connection: sqlite3.Connection, state: CopiedCrawl
) -> list[str]:
    """Return what is wrong, in sentences; the crawl was copied into the tables before."""
    found = [*state.unreadable, *_miscounted(connection, state)]
    if state.running:
        return found
    connection.execute("CREATE TEMP TABLE filed (url INTEGER, host INTEGER, state, score)")
    connection.execute("CREATE INDEX temp.filed_by_url ON filed (url)")
    await _copy_queues(crawl, connection)
    found += [words for (words,) in connection.execute(_MISFILED)]
    connection.execute("DROP TABLE temp.filed")
    found += await _unleased(crawl, connection)
    known = await crawl.client.hlen(crawl.key("known"))
    (urls,) = connection.execute("SELECT count(*) FROM urls").fetchone()
    if known != urls:
        found.append(f"{known} keys for {urls} URLs")
    return found


def _miscounted(connection: sqlite3.Connection, state: CopiedCrawl) -> Iterator[str]:
    waiting = state.counts["queued"] + state.counts["assigned"]
    names = (
        *("urls", "unscored", "in_progress", "too_deep", "relaxing", "pages", "visits"),
        *("started", "last"),
    )
    counts = {name: state.counts[name] for name in names} | {"scored and waiting": waiting}
    reasons = {str(reason): urls for reason, urls in read_reasons(connection).items()}
    yield from _differences(reasons, state.outcomes, "ended as {}")
    for words, query, counted in (
        ("{}", _COUNTS, counts),
        ("at depth, {}", _DEPTHS, state.depths),
        ("in queue {}", _QUEUES, state.queue_counts),
    ):
        yield from _differences(dict(connection.execute(query)), counted, words)
    if state.counts["reserved"] and not state.counts["in_progress"]:
        yield f"{state.counts['reserved']:.15g} bytes are reserved, and nothing is in progress"


def _differences(
    found: Mapping[Any, float], counted: Mapping[Any, float], words: str
) -> Iterator[str]:
    """Yield where the counters of a hash are not what is there."""
    for name in sorted({*found, *counted}):
        there, count = found.get(name, 0), counted.get(name, 0)
        if there != count:
            yield f"{words.format(name)}: {count:.15g} counted, {there} there"


async def _unleased(crawl: CrawlClient, connection: sqlite3.Connection) -> list[str]:
    leases: Any = await crawl.client.hkeys(crawl.key("leases"))
    leased = set(map(int, leases))
    in_progress = dict(connection.execute("SELECT id, url FROM urls WHERE state = 3").fetchall())
    without = [
        f"{in_progress[one]} is in progress without a lease" for one in in_progress.keys() - leased
    ]
    return without + [f"a lease for URL {one} without work" for one in leased - in_progress.keys()]


async def _copy_queues(crawl: CrawlClient, connection: sqlite3.Connection) -> None:
    """Copy what is in the URL queue, in the priority queues and assigned."""
    line: Any = await crawl.client.zrange(crawl.key("url_queue"), 0, -1)
    connection.executemany(
        "INSERT INTO filed SELECT ?1, coalesce((SELECT host FROM urls WHERE id = ?1), 0), ?2, 0",
        [(int(url_id), UrlState.UNSCORED) for url_id in line],
    )
    hosts = [host for (host,) in connection.execute("SELECT id FROM hosts ORDER BY id")]
    for some in cut(hosts, HOSTS_AT_ONCE):
        for name in ("queued", "assigned"):  # what was assigned waits again when all are gone
            async with crawl.client.pipeline(transaction=False) as pipe:
                for host in some:
                    pipe.zrange(f"{crawl.key(name)}{host}", 0, -1, withscores=True)
                answers: Any = await pipe.execute()
            rows = [
                (int.from_bytes(url, "big"), host, UrlState.QUEUED, score)
                for host, members in zip(some, answers, strict=True)
                for url, score in members
            ]
            connection.executemany("INSERT INTO filed VALUES (?, ?, ?, ?)", rows)
