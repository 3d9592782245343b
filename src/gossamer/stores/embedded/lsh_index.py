"""Which pages may are similar to one another: an index of the bands of their sketches, in memory.

A band is looked up and added in constant time, however many pages there are. The table is cut into
many small ones by the first bits of the key, so that none of them ever takes long to grow.

The index holds nothing but numbers. What a candidate is compared by, and when it was fetched, is on
the backend, and is read for candidates only: most pages have none.
"""

import struct
from collections import Counter
from collections.abc import Sequence

PARTS = 1024
"""How many small tables there are. One of a million pages has some 16,000 entries."""

MAX_SHARING = 32
"""How many pages an entry names: the last ones. A site whose pages are all half alike would
otherwise make every look-up as long as the crawl is old."""

MAX_CANDIDATES = 32
"""How many pages are compared: those that share most bands."""

_KEY_BITS = 60  # two digits of Python's integers
_MASK = (1 << _KEY_BITS) - 1
_SHIFT = _KEY_BITS - (PARTS.bit_length() - 1)
_SALT = 0x9E3779B97F4A7C15
"""Times the position, it keeps a band apart from the same one elsewhere."""


class LshIndex:
    """Finds the pages that share a band with another at the same position."""

    def __init__(self) -> None:
        self._parts: list[dict[int, int | tuple[int, ...]]] = [{} for _ in range(PARTS)]

    def __repr__(self) -> str:
        return f"<LshIndex: {sum(map(len, self._parts))} bands>"

    def __len__(self) -> int:
        """Return how many different bands there are."""
        return sum(map(len, self._parts))

    def add(self, number: int, keys: Sequence[int]) -> None:
        """Add a page under the keys of its bands."""
        parts = self._parts
        for key in keys:
            part = parts[key >> _SHIFT]
            there = part.setdefault(key, number)
            if there != number:
                before = there if isinstance(there, tuple) else (there,)
                if number not in before:
                    part[key] = (*before[1 - MAX_SHARING :], number)

    def discard(self, number: int, keys: Sequence[int]) -> None:
        """Forget a page that was added under these keys."""
        parts = self._parts
        for key in keys:
            part = parts[key >> _SHIFT]
            there = part.get(key)
            if there == number:
                del part[key]
            elif isinstance(there, tuple) and number in there:
                first, *others = (one for one in there if one != number)
                part[key] = (first, *others) if others else first

    def candidates(self, keys: Sequence[int]) -> list[int]:
        """Return the pages that are under one of these keys, those under most of them first."""
        parts = self._parts
        found = [there for key in keys if (there := parts[key >> _SHIFT].get(key)) is not None]
        if not found:
            return []
        shared: Counter[int] = Counter()
        for there in found:
            shared.update(there if isinstance(there, tuple) else (there,))
        ranked = sorted(shared, key=lambda number: (-shared[number], number))
        return ranked[:MAX_CANDIDATES]


def keys_of(bands: bytes) -> list[int]:
    """Return under what a page is filed whose bands, 8 bytes each, are these in a row."""
    values = struct.unpack(f">{len(bands) // 8}Q", bands)
    return [(value + position * _SALT) & _MASK for position, value in enumerate(values)]
