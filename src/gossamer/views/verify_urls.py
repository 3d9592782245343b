"""The checks of URLs: states, outcomes and attempts, keys and hosts, scope and seeds.

A URL may be visited again after `revisit_s`. Its page keeps its number, its earlier links are
forgotten: such URLs are in the table `revisited`, and some rules allow for them.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from gossamer.config import CrawlOptions
from gossamer.coordinator.plan import scope_of
from gossamer.frontier.queues import QueueTable
from gossamer.stores.counting import REASONS_NOTE, Reason
from gossamer.stores.sqlite.file import COUNT_REASONS
from gossamer.urls import Scope, normalise, parse_seed
from gossamer.views.verify_progress import Check, Facts, read_rules
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import sitemap_key

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
_REVISITED = f"""
    CREATE TEMP TABLE revisited AS
    SELECT one.url {_AGAIN} >= 0 AND ({_LED_BACK} OR coalesce(next_at, :now) - at
        >= coalesce(:revisit_s, 0)) UNION {_SIMILAR_ONCE}
    UNION SELECT url FROM listings WHERE sitemap_of IS NOT NULL
"""  # noqa: S608 -- our own words
"""The URLs of which not all links are stored; those of sitemaps never are."""

_RULES = read_rules(f"""
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
            FROM notes WHERE name = '{REASONS_NOTE}'
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


class FiledUrl(NamedTuple):
    """A URL with its keys."""

    url: str
    key: bytes
    host: str
    domain: str
    is_seed: bool
    depth: int
    is_sitemap: bool


_FILED_URLS = """
    SELECT urls.url, urls.key, hosts.key, domain, parent IS NULL, depth, sitemap_of IS NOT NULL
    FROM urls JOIN hosts ON hosts.id = urls.host LEFT JOIN listings ON listings.url = urls.id
    ORDER BY urls.id
"""


def url_checks(
    tables: sqlite3.Connection,
    facts: Facts,
    options: CrawlOptions | None,
    seed_keys: bytes | None,
) -> Iterator[Check]:
    """Yield the checks; the table `revisited` is there from then on."""
    queues = QueueTable(facts.queues or 1)

    def queue_of(score: float | None) -> int | None:
        return None if score is None else queues.queue_of(score)

    def reason_of(outcome: str, cause: str | None, status: int | None) -> str:
        return str(Reason.of(outcome, cause, status))

    tables.create_function("queue_of", 1, queue_of, deterministic=True)
    tables.create_function("reason_of", 3, reason_of, deterministic=True)
    tables.execute(_REVISITED, msgspec.structs.asdict(facts))
    tables.execute("CREATE UNIQUE INDEX temp.revisited_urls ON revisited (url)")
    for rule in _RULES:
        yield from rule.check(tables, facts)
    urls = UrlCheck(None, ())
    if options is not None:
        scope = scope_of(options, seed_keys)
        urls = UrlCheck(scope, options.seeds, has_files=bool(options.seed_files))
    promise = "every URL is filed under its own fingerprint and host"
    yield "filing", promise, urls.misfiled(map(FiledUrl._make, tables.execute(_FILED_URLS)))
    if options is not None:
        yield "scope", "every URL is in scope", iter(urls.outside)
        promise = "the seeds, and no other URLs, were found on no page"
        yield "seeds", promise, iter(urls.orphans)


class UrlCheck:
    """Checks every URL in one pass; what concerns scope and seeds is kept in lists."""

    def __init__(
        self, scope: Scope | None, seeds: Sequence[str], *, has_files: bool = False
    ) -> None:
        """Prepare; `has_files`: there are more seeds than those, in files."""
        self._scope = scope
        self._has_files = has_files
        self._link_filter = LinkFilter(Scope.for_seeds("any", []), str)
        filed = map(self._link_filter.file, map(parse_seed, seeds))
        self._seeds = {link.key: link.url for link in filed}
        self.outside: list[str] = []
        """The URLs that are out of scope; call `misfiled` first."""
        self.orphans: list[str] = []
        """URLs found on no page that are not seeds, and missing seeds; as above."""

    def misfiled(self, urls: Iterator[FiledUrl]) -> Iterator[str]:
        """Yield the URLs that are not in normal form, or are filed under another key or host."""
        missing = dict(self._seeds)
        filed = None
        for filed in urls:
            missing.pop(filed.key, None)
            is_known = filed.key in self._seeds or filed.is_sitemap or self._has_files
            if filed.is_seed and not is_known:
                self.orphans.append(f"{filed.url} was found on no page and is not a seed")
            yield from self._complaint(filed)
        # A crawl that was killed at its very beginning has no URL at all.
        if filed is not None:
            self.orphans += [f"the seed {url} is missing" for url in missing.values()]

    def _complaint(self, filed: FiledUrl) -> Iterator[str]:
        url = normalise(filed.url)
        if url != filed.url:
            yield f"{filed.url} is not in normal form"
            return
        is_seed = filed.depth == 0 or filed.is_seed
        if self._scope and not filed.is_sitemap:  # a sitemap may be elsewhere
            verdict = self._scope.judge(url, is_seed=is_seed)
            if not verdict:
                self.outside.append(f"{url}: {verdict.explain(url)}")
        link = self._link_filter.file(url)
        if filed.key != (sitemap_key(url) if filed.is_sitemap else link.key):
            yield f"{url} is filed under the key of another URL"
        elif link.host != filed.host:
            yield f"{url} is filed under the host {filed.host}"
        elif filed.host != filed.domain and not filed.host.endswith(f".{filed.domain}"):
            yield f"{url} is filed under the domain {filed.domain}"
