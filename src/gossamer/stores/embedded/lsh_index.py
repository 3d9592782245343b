"""The LSH index: from the bands of sketches to the pages that have them.

A band is looked up and added in constant time, however many pages there are. The table is split
into many small ones by the first bits of the key, so that none of them takes long to grow.

Memory is bounded. When it holds `MAX_NAMES` names of pages, one small table after the other is
moved into a table of the store, where the keys lie next to each other as well. A
page is found wherever its bands are, and what is found does not depend on that.

The index holds only numbers. The samples and the times of candidates are in the backend, and are
read for candidates only: most pages have none.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

PARTS = 1024
"""The number of small tables. In a full memory each has some 800 entries."""

MAX_NAMES = 800_000
"""How many names of pages are held in memory: with 8 bands those of 100,000 pages, in 100 MB."""

MAX_SHARING = 32
"""How many pages of an entry are candidates: the last ones. Otherwise lookups on a site of similar
pages would take longer and longer."""

MAX_CANDIDATES = 32
"""How many pages are compared at most: those that share the most bands."""

MAX_UNREAD = 4
"""How many pages are read at most to compare their own content with that of a new one: the most
similar ones."""

_KEY_BITS = 60  # two digits of Python's integers
_MASK = (1 << _KEY_BITS) - 1
_SHIFT = _KEY_BITS - (PARTS.bit_length() - 1)
_SALT = 0x9E3779B97F4A7C15
"""Multiplied by the position, it distinguishes equal bands at different positions."""


class StoredBands(Protocol):
    """Where entries are that memory has no room for; `sqlite.band_table.BandTable` is one."""

    @property
    def complete_to(self) -> int:
        """Up to which number all pages are here; 0: none."""

    def put(self, rows: Iterable[tuple[int, int]]) -> None:
        """Take in keys of bands, each with a page that has it."""

    def complete(self, number: int) -> None:
        """Note that all pages up to this number are here."""

    def discard(self, rows: Iterable[tuple[int, int]]) -> None:
        """Remove keys with their pages."""

    def last(self, key: int, limit: int) -> list[int]:
        """Return the pages with the largest numbers that have a band, at most `limit`."""


class LshIndex:
    """An index that finds the pages which share a band at the same position."""

    def __init__(self, table: StoredBands, max_names: int = MAX_NAMES) -> None:
        self._table = table
        self._max_names = max_names
        self._parts: list[dict[int, int | tuple[int, ...]]] = [{} for _ in range(PARTS)]
        self._names = 0
        """How many names of pages are in memory."""
        self._moved = 0
        """How many parts were moved in this round."""
        self._largest = table.complete_to
        """The largest number so far."""
        self._has_moved = self._largest > 0
        self._long: set[int] = set()
        """The keys whose first pages are in the store, because there are so many."""
        self._moved_to = self._largest
        """The largest number at the beginning of this round: at its end all up to it are moved."""

    def __len__(self) -> int:
        """Return how many different bands are in memory."""
        return sum(map(len, self._parts))

    def add(self, number: int, keys: Sequence[int]) -> None:
        """Add a page under the keys of its bands."""
        if number <= self._moved_to:  # a number that was free again; its part may be moved already
            self._table.put([(key, number) for key in keys])
            return
        self._largest = max(self._largest, number)
        parts = self._parts
        for key in keys:
            part = parts[key >> _SHIFT]
            there = part.setdefault(key, number)
            if there != number:
                before = there if isinstance(there, tuple) else (there,)
                if number not in before:
                    part[key] = self._shortened(key, tuple(sorted((*before, number))))
        self._names += len(keys)
        if self._names > self._max_names:
            self._make_room()

    def discard(self, number: int, keys: Sequence[int]) -> None:
        """Remove a page that was added under these keys."""
        if self._has_moved or self._long:
            self._table.discard([(key, number) for key in keys])
        parts = self._parts
        for key in keys:
            part = parts[key >> _SHIFT]
            there = part.get(key)
            if there == number:
                del part[key]
                self._names -= 1
            elif isinstance(there, tuple) and number in there:
                first, *others = (one for one in there if one != number)
                part[key] = (first, *others) if others else first
                self._names -= 1

    def candidates(self, keys: Sequence[int]) -> list[int]:
        """Return the pages under any of these keys, those under the most of them first."""
        found = self._anywhere(keys) if self._has_moved or self._long else self._in_memory(keys)
        if not found:
            return []
        shared: Counter[int] = Counter()
        for there in found:
            shared.update(there[-MAX_SHARING:] if isinstance(there, tuple) else (there,))
        ranked = sorted(shared, key=lambda number: (-shared[number], number))
        return ranked[:MAX_CANDIDATES]

    def _in_memory(self, keys: Sequence[int]) -> list[int | tuple[int, ...]]:
        parts = self._parts
        return [there for key in keys if (there := parts[key >> _SHIFT].get(key)) is not None]

    def _anywhere(self, keys: Sequence[int]) -> list[int | tuple[int, ...]]:
        found: list[int | tuple[int, ...]] = []
        for key in keys:
            there = self._parts[key >> _SHIFT].get(key, ())
            newest = there if isinstance(there, tuple) else (there,)
            if len(newest) < MAX_SHARING and (self._has_moved or key in self._long):
                # A page may be in both while its number was given again.
                newest = tuple(sorted({*self._table.last(key, MAX_SHARING), *newest}))
            found.append(newest)
        return found

    def _shortened(self, key: int, names: tuple[int, ...]) -> tuple[int, ...]:
        """Return the names of an entry; if there are too many, the first ones go to the store."""
        if len(names) < 2 * MAX_SHARING:
            return names
        self._table.put([(key, number) for number in names[:-MAX_SHARING]])
        self._long.add(key)
        self._names -= len(names) - MAX_SHARING
        return names[-MAX_SHARING:]

    def _make_room(self) -> None:
        for _ in range(PARTS):
            if self._names <= self._max_names:
                break
            self._move()

    def _move(self) -> None:
        """Move the next part to the store."""
        if not self._moved:
            self._moved_to, self._has_moved = self._largest, True
        part = self._parts[self._moved]
        rows = [
            (key, number)
            for key, there in part.items()
            for number in (there if isinstance(there, tuple) else (there,))
        ]
        self._table.put(sorted(rows))
        self._names -= len(rows)
        self._parts[self._moved] = {}
        self._moved = (self._moved + 1) % PARTS
        if not self._moved:
            self._table.complete(self._moved_to)


def keys_of(bands: bytes) -> list[int]:
    """Return the keys of concatenated bands, 8 bytes each."""
    values = struct.unpack(f">{len(bands) // 8}Q", bands)
    return [(value + position * _SALT) & _MASK for position, value in enumerate(values)]
