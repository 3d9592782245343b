"""The graph of links, which keeps depths exact.

The depth of a URL is the length of its shortest path over the links seen so far; a redirect has
length 0. Pages are fetched in any order, so a shorter path may be found after a page was fetched:
then the page is not fetched again, but its stored links are followed and the depths of everything
behind it are updated.

Of two paths of the same length the one with fewer redirects at its end counts, because chains of
redirects are limited. So the result does not depend on the order of the crawl.

What lies behind a page may be a large part of the crawl. So one step follows a bounded number of
links, the nearest first; the pages whose links are left are stored with everything else, and are
for the next steps. Depths are exact when none are left.
"""

import math
import sys
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from gossamer.frontier.host_limits import depth_limit
from gossamer.model import HostKey
from gossamer.stores.contract import MAX_ATTEMPTS, Link, Settled
from gossamer.stores.embedded.rows import RelaxingUrl, UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.listing import MAX_SITEMAPS
from gossamer.stores.reasons import Reason
from gossamer.stores.rules import StoreRules
from gossamer.stores.url_record import UrlState

LINKS_AT_ONCE = 500
"""How many links of a page are added without letting others have their turn: a few ms."""


class LinksLeft(msgspec.Struct):
    """The links of a settled page that are still to be added, before the next commit."""

    url_id: int
    links: Sequence[Link]
    domain: str
    """The registered domain of the page."""
    shared_among: int
    """How many links of the whole page share its credit."""
    now: float


class Growth(msgspec.Struct):
    """What adding links has changed."""

    ids: list[int] = []
    """The URLs that the links lead to, in order."""
    new: int = 0
    """How many URLs are waiting now that were not before."""
    new_keys: list[bytes] = []
    """The keys of those that are among the added links."""
    forgotten: list[Reason] = []
    """Why URLs had ended that are visited again, as they were found again after `revisit_s`."""
    nearer: dict[int, int] = {}
    """The numbers of pages whose depth has decreased, with that depth."""
    overtaking: list[int] = []
    """URLs in the priority queues whose depth has decreased."""
    left: LinksLeft | None = None
    """What is still to be added of the same page."""


