"""The graph of links, which keeps depths exact.

The depth of a URL is the length of its shortest path over the links seen so far; a redirect has
length 0. Pages are fetched in any order, so a shorter path may be found after a page was fetched:
then the page is not fetched again, but its stored links are followed and the depths of everything
behind it are updated.

Of two paths of the same length the one with fewer redirects at its end counts, because chains of
redirects are limited. So the result does not depend on the order of the crawl.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.model import Outcome
from gossamer.stores.contract import Link, UrlState
from gossamer.stores.embedded.rows import UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend


class Growth(msgspec.Struct):
    """What adding links has changed."""

    ids: list[int] = []
    """The URLs that the links lead to, in order."""
    new: int = 0
    """How many URLs are waiting now that were not before."""
    new_keys: list[bytes] = []
    """The keys of those that are among the added links."""
    forgotten: list[Outcome] = []
    """The outcomes of URLs that will be visited again, because their TTL is over."""
    nearer: dict[int, int] = {}
    """The numbers of pages whose depth has decreased, with that depth."""
    overtaking: list[int] = []
    """URLs in the priority queues whose depth has decreased."""


class LinkGraph:
    """The graph of links of one crawl."""

    def __init__(self, backend: SqliteBackend, max_depth: int | None, ttl_s: float) -> None:
        self._backend = backend
        self._max_depth = max_depth
        self._ttl_s = ttl_s

    def add(self, links: Sequence[Link], found: UrlPath, now: float) -> Growth:
        """Add the links of a page, the target of a redirect, or seeds, which have no parent.

        A seed that is known is not visited again, however long ago it was.
        """
        backend, growth = self._backend, Growth()
        forgotten_before = -math.inf if found.parent is None else now - self._ttl_s
        depth, hops, ids = found.depth, found.hops, growth.ids
        state = UrlState.UNSCORED if self._within(depth) else UrlState.TOO_DEEP
        touched: list[tuple[int, bytes]] = []
        for link, known in zip(links, backend.cached([one.key for one in links]), strict=True):
            if known is None:
                new = backend.insert(link, state, found, now)
                if new is not None:
                    ids.append(new)
                    if state is UrlState.UNSCORED:
                        growth.new_keys.append(link.key)
                    continue
                known = backend.known(link.key)  # noqa: PLW2901 -- it was only not cached
                assert known is not None
            ids.append(known.id)
            if (
                depth < known.depth
                or known.finished_at <= forgotten_before
                or (hops < known.hops and depth == known.depth)
            ):
                touched.append((known.id, link.key))
        growth.new = len(growth.new_keys)
        if touched:
            self._touch(touched, found, forgotten_before, growth)
        return growth

    def _touch(
        self,
        touched: Sequence[tuple[int, bytes]],
        found: UrlPath,
        forgotten_before: float,
        growth: Growth,
    ) -> None:
        """Update the depths of known URLs, and reopen those whose TTL is over."""
        revived = self._relax([url_id for url_id, _ in touched], found, growth)
        for url_id, key in touched:
            if self._backend.by_id(url_id).finished_at <= forgotten_before:
                growth.forgotten.append(self._backend.reopen(url_id))
                revived.add(url_id)
            if url_id in revived:
                growth.new_keys.append(key)
        growth.new += len(revived)

    def _within(self, depth: int) -> bool:
        return self._max_depth is None or depth <= self._max_depth

    def _relax(self, urls: Iterable[int], found: UrlPath, growth: Growth) -> set[int]:
        """Update the depths of URLs and of all behind them; return those not too deep any more."""
        backend, revived = self._backend, set[int]()
        pending = deque((url_id, found) for url_id in urls)
        while pending:
            url_id, path = pending.popleft()
            known = backend.by_id(url_id)
            if (path.depth, path.hops) >= (known.depth, known.hops):
                continue
            state, is_nearer = known.state, path.depth < known.depth
            backend.set_path(url_id, path)
            if state is UrlState.TOO_DEEP:
                if self._within(path.depth):
                    backend.move(url_id, UrlState.UNSCORED)
                    revived.add(url_id)
                continue
            if state is UrlState.QUEUED and is_nearer:
                growth.overtaking.append(url_id)
            page_id, targets, redirect = backend.visited(url_id)
            if page_id is not None and is_nearer:
                growth.nearer[page_id] = path.depth
            if redirect:  # its target has the same depth, so it comes before the others
                behind = UrlPath(path.depth, path.hops + 1, url_id)
                pending.extendleft((target, behind) for target in targets)
            else:
                behind = UrlPath(path.depth + 1, 0, url_id)
                pending.extend((target, behind) for target in targets)
        return revived
