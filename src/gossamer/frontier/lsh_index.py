"""The LSH index: from the bands of sketches to the pages that have them.

A band is looked up and added in constant time, however many pages there are, and takes ten bytes.
The index holds only numbers. The samples of candidates are read from the database, and only theirs:
most pages have none.
"""

import struct
from collections import Counter
from collections.abc import Sequence

from gossamer.frontier.id_table import IdTable

MAX_SHARING = 32
"""How many pages of an entry are candidates: the last ones. Otherwise lookups on a site of similar
pages would take longer and longer."""

MAX_CANDIDATES = 32
"""How many pages are compared at most: those that share the most bands."""

MAX_UNREAD = 4
"""How many pages are read at most to compare their own content with that of a new one: the most
similar ones."""

_KEY_BYTES = 8
_MASK = (1 << 8 * _KEY_BYTES) - 1
_SALT = 0x9E3779B97F4A7C15
"""Multiplied by the position, it distinguishes equal bands at different positions."""


class LshIndex:
    """An index that finds the pages which share a band at the same position."""

    def __init__(self) -> None:
        self._table = IdTable(_KEY_BYTES)

    def __len__(self) -> int:
        """Return how many bands of pages are indexed."""
        return len(self._table)

    def add(self, number: int, keys: Sequence[bytes]) -> None:
        """Add a page under the keys of its bands."""
        for key in keys:
            self._table.add(key, number)

    def discard(self, number: int, keys: Sequence[bytes]) -> None:
        """Remove a page that was added under these keys."""
        for key in keys:
            self._table.discard(key, number)

    def candidates(self, keys: Sequence[bytes]) -> list[int]:
        """Return the pages under any of these keys, those under the most of them first."""
        shared: Counter[int] = Counter()
        for key in keys:
            shared.update({*self._table.last(key, MAX_SHARING)})
        ranked = sorted(shared, key=lambda number: (-shared[number], number))
        return ranked[:MAX_CANDIDATES]


def keys_of(bands: bytes) -> list[bytes]:
    """Return the keys of concatenated bands, 8 bytes each."""
    values = struct.unpack(f">{len(bands) // 8}Q", bands)
    return [
        (value + position * _SALT & _MASK).to_bytes(_KEY_BYTES)
        for position, value in enumerate(values)
    ]