class LinkGraph:
    """The graph of links of one crawl."""

    def __init__(self, backend: SqliteBackend, rules: StoreRules) -> None:
        self._backend = backend
        self._max_depth = rules.max_depth
        self._depth_rules = [one for one in rules.scheduler.host_rules if one.max_depth is not None]
        self._revisit_s = rules.revisit_s
        self._max_host_urls = rules.max_host_urls
        self._at_once = rules.relaxed_at_once
        self._line: list[RelaxingUrl] = []
        """The URLs whose links this step is to follow, as a heap; between steps they are stored."""
        self.relaxing = backend.has_relaxing()
        """Whether a shorter path was found that is not followed to its end yet."""
        self.has_sitemaps = backend.has_sitemaps()
        """Whether any URL is a sitemap, so that others need not be asked."""

    def add(
        self, links: Sequence[Link], found: UrlPath, now: float, *, again: bool = False
    ) -> Growth:
        """Add the links of a page, the target of a redirect, or seeds, which have no parent.

        What lies behind links that have come nearer is for `relax`. A seed that is known is not
        visited again, however long ago it was. With `again`, what has only redirected is visited
        again, once.
        """
        backend, growth = self._backend, Growth()
        if self.relaxing and found.parent is not None:
            self._follow_whole(found.parent, growth)
        forgotten_before = -math.inf if found.parent is None else now - self._revisit_s
        depth, hops, ids = found.depth, found.hops, growth.ids
        touched: list[tuple[int, bytes]] = []
        new: dict[bytes, int] = {}
        for link, known in zip(links, backend.known([one.key for one in links]), strict=True):
            if known is None:
                if link.key in new or self._add_new(link, found, now, new, growth):
                    ids.append(new[link.key])
                continue
            ids.append(known.id)
            if (
                depth < known.depth
                or known.finished_at <= forgotten_before
                or again
                or (hops < known.hops and depth == known.depth)
            ):
                touched.append((known.id, link.key))
        if new:
            backend.write_new()
        growth.new += len(growth.new_keys)
        if touched:

            def is_due(url_id: int) -> bool:
                return self._is_due(url_id, forgotten_before) or (
                    again and backend.has_redirected_once(url_id)
                )

            self._touch(touched, found, is_due, growth)
        return growth

    def _add_new(
        self, link: Link, found: UrlPath, now: float, new: dict[bytes, int], growth: Growth
    ) -> bool:
        """Add a URL that is not known to the new ones, unless its host has too many."""
        backend = self._backend
        if found.parent is not None and self._is_full(link):
            backend.figures.over_host_urls += 1
            return False
        is_within = self._within(found.depth, link.host)
        state = UrlState.UNSCORED if is_within else UrlState.TOO_DEEP
        new[link.key] = backend.add_new(link, state, found, now)
        self.has_sitemaps = self.has_sitemaps or is_sitemap(link)
        if is_within:
            growth.new_keys.append(link.key)
        return True

    def _is_full(self, link: Link) -> bool:
        """Tell whether the host of a link has as many URLs as it may have."""
        backend, most = self._backend, self._max_host_urls
        return backend.last_id >= most and backend.urls_of(link.host) >= most

    def within_limit(self, sitemaps: Sequence[Link]) -> list[Link]:
        """Return the sitemaps of one domain that are known, or fit into its limit."""
        left: int | None = None
        found = []
        known = self._backend.known([link.key for link in sitemaps])
        for link, is_known in zip(sitemaps, known, strict=True):
            assert link.listing is not None
            if left is None:
                left = MAX_SITEMAPS - self._backend.count_sitemaps(link.listing.sitemap_of)
            left -= not is_known
            if is_known or left >= 0:
                found.append(link)
        return found

    def _touch(
        self,
        touched: Sequence[tuple[int, bytes]],
        found: UrlPath,
        is_due: Callable[[int], bool],
        growth: Growth,
    ) -> None:
        """Update the depths of known URLs, and reopen those to be visited again."""
        revived = {url_id for url_id, _ in touched if self._shorten(url_id, found, growth)}
        for url_id, key in touched:
            if is_due(url_id):
                growth.forgotten.append(self._backend.reopen(url_id))
                revived.add(url_id)
            if url_id in revived:
                growth.new_keys.append(key)
        growth.new += len(revived)

    def _is_due(self, url_id: int, forgotten_before: float) -> bool:
        """Tell whether a URL that was found again is visited again."""
        backend = self._backend
        if backend.by_id(url_id).finished_at > forgotten_before:
            return False
        return backend.attempts_at(url_id) < MAX_ATTEMPTS

    def _within(self, depth: int, host: HostKey) -> bool:
        limit = self._max_depth
        if self._depth_rules:
            limit = depth_limit(host, self._depth_rules, limit)
        return limit is None or depth <= limit

    # -- shorter paths ---------------------------------------------------------------------------

    def relax(self, growth: Growth) -> int:
        """Follow the links of URLs that have come nearer, as far as one step goes.

        Return how much that was: 0 only if there is nothing to follow.
        """
        if not self._line and not self.relaxing:
            return 0
        stored = self._backend.nearest_relaxing(self._at_once) if self.relaxing else []
        self._line += stored
        heapify(self._line)
        left = self._at_once
        while self._line and left > 0:
            left -= max(1, self._follow(heappop(self._line), left, growth))
        self._save_line(stored)
        return self._at_once - left

    def _follow(self, source: RelaxingUrl, limit: int, growth: Growth) -> int:
        """Follow links of a URL, at most this many; return how many."""
        depth, hops, url_id, done = source
        known = self._backend.by_id(url_id)
        if (known.depth, known.hops) != (depth, hops):
            return 0  # it has come even nearer since, and its links were followed then
        _, _, targets, redirect = self._backend.visited(url_id)
        step = UrlPath(depth, hops + 1, url_id) if redirect else UrlPath(depth + 1, 0, url_id)
        end = min(len(targets), done + limit)
        for target in targets[done:end]:
            growth.new += self._shorten(target, step, growth)
        if end < len(targets):
            heappush(self._line, RelaxingUrl(depth, hops, url_id, end))
        return end - done

    def _follow_whole(self, url_id: int, growth: Growth) -> None:
        """Follow all links of a URL that are not followed yet: they are about to be replaced."""
        source = self._backend.find_relaxing(url_id)
        if source is not None:
            self._follow(source, sys.maxsize, growth)

    def _shorten(self, url_id: int, path: UrlPath, growth: Growth) -> bool:
        """Give a URL a path, if it is shorter; return whether it is not too deep any more."""
        backend, known = self._backend, self._backend.by_id(url_id)
        if (path.depth, path.hops) >= (known.depth, known.hops):
            return False
        is_nearer = path.depth < known.depth
        backend.set_path(url_id, path)
        state, page_id, targets, _ = backend.visited(url_id)
        if state is UrlState.TOO_DEEP:
            host = backend.host_of(url_id) if self._depth_rules else HostKey("")
            if is_within := self._within(path.depth, host):
                backend.move(url_id, UrlState.UNSCORED)
            return is_within
        if state is UrlState.QUEUED and is_nearer:
            growth.overtaking.append(url_id)
        if page_id is not None and is_nearer:
            growth.nearer[page_id] = path.depth
        if targets:
            heappush(self._line, RelaxingUrl(path.depth, path.hops, url_id, 0))
        return False

    def _save_line(self, stored: Sequence[RelaxingUrl]) -> None:
        """Store the URLs whose links are left for the next steps, in place of `stored`."""
        if stored or self._line:
            # Of a URL that is in line twice the nearest counts, which is written last.
            left = sorted(self._line, reverse=True)
            self._backend.replace_relaxing(stored, left)
            self.relaxing = bool(left) or self._backend.has_relaxing()
            self._line.clear()


def is_sitemap(link: Link) -> bool:
    """Tell whether a link leads to a sitemap."""
    return link.listing is not None and link.listing.sitemap_of is not None


def as_settled(growth: Growth | None) -> Settled:
    """Return the answer to a settlement that has changed this; None: its lease was lost."""
    if growth is None:
        return Settled(accepted=False)
    return Settled(True, growth.new_keys, list(growth.nearer.items()))
