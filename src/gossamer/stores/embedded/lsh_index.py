"""The LSH index in memory: from the bands of sketches to the pages that have them.

A band is looked up and added in constant time, however many pages there are. The table is split
into many small ones by the first bits of the key, so that none of them takes long to grow.

The index holds only numbers. The samples and the times of candidates are in the backend, and are
read for candidates only: most pages have none.
"""

import struct
from collections import Counter
from collections.abc import Sequence

PARTS = 1024
"""The number of small tables. With a million pages each has some 16,000 entries."""

MAX_SHARING = 32
"""How many pages an entry has at most: the last ones. Otherwise lookups on a site of similar
pages would take longer and longer."""

MAX_CANDIDATES = 32
"""How many pages are compared at most: those that share the most bands."""

_KEY_BITS = 60  # two digits of Python's integers
_MASK = (1 << _KEY_BITS) - 1
_SHIFT = _KEY_BITS - (PARTS.bit_length() - 1)
_SALT = 0x9E3779B97F4A7C15
"""Multiplied by the position, it distinguishes equal bands at different positions."""


class LshIndex:
    """An index that finds the pages which share a band at the same position."""

    def __init__(self) -> None:
        self._parts: list[dict[int, int | tuple[int, ...]]] = [{} for _ in range(PARTS)]

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
        """Remove a page that was added under these keys."""
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
        """Return the pages under any of these keys, those under the most of them first."""
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
    """Return the keys of concatenated bands, 8 bytes each."""
    values = struct.unpack(f">{len(bands) // 8}Q", bands)
    return [(value + position * _SALT) & _MASK for position, value in enumerate(values)]
