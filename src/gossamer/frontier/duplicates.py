"""The duplicate index: which page a new one repeats.

A page is compared with those kept within `keep_s` and with those that are claimed and not settled:
by its digest, and by its sketch if it has one. A page that is similar by its sketch is compared
once more, by its own content. That is read from the pages only then, by whoever claims (`Unread`).
"""

from collections.abc import Iterable, Mapping

import msgspec

from gossamer.frontier.claim import THIS_PAGE
from gossamer.frontier.claims import Claims, HeldClaim
from gossamer.frontier.lsh_index import MAX_UNREAD, LshIndex, keys_of
from gossamer.frontier.memory import CrawlMemory
from gossamer.policy.similarity import Sketch, estimated_similarity


class Original(msgspec.Struct, frozen=True):
    """The page that another repeats."""

    number: int
    holder: int | None = None
    """The URL in progress that has claimed its number; None if the page is kept."""
    similarity: float | None = None
    """From 0 to 1; None: the content is identical."""
    own_similarity: float | None = None


class Unread(msgspec.Struct, frozen=True):
    """The own contents that have to be known before a page can be told from others."""

    pages: tuple[int, ...]


class _Alike(msgspec.Struct, frozen=True):
    """A page whose whole text is similar to that of a new one."""

    number: int
    holder: int | None
    similarity: float
    own: bytes | None
    """The sample of its own content; None: it was not read so far."""


class DuplicateIndex:
    """The index of kept and claimed pages, which finds the original of a new one."""

    def __init__(
        self,
        memory: CrawlMemory,
        claims: Claims,
        similarity: float | None,
        keep_s: float,
        now: float,
    ) -> None:
        self._pages = memory.pages
        self._claims = claims
        self._threshold = similarity
        self._keep_s = keep_s
        self._index = LshIndex()
        if similarity is not None:
            for number, bands in memory.bands(now - keep_s):
                self._index.add(number, keys_of(bands))
            for claim in claims.all():
                if not claim.again:
                    self._index.add(claim.number, self._keys(claim.sketch))

    def __len__(self) -> int:
        """Return how many bands of pages are indexed."""
        return len(self._index)

    def claim(
        self,
        url_id: int,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: Mapping[int, bytes] | None = None,
    ) -> Original | Unread | int:
        """Give the page of a URL its number, or refuse it; return the number or the original.

        `own` are the samples of own contents that were unread before.
        """
        claims, keys = self._claims, self._keys(sketch)
        claims.withdraw(url_id)
        self._learn(own or {})
        found = self._same(digest, now) or self._similar(sketch, keys, own, now)
        if found is None:
            number = claims.give(url_id, digest, sketch, None if own is None else own[THIS_PAGE])
            self._index.add(number, keys)
            return number
        if isinstance(found, Original):
            claims.refuse(url_id, found.number, found.holder)
        return found

    def drop(self, claim: HeldClaim) -> None:
        """Remove a claim that was dropped."""
        self._index.discard(claim.number, self._keys(claim.sketch))

    def replace(self, number: int, bands: bytes, sketch: Sketch | None) -> None:
        """Index another version of a kept page, in place of that with the given bands."""
        self._index.discard(number, keys_of(bands))
        self._index.add(number, self._keys(sketch))

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
        number = self._pages.duplicate_of(digest, now - self._keep_s)
        return None if number is None else Original(number)

    def _similar(
        self, sketch: Sketch | None, keys: list[bytes], own: Mapping[int, bytes] | None, now: float
    ) -> Original | Unread | None:
        """Return the most similar page, if it is similar enough, or what is to be read first."""
        if not keys or sketch is None or self._threshold is None:
            return None
        alike = self._alike(sketch.sample, keys, self._threshold, now)
        if not alike:
            return None
        if own is None:
            unknown = [one.number for one in alike if one.own is None]
            return Unread((THIS_PAGE, *unknown[:MAX_UNREAD]))
        mine = own[THIS_PAGE]
        for one in alike:
            if one.own and len(one.own) == len(mine):
                similarity = estimated_similarity(mine, one.own)
                if similarity >= self._threshold:
                    return Original(one.number, one.holder, one.similarity, similarity)
        return None

    def _alike(
        self, sample: bytes, keys: list[bytes], threshold: float, now: float
    ) -> list[_Alike]:
        """Return the pages whose whole text is similar, the most similar ones first."""
        holders = {
            number: self._claims.holder_of_number(number) for number in self._index.candidates(keys)
        }
        kept = [number for number, holder in holders.items() if holder is None]
        sketches = self._pages.sketches(kept, now - self._keep_s) if kept else {}
        found = []
        for number, holder in holders.items():
            if holder is None:
                sketch = sketches.get(number)
                its, own = (None, None) if sketch is None else (sketch.sample, sketch.own)
            else:
                its, own = self._claimed(holder)
            if its is None or len(its) != len(sample):
                continue
            similarity = estimated_similarity(sample, its)
            if similarity >= threshold:
                found.append(_Alike(number, holder, similarity, own))
        return sorted(found, key=lambda one: (-one.similarity, one.number))

    def _claimed(self, holder: int) -> tuple[bytes | None, bytes | None]:
        """Return the samples of a claimed page's whole text and of its own content."""
        claim = self._claims.held(holder)
        if claim is None or claim.sketch is None:
            return None, None
        return claim.sketch.sample, claim.own

    def _learn(self, own: Mapping[int, bytes]) -> None:
        """Keep the samples of the own contents of kept pages."""
        for number, sample in own.items():
            if number != THIS_PAGE:
                self._pages.set_own(number, sample)

    def _keys(self, sketch: Sketch | None) -> list[bytes]:
        if self._threshold is None or sketch is None:
            return []
        return keys_of(b"".join(sketch.bands))
