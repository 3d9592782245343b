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
from heapq import heapify, heappop, heappush, nsmallest

import msgspec

from gossamer.frontier.contract import MAX_ATTEMPTS, MAX_SITEMAPS, Link
from gossamer.frontier.hosts import depth_limit
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.url_memory import UrlPath
from gossamer.model import HostKey, Outcome
from gossamer.stores.counting import Reason
from gossamer.stores.rows import RelaxingUrl
from gossamer.stores.url_record import UrlState

LINKS_AT_ONCE = 500
"""How many links of a page are added without letting others have their turn: a few ms."""
MOST_READS = 8
"""How often one step that relaxes asks the database for links, for many URLs each time."""


class RemainingLinks(msgspec.Struct):
    """The links of a settled page that are still to be added, before the next commit."""

    url_id: int
    links: Sequence[Link]
    domain: str
    """The registered domain of the page."""
    shared_among: int
    """How many links of the whole page share its credit."""
    now: float


class LinkChanges(msgspec.Struct):
    """What adding links has changed."""

    ids: list[int] = []
    """The URLs that the links lead to, in order."""
    new_keys: list[bytes] = []
    """The keys of added links to URLs that are waiting now and were not before."""
    forgotten: list[Reason] = []
    """Why URLs had ended that are visited again, as they were found again after `revisit_s`."""
    rescore: list[int] = []
    """URLs in the priority queues whose depth has decreased."""
    remaining: RemainingLinks | None = None
    """What is still to be added of the same page."""


