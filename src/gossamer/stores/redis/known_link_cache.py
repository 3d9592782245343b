"""A cache of links about which there is nothing new, so that the server need not look them up.

A URL that is known at some depth is never farther away later, and is not visited again before
`revisit_s` is over from the moment at which it was seen. Until then a link to it at that depth, or
a larger one, changes nothing, and its id is all that the server needs.

All of this holds for one connection: a server that comes back may have lost its last seconds, and
give the id to another URL.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, repeat
from typing import Self

import msgspec

from gossamer.stores.contract import Link
from gossamer.stores.redis.records import MOST_HOPS

MOST = 100_000


def place_of(depth: int, hops: int) -> int:
    """Return how far a URL is, as one number: whoever is nearer has a smaller one."""
    return depth * (MOST_HOPS + 1) + min(hops, MOST_HOPS)


class KnownLink(msgspec.Struct, frozen=True, gc=False):
    """What a process remembers of a URL."""

    id: int
    place: int
    until: float
    """When a link to it may lead to another visit."""


class KnownLinkCache:
    """The known links of one process; the oldest are forgotten first."""

    def __init__(self, revisit_s: float, most: int = MOST) -> None:
        self._revisit_s = revisit_s
        self._most = most
        self._known: dict[bytes, KnownLink] = {}
        self._connection = 0

    def on(self, connection: int) -> Self:
        """Return the cache, without what was learnt on another connection."""
        if connection != self._connection:
            self._known.clear()
            self._connection = connection
        return self

    def recognise(self, links: Iterable[Link], place: int, now: float) -> dict[bytes, int]:
        """Return the ids, by key, of those links about which nothing is new at that place."""
        find, found = self._known.get, {}
        for link in links:
            one = find(link.key)
            if one is not None and one.place <= place and one.until > now:
                found[link.key] = one.id
        return found

    def meet(
        self, keys: Sequence[bytes], learnt: Sequence[int], finished: Sequence[float], now: float
    ) -> None:
        """Remember links: for each its id (0: there is none), its place and when it was done."""
        ends = finished or repeat(0.0, len(keys))
        for key, url_id, place, end in zip(keys, learnt[::2], learnt[1::2], ends, strict=True):
            if not url_id:  # it was left out
                continue
            self._known.pop(key, None)
            self._known[key] = KnownLink(url_id, place, (end or now) + self._revisit_s)
        if len(self._known) > self._most:
            for key in list(islice(self._known, len(self._known) - self._most * 3 // 4)):
                del self._known[key]
