"""The hosts, domains or directories of very many seeds, as a set that takes 8 bytes for each.

It holds hashes, sorted. That one of a million seeds has the hash of a URL's host by chance happens
once in ten million million URLs.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable

import xxhash

BUCKETS = 256
"""New keys are collected in this many parts, of which one at a time is sorted."""
SMALLEST_CUT = 1024


class SeedKeys:
    """A set of texts that cannot be listed, packed for other processes."""

    def __init__(self, packed: bytes = b"") -> None:
        keys = array("Q", packed)
        if sys.byteorder == "big":
            keys.byteswap()
        self._keys = keys

    def __contains__(self, text: str) -> bool:
        if not self._keys:
            return False
        keys, key = self._keys, xxhash.xxh3_64_intdigest(text.encode())
        at = bisect_left(keys, key)
        return at < len(keys) and keys[at] == key

    def __len__(self) -> int:
        return len(self._keys)


class SeedKeyCollector:
    """Collects the keys of seeds, in any order and any number of times."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(BUCKETS)]
        self._cut_at = [SMALLEST_CUT] * BUCKETS
        self._last = ""

    def add(self, text: str) -> None:
        """Add a key."""
        if text == self._last:  # most lists are sorted by host
            return
        self._last = text
        key = xxhash.xxh3_64_intdigest(text.encode())
        number = key >> 56
        bucket = self._buckets[number]
        bucket.append(key)
        if len(bucket) >= self._cut_at[number]:
            self._buckets[number] = each_once = _each_once(bucket)
            self._cut_at[number] = max(SMALLEST_CUT, 2 * len(each_once))

    def packed(self) -> bytes:
        """Return the set for `SeedKeys`."""
        keys = array("Q")
        for bucket in self._buckets:
            keys.extend(_each_once(bucket))
        if sys.byteorder == "big":
            keys.byteswap()
        return keys.tobytes()


def _each_once(keys: Iterable[int]) -> "array[int]":
    return array("Q", sorted(set(keys)))
