"""Adding links and keeping depths exact.

The depth of a URL is the length of its shortest path over the links seen so far; a redirect is a
way of length 0. Pages are fetched in any order, so a shorter path may turn up after a page was
fetched: then the page is not fetched again, its stored links are walked and everything behind it
comes nearer.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from gossamer.model import Outcome
from gossamer.stores.contract import Link, Place
from gossamer.stores.shelf import Known, Shelf


class Growth(msgspec.Struct):
    """What adding links has changed."""

    new: int = 0
    """URLs that wait now and did not before."""
    new_keys: list[bytes] = []
    """The keys of those that are among the added links."""
    forgotten: list[Outcome] = []
    """How URLs had ended that are to be visited again, because their TTL is over."""
    nearer: list[tuple[int, int]] = []
    """Pages, by number, that have a smaller depth now."""


class LinkKeeper:
    """Adds links to a shelf."""

    def __init__(self, shelf: Shelf, max_depth: int | None, ttl_s: float) -> None:
        self._shelf = shelf
        self._max_depth = max_depth
        self._ttl_s = ttl_s

    def add(
        self, links: Sequence[Link], *, depth: int, parent: int | None, hops: int, now: float
    ) -> tuple[list[int], Growth]:
        """Add links of that depth; return the ids they have, in order, and what has changed."""
        growth = Growth()
        ids: list[int] = []
        for link in links:
            known = self._shelf.known(link.key)
            if known is None:
                place = Place.UNSCORED if self._within(depth) else Place.BEYOND
                ids.append(self._shelf.insert(link, place, depth, parent, hops, now))
                if place is Place.UNSCORED:
                    growth.new += 1
                    growth.new_keys.append(link.key)
                continue
            ids.append(known.id)
            new_before = growth.new
            if depth < known.depth:
                self._relax(known.id, depth, parent, growth)
            if self._is_forgotten(known, now) and self._within(known.depth):
                self._revive(known, growth)
            if growth.new > new_before and self._shelf.by_id(known.id).place is Place.UNSCORED:
                growth.new_keys.append(link.key)
        return ids, growth

    def _within(self, depth: int) -> bool:
        return self._max_depth is None or depth <= self._max_depth

    def _is_forgotten(self, known: Known, now: float) -> bool:
        if known.place is not Place.FINISHED:
            return False  # it waits or is in work again already
        return known.finished_at is not None and known.finished_at + self._ttl_s <= now

    def _revive(self, known: Known, growth: Growth) -> None:
        """Let a URL be visited again."""
        outcome = self._shelf.outcome(known.id)
        assert outcome is not None
        growth.forgotten.append(outcome)
        growth.new += 1
        self._shelf.move(known.id, Place.UNSCORED)

    def _relax(self, url_id: int, depth: int, parent: int | None, growth: Growth) -> None:
        """Bring a URL nearer, and everything that is reached over it."""
        line = deque([(url_id, depth, parent)])
        while line:
            one, nearer, over = line.popleft()
            known = self._shelf.by_id(one)
            if nearer >= known.depth:
                continue
            self._shelf.set_depth(one, nearer, over)
            if known.place is Place.BEYOND and self._within(nearer):
                self._shelf.move(one, Place.UNSCORED)
                growth.new += 1
            elif known.place is Place.FINISHED:
                page = self._shelf.page_of(one)
                if page is not None:
                    growth.nearer.append((page, nearer))
                targets, redirect = self._shelf.targets(one)
                step = 0 if redirect else 1
                line.extend((target, nearer + step, one) for target in targets)
