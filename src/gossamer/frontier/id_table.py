"""A table of ids by hashes, in a dozen bytes for each entry.

Entries are in 65,536 small buckets by the first two bytes of the hash, one after another, and are
found by searching the bytes. No bucket is ever large, so no entry waits for a whole table to grow.
Eight more bytes of the hash are stored: of 100 million entries two agree in all 80 bits with a
probability of 4 in a billion.
"""

from collections.abc import Iterator
from typing import Final

BUCKETS: Final = 65_536
ID_BYTES: Final = 4


class IdTable:
    """Ids from 1 to 2**32 - 1 by hashes; of one hash there may be several."""

    def __init__(self, hash_bytes: int = 10) -> None:
        """Prepare for hashes of which so many bytes count."""
        self._buckets: list[bytes | bytearray] = [b""] * BUCKETS
        self._end = hash_bytes
        self._part = hash_bytes - 2
        self._stride = self._part + ID_BYTES
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, key: bytes) -> int:
        """Return the first id of a hash; 0 if there is none."""
        bucket = self._buckets[key[0] << 8 | key[1]]
        if not bucket:
            return 0
        stride, part, wanted = self._stride, self._part, key[2 : self._end]
        at = bucket.find(wanted)
        while at >= 0:
            if not at % stride:
                return int.from_bytes(bucket[at + part : at + stride], "little")
            at = bucket.find(wanted, at + 1)
        return 0

    def last(self, key: bytes, limit: int) -> list[int]:
        """Return the ids of a hash, the last ones first, at most `limit`."""
        bucket, found = self._buckets[key[0] << 8 | key[1]], []
        for at in self._places(bucket, key[2 : self._end]):
            found.append(int.from_bytes(bucket[at + self._part : at + self._stride], "little"))
            if len(found) == limit:
                break
        return found

    def add(self, key: bytes, number: int) -> None:
        """Add an id under a hash."""
        place = key[0] << 8 | key[1]
        bucket = self._buckets[place]
        if not isinstance(bucket, bytearray):
            bucket = self._buckets[place] = bytearray()
        bucket += key[2 : self._end] + number.to_bytes(ID_BYTES, "little")
        self._count += 1

    def discard(self, key: bytes, number: int) -> None:
        """Remove an id from a hash, if it is there."""
        bucket = self._buckets[key[0] << 8 | key[1]]
        if isinstance(bucket, bytearray):
            wanted = number.to_bytes(ID_BYTES, "little")
            for at in self._places(bucket, key[2 : self._end]):
                if bucket[at + self._part : at + self._stride] == wanted:
                    del bucket[at : at + self._stride]
                    self._count -= 1
                    return

    def _places(self, bucket: bytes | bytearray, wanted: bytes) -> Iterator[int]:
        """Yield where entries of a hash begin, from the end."""
        stride = self._stride
        at = bucket.rfind(wanted)
        while at >= 0:
            if not at % stride:
                yield at
            # The last place that begins before this one: a match may overlap the one found.
            at = bucket.rfind(wanted, 0, at + len(wanted) - 1)