class LinkGraph:
    """The graph of links of one crawl."""

    def __init__(self, memory: CrawlMemory, rules: FrontierRules) -> None:
        self._memory = memory
        self._urls = memory.urls
        self._hosts = memory.hosts
        self._waiting = memory.waiting
        self._max_depth = rules.max_depth
        self._depth_rules = [
            rule for rule in rules.scheduler.host_rules if rule.max_depth is not None
        ]
        self._revisit_s = rules.revisit_s
        self._max_host_urls = rules.max_host_urls
        self._at_once = rules.relaxed_at_once
        self._line: list[RelaxingUrl] = [*memory.rows.relaxing()]
        """The URLs whose links are to be followed, as a heap; some are not in line any more."""
        heapify(self._line)
        self._in_line = {relaxing.url_id: relaxing for relaxing in self._line}

    @property
    def relaxing(self) -> bool:
        """Whether a shorter path was found that is not followed to its end yet."""
        return bool(self._in_line)

    def add(
        self, links: Sequence[Link], path: UrlPath, now: float, *, again: bool = False
    ) -> LinkChanges:
        """Add the links of a page, the target of a redirect, or seeds, which have no parent.

        What lies behind links that have come nearer is for `relax`. A seed that is known is not
        visited again, however long ago it was. With `again`, what has only redirected is visited
        again, once.
        """
        urls, changes = self._urls, LinkChanges()
        if path.parent is not None and (source := self._in_line.get(path.parent)) is not None:
            self._follow(source, sys.maxsize, changes)  # its links are about to be replaced
        forgotten_before = -math.inf if path.parent is None else now - self._revisit_s
        finished_at = None if math.isinf(forgotten_before) else urls.finished_at
        depth, hops, ids = path.depth, path.hops, changes.ids
        depths, hop_counts = urls.depths, urls.hops
        touched: list[tuple[int, bytes]] = []
        new: dict[bytes, int] = {}
        for link, known in zip(links, urls.ids.find_all([link.key for link in links]), strict=True):
            if not known:
                if link.key in new or self._add_new(link, path, now, new, changes):
                    ids.append(new[link.key])
                continue
            ids.append(known)
            before = depths[known]
            if (
                depth < before
                or (depth == before and hops < hop_counts[known])
                or again
                or (finished_at is not None and finished_at[known] <= forgotten_before)
            ):
                touched.append((known, link.key))
        if touched:

            def is_due(url_id: int) -> bool:
                return self._is_due(url_id, forgotten_before) or (
                    again and self._has_redirected_once(url_id)
                )

            self._touch(touched, path, is_due, changes)
        return changes

    def _add_new(
        self, link: Link, path: UrlPath, now: float, new: dict[bytes, int], changes: LinkChanges
    ) -> bool:
        """Add a URL that is not known to the new ones, unless its host has too many."""
        if path.parent is not None and self._is_full(link):
            self._memory.counters.over_host_urls += 1
            return False
        is_within = self._within(path.depth, link.host)
        state = UrlState.UNSCORED if is_within else UrlState.TOO_DEEP
        host = self._hosts.id_of(link.host, link.domain)
        new[link.key] = url_id = self._urls.add(link, host, state, path, now)
        self._hosts.count_url(host)
        if is_within:
            self._waiting.add_unscored(url_id)
            changes.new_keys.append(link.key)
        return True

    def _is_full(self, link: Link) -> bool:
        """Tell whether the host of a link has as many URLs as it may have."""
        most = self._max_host_urls
        return self._urls.last_id >= most and self._hosts.urls_of(link.host) >= most

    def within_limit(self, sitemaps: Sequence[Link]) -> list[Link]:
        """Return the sitemaps of one domain that are known, or fit into its limit."""
        assert sitemaps[0].listing is not None
        left = MAX_SITEMAPS - self._urls.sitemaps.get(sitemaps[0].listing.sitemap_of or "", 0)
        within = []
        for link in sitemaps:
            is_known = bool(self._urls.ids.find(link.key))
            left -= not is_known
            if is_known or left >= 0:
                within.append(link)
        return within

    def _touch(
        self,
        touched: Sequence[tuple[int, bytes]],
        path: UrlPath,
        is_due: Callable[[int], bool],
        changes: LinkChanges,
    ) -> None:
        """Update the depths of known URLs, and reopen those to be visited again."""
        revived = {url_id for url_id, _ in touched if self._shorten(url_id, path, changes)}
        for url_id, key in touched:
            if is_due(url_id):
                changes.forgotten.append(self._urls.reopen(url_id))
                self._waiting.add_unscored(url_id)
                revived.add(url_id)
            if url_id in revived:
                changes.new_keys.append(key)

    def _is_due(self, url_id: int, forgotten_before: float) -> bool:
        """Tell whether a URL that was found again is visited again."""
        finished_at = self._urls.finished_at
        if finished_at is None or finished_at[url_id] > forgotten_before:
            return False
        return self._urls.row(url_id).attempts < MAX_ATTEMPTS

    def _has_redirected_once(self, url_id: int) -> bool:
        """Tell whether a URL has ended as a redirect, for the first time."""
        if self._urls.row(url_id).outcome != Outcome.REDIRECTED:
            return False
        outcomes = [attempt.outcome for attempt in self._urls.attempts(url_id)]
        return outcomes.count(Outcome.REDIRECTED) == 1

    def _within(self, depth: int, host: HostKey) -> bool:
        limit = self._max_depth
        if self._depth_rules:
            limit = depth_limit(host, self._depth_rules, limit)
        return limit is None or depth <= limit

    # -- shorter paths ---------------------------------------------------------------------------

    def relax(self, changes: LinkChanges, *, may_read: bool = True) -> int:
        """Follow the links of URLs that have come nearer, as far as one step goes.

        Links that are not at hand are read ahead, a few times in a step, or left for another one.
        Return how much was followed: if they may be read, 0 only if there is nothing to follow.
        """
        if not self._line:
            return 0
        urls, line, left = self._urls, self._line, self._at_once
        reads = MOST_READS if may_read else 0
        while line and left > 0:
            source = line[0]
            if self._in_line.get(source.url_id) is not source:
                heappop(line)  # it has come even nearer since, or was followed whole
                continue
            if not urls.has_links_at_hand(source.url_id):
                if not reads:
                    break
                urls.hold_links(relaxing.url_id for relaxing in nsmallest(left, line))
                reads -= 1
            heappop(line)
            left -= max(1, self._follow(source, left, changes))
        return self._at_once - left

    def _follow(self, source: RelaxingUrl, limit: int, changes: LinkChanges) -> int:
        """Follow links of a URL, at most this many; return how many."""
        urls = self._urls
        depth, hops, url_id, done = source
        del self._in_line[url_id]
        self._memory.pending.now.relaxing[url_id] = None
        if (urls.depths[url_id], urls.hops[url_id]) != (depth, hops):
            return 0
        targets = urls.links(url_id)
        is_redirect = urls.was_redirect(url_id)
        step = UrlPath(depth, hops + 1, url_id) if is_redirect else UrlPath(depth + 1, 0, url_id)
        end = min(len(targets), done + limit)
        for target in targets[done:end]:
            self._shorten(target, step, changes)
        is_current = (urls.depths[url_id], urls.hops[url_id]) == (depth, hops)
        if end < len(targets) and is_current:  # it may lie behind one of its own links
            self._put_in_line(RelaxingUrl(depth, hops, url_id, end))
        return end - done

    def _put_in_line(self, relaxing: RelaxingUrl) -> None:
        self._in_line[relaxing.url_id] = relaxing
        heappush(self._line, relaxing)
        self._memory.pending.now.relaxing[relaxing.url_id] = relaxing

    def _shorten(self, url_id: int, path: UrlPath, changes: LinkChanges) -> bool:
        """Give a URL a path, if it is shorter; return whether it is not too deep any more."""
        urls = self._urls
        before = urls.depths[url_id]
        if (path.depth, path.hops) >= (before, urls.hops[url_id]):
            return False
        urls.set_path(url_id, path)
        state = urls.states[url_id]
        if state == UrlState.TOO_DEEP:
            host = self._hosts.keys[urls.hosts[url_id]] if self._depth_rules else HostKey("")
            if is_within := self._within(path.depth, host):
                urls.bring_within(url_id, path.parent)
                self._waiting.add_unscored(url_id)
            return is_within
        if state == UrlState.QUEUED and path.depth < before:
            changes.rescore.append(url_id)
        if urls.has_links(url_id):
            self._put_in_line(RelaxingUrl(path.depth, path.hops, url_id, 0))
        return False


def is_sitemap(link: Link) -> bool:
    """Tell whether a link leads to a sitemap."""
    return link.listing is not None and link.listing.sitemap_of is not None
