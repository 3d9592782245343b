"""The checks of URLs: their keys, scope and seeds, and the depths of the whole graph of links."""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from gossamer.config import CrawlOptions
from gossamer.coordinator.plan import scope_of
from gossamer.frontier.router import QueueTable
from gossamer.stores.counting import Reason
from gossamer.stores.rows import unpack_links
from gossamer.urls import Scope, normalise, parse_seed
from gossamer.views.verify_rules import REVISITED, URL_RULES, Check, Facts
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import sitemap_key


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
    tables: sqlite3.Connection, facts: Facts, options: CrawlOptions | None, seed_keys: bytes | None
) -> Iterator[Check]:
    """Yield the checks; the table `revisited` is there from then on."""
    queues = QueueTable(facts.queues or 1)

    def queue_of(score: float | None) -> int | None:
        return None if score is None else queues.queue_of(score)

    def reason_of(outcome: str, cause: str | None, status: int | None) -> str:
        return str(Reason.of(outcome, cause, status))

    tables.create_function("queue_of", 1, queue_of, deterministic=True)
    tables.create_function("reason_of", 3, reason_of, deterministic=True)
    tables.execute(REVISITED, msgspec.structs.asdict(facts))
    tables.execute("CREATE UNIQUE INDEX temp.revisited_urls ON revisited (url)")
    for rule in URL_RULES:
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
        """URLs found on no page that are not seeds, and missing seeds; call `misfiled` first."""

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


class Node(NamedTuple):
    """A URL in the graph of links."""

    id: int
    depth: int
    parent: int | None
    redirect: bool
    """Whether its only link is a redirect."""
    revisited: bool
    """Whether links of an earlier visit may be forgotten."""
    relaxing: bool
    """Whether it has a shorter path that its links do not have yet."""


_NODES = """
    SELECT id, depth, parent, redirect, id IN revisited, id IN (SELECT url FROM relaxing)
    FROM urls ORDER BY id
"""
_LINKS = "SELECT id, targets FROM urls WHERE state = 4 AND targets IS NOT NULL ORDER BY id"


def depth_checks(tables: sqlite3.Connection) -> Iterator[Check]:
    """Yield the checks; the table `revisited` must be there."""

    def name_of(url_id: int) -> str:
        row = tables.execute("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()
        return str(row[0]) if row else f"URL {url_id}, which does not exist"

    graph = DepthCheck(map(Node._make, tables.execute(_NODES)), name_of)
    links = ((source, unpack_links(packed)) for source, packed in tables.execute(_LINKS))
    promise = "no link offers a shorter path than the recorded one"
    yield "depth", promise, graph.shortcuts(links)
    yield "path", "every URL is reached from a seed at its depth", graph.broken_paths()


class DepthCheck:
    """The check of depths: whether each is the length of the shortest path from a seed.

    Nothing is searched again; it is enough to check each link and each URL once:

    - no link offers a shorter path: its target is at most one step farther than its source, and as
      far as the source where it is a redirect. So no depth is larger than the shortest path;
    - every URL lies one step behind its parent, which links to it, and no path over parents goes
      round in a circle. So each depth is the length of a path that exists.

    While a shorter path is being followed, what the URLs that it has come to link to may be farther
    away than that. When none of those are left, depths are exact. Links that were forgotten,
    because a URL was visited again, still count as paths. Ids are 1, 2, 3 … without holes.
    """

    def __init__(self, nodes: Iterable[Node], name_of: Callable[[int], str]) -> None:
        self._name_of = name_of
        self._depth = array("q", [0])
        self._parent = array("q", [0])
        self._step = bytearray(1)
        self._revisited = bytearray(1)
        self._relaxing = bytearray(1)
        self._linked = bytearray(1)
        """Whether the URL is among the links of its parent."""
        for node in nodes:
            self._depth.append(node.depth)
            self._parent.append(node.parent or 0)
            self._step.append(0 if node.redirect else 1)
            self._revisited.append(node.revisited)
            self._relaxing.append(node.relaxing)
            self._linked.append(0)

    def shortcuts(self, links: Iterable[tuple[int, Sequence[int]]]) -> Iterator[str]:
        """Yield the links that offer a shorter path, or lead to a URL that is missing."""
        depth, parent, linked = self._depth, self._parent, self._linked
        depth_of, last = depth.__getitem__, len(depth) - 1
        for source, targets in links:
            if targets and (min(targets) < 1 or max(targets) > last):
                yield f"{self._name_of(source)} links to a URL that is missing"
                continue
            reach = depth[source] + self._step[source]
            if max(map(depth_of, targets), default=0) > reach and not self._relaxing[source]:
                yield from self._beyond(reach, source, targets)
            for target in [target for target in targets if parent[target] == source]:
                linked[target] = 1

    def _beyond(self, reach: int, source: int, targets: Iterable[int]) -> Iterator[str]:
        for target in targets:
            if self._depth[target] > reach:
                yield (
                    f"{self._name_of(target)} is recorded at depth {self._depth[target]}, but "
                    f"is at depth {reach} over {self._name_of(source)}"
                )

    def broken_paths(self) -> Iterator[str]:
        """Yield the URLs whose path over their parents does not exist; call `shortcuts` first."""
        depth, parent = self._depth, self._parent
        for url in range(1, len(depth)):
            over = parent[url]
            if not over:
                continue
            if not 1 <= over < len(depth):
                yield f"{self._name_of(url)} was found on a URL that is missing"
            elif not self._linked[url]:
                if not self._revisited[over]:
                    yield f"{self._name_of(over)} does not link to {self._name_of(url)}"
            elif not self._is_behind(url, over):
                yield (
                    f"{self._name_of(url)} is recorded at depth {depth[url]}, but was found on "
                    f"{self._name_of(over)}, which is at depth {depth[over]}"
                )
        yield from self._circles()

    def _is_behind(self, url: int, parent: int) -> bool:
        """Tell whether a URL is one step behind its parent, or farther if that may be."""
        excess = self._depth[url] - self._depth[parent] - self._step[parent]
        return excess >= 0 if self._relaxing[parent] else excess == 0

    def _circles(self) -> Iterator[str]:
        """Yield one URL of each circle of parents."""
        parent, last = self._parent, len(self._parent) - 1
        passed = array("q", [0]) * len(parent)
        for start in range(1, len(parent)):
            at = start
            while 1 <= at <= last and not passed[at]:
                passed[at] = start
                at = parent[at]
            if 1 <= at <= last and passed[at] == start:
                yield f"{self._name_of(at)} was found over itself: its parents form a circle"
