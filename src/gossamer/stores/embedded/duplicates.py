"""The duplicate index: which page a new one repeats.

A page is compared with those kept within the TTL and with those that are claimed and not settled:
by its digest, and by its sketch if it has one.
"""

from collections.abc import Iterable

import msgspec

from gossamer.content.similarity import Sketch, estimated_similarity
from gossamer.stores.embedded.claims import Claims, HeldClaim
from gossamer.stores.embedded.lsh_index import LshIndex, keys_of
from gossamer.stores.embedded.sqlite import SqliteBackend


class Original(msgspec.Struct, frozen=True):
    """The page that another repeats."""

    number: int
    holder: int | None = None
    """The URL in progress that has claimed its number; None if the page is kept."""
    similarity: float | None = None
    """From 0 to 1; None: the content is identical."""


class DuplicateIndex:
    """The index of kept and claimed pages, which finds the original of a new one."""

    def __init__(
        self,
        backend: SqliteBackend,
        claims: Claims,
        similarity: float | None,
        ttl_s: float,
        now: float,
    ) -> None:
        self._backend = backend
        self._claims = claims
        self._threshold = similarity
        self._ttl_s = ttl_s
        self._index = LshIndex()
        if similarity is not None:
            for number, bands in backend.bands(now - ttl_s):
                self._index.add(number, keys_of(bands))

    def __len__(self) -> int:
        """Return how many bands of pages are indexed."""
        return len(self._index)

    def claim(
        self, url_id: int, digest: bytes, sketch: Sketch | None, now: float
    ) -> Original | int:
        """Give the page of a URL its number, or refuse it; return the number or the original."""
        claims, keys = self._claims, self._keys(sketch)
        claims.withdraw(url_id)
        original = self._same(digest, now) or self._similar(sketch, keys, now)
        if original is None:
            number = claims.give(url_id, digest, sketch)
            self._index.add(number, keys)
            return number
        claims.refuse(url_id, original.number, original.holder)
        return original

    def drop(self, claim: HeldClaim) -> None:
        """Remove a claim that was dropped."""
        self._index.discard(claim.number, self._keys(claim.sketch))

    def forget(self, expired: Iterable[tuple[int, bytes]]) -> None:
        """Remove pages whose content has expired, given with the bands of their sketches."""
        for number, bands in expired:
            self._index.discard(number, keys_of(bands))

    def _same(self, digest: bytes, now: float) -> Original | None:
        if self._threshold is None:
            return None
        holder = self._claims.holder_of(digest)
        if holder is not None:
            claim = self._claims.held(holder)
            assert claim is not None
            return Original(claim.number, holder)
        number = self._backend.duplicate_of(digest, now - self._ttl_s)
        return None if number is None else Original(number)

    def _similar(self, sketch: Sketch | None, keys: list[int], now: float) -> Original | None:
        """Return the most similar page, if it is similar enough."""
        if not keys or sketch is None or self._threshold is None:
            return None
        best: Original | None = None
        least = self._threshold
        for number in sorted(self._index.candidates(keys)):
            holder = self._claims.holder_of_number(number)
            sample = self._sample(number, holder, now)
            if sample is None or len(sample) != len(sketch.sample):
                continue
            similarity = estimated_similarity(sketch.sample, sample)
            if similarity >= least and (best is None or similarity > least):
                best, least = Original(number, holder, similarity), similarity
        return best

    def _sample(self, number: int, holder: int | None, now: float) -> bytes | None:
        if holder is None:
            return self._backend.sample(number, now - self._ttl_s)
        claim = self._claims.held(holder)
        return None if claim is None or claim.sketch is None else claim.sketch.sample

    def _keys(self, sketch: Sketch | None) -> list[int]:
        if self._threshold is None or sketch is None:
            return []
        return keys_of(b"".join(sketch.bands))
