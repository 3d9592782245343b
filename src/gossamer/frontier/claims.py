"""The claims of page numbers: 1, 2, 3 … without gaps, and no content twice.

A page gets its number before it is settled, because the modules see it first. Until then it is only
claimed: if the page is not kept after all, the next one gets the number, and URLs that were refused
as duplicates of that page must be visited again.
"""

import heapq
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gossamer.frontier.contract import THIS_PAGE, Claim
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.url_memory import IdTable
from gossamer.model.names import Sketch, estimated_similarity

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


class HeldClaim(msgspec.Struct):
    """The claim of a page that is not settled yet."""

    number: int
    digest: bytes
    sketch: Sketch | None
    own: bytes | None
    """The sample of its own content; None: it was not read so far."""
    duplicates: set[int]
    """The URLs refused because of it, in progress or finished as duplicates."""
    again: bool = False
    """The page is kept already, and is visited again: nobody is compared with the claim."""


class Refusal(msgspec.Struct):
    """Why a URL was refused a number."""

    duplicate_of: int
    """The number of the page that the URL repeats."""
    holder: int | None
    """The URL that has claimed that number; None if the page is kept."""
    void: bool = False
    """That claim was dropped."""


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[HeldClaim | None, Refusal | None]).decode


def read_claim(packed: bytes) -> tuple[HeldClaim | None, Refusal | None]:
    """Return what is stored of a URL: its claim, and why it was refused one."""
    return _decode(packed)


class Claims:
    """The numbers claimed by URLs in progress, and the URLs that were refused one."""

    def __init__(self, last_page: int, gaps: Iterable[int]) -> None:
        self._next = last_page + 1
        self._free = sorted(gaps)
        self.of_url: dict[int, HeldClaim] = {}
        self.url_of_number: dict[int, int] = {}
        """The URL that has claimed each number whose page is not kept."""
        self.url_of_digest: dict[bytes, int] = {}
        """The URL in progress that has claimed a number for a content."""
        self._refusals: dict[int, Refusal] = {}
        self.changed: set[int] = set()
        """The URLs of which a claim or a refusal has changed since it was stored."""

    # -- stored with the lease of a URL ----------------------------------------------------------

    def pack(self, url_id: int) -> bytes | None:
        """Return what a URL has claimed, or why it was refused, as it is stored; None: neither."""
        claim, refusal = self.of_url.get(url_id), self._refusals.get(url_id)
        return None if claim is None and refusal is None else _encode((claim, refusal))

    def resume(self, url_id: int, packed: bytes) -> None:
        """Take over what was stored."""
        claim, refusal = read_claim(packed)
        if claim is not None:
            self.of_url[url_id] = claim
            if not claim.again:
                self._take(claim.number)
                self.url_of_number[claim.number] = url_id
                self.url_of_digest.setdefault(claim.digest, url_id)
        if refusal is not None:
            self._refusals[url_id] = refusal

    def _take(self, number: int) -> None:
        """Let a number be taken, which nobody has."""
        if number < self._next:
            self._free.remove(number)
            heapq.heapify(self._free)
        else:
            for free in range(self._next, number):
                heapq.heappush(self._free, free)
            self._next = number + 1

    # -- claims ----------------------------------------------------------------------------------

    @property
    def last_page(self) -> int:
        """The largest number ever given."""
        return self._next - 1

    @property
    def gaps(self) -> frozenset[int]:
        """The smaller numbers that are free."""
        return frozenset(self._free)

    def give(
        self, url_id: int, digest: bytes, sketch: Sketch | None, own: bytes | None = None
    ) -> int:
        """Give the page of a URL the smallest free number."""
        if self._free:
            number = heapq.heappop(self._free)
        else:
            number = self._next
            self._next += 1
        self.of_url[url_id] = HeldClaim(number, digest, sketch, own, set())
        self.changed.add(url_id)
        self.url_of_number[number] = url_id
        self.url_of_digest.setdefault(digest, url_id)
        return number

    def give_again(self, url_id: int, number: int, digest: bytes, sketch: Sketch | None) -> None:
        """Let a URL that is visited again keep the number of its page."""
        self.of_url[url_id] = HeldClaim(number, digest, sketch, None, set(), again=True)
        self.changed.add(url_id)

    def refuse(self, url_id: int, duplicate_of: int) -> None:
        """Refuse the page of a URL, which repeats one that is kept or claimed."""
        holder = self.url_of_number.get(duplicate_of)
        if holder is not None:
            self.of_url[holder].duplicates.add(url_id)
            self.changed.add(holder)
        self._refusals[url_id] = Refusal(duplicate_of, holder)
        self.changed.add(url_id)

    def duplicate_of(self, url_id: int) -> int | None:
        """Return the page because of which a URL was refused; None if it was not."""
        refusal = self._refusals.get(url_id)
        return None if refusal is None else refusal.duplicate_of

    def is_void(self, url_id: int) -> bool:
        """Return whether a URL was refused because of a page that is not kept after all."""
        refusal = self._refusals.get(url_id)
        return refusal is not None and refusal.void

    def end_refusal(self, url_id: int) -> None:
        """Note that a URL has ended as a duplicate; it still depends on the claim, if it is one."""
        self._refusals.pop(url_id, None)

    def withdraw(self, url_id: int) -> None:
        """Forget that a URL was refused: it is not in progress any more, or claims again."""
        refusal = self._refusals.pop(url_id, None)
        if refusal is not None and refusal.holder in self.of_url:
            self.of_url[refusal.holder].duplicates.discard(url_id)
            self.changed.add(refusal.holder)
        if refusal is not None:
            self.changed.add(url_id)

    def drop(self, url_id: int) -> set[int]:
        """Drop the claim of a URL that yields no page; return the finished duplicates of it."""
        self.withdraw(url_id)
        claim = self.fulfil(url_id)
        if claim is None or claim.again:
            return set()
        heapq.heappush(self._free, claim.number)
        for duplicate in claim.duplicates & self._refusals.keys():
            self._refusals[duplicate].void = True
            self.changed.add(duplicate)
        return claim.duplicates - self._refusals.keys()

    def fulfil(self, url_id: int) -> HeldClaim | None:
        """End the claim of a URL, whose page is kept; return it."""
        claim = self.of_url.pop(url_id, None)
        if claim is None:
            return None
        self.changed.add(url_id)
        if not claim.again:
            del self.url_of_number[claim.number]
            if self.url_of_digest.get(claim.digest) == url_id:
                del self.url_of_digest[claim.digest]
        return claim


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


class _Alike(msgspec.Struct, frozen=True):
    """A page whose whole text is similar to that of a new one."""

    number: int
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
            for number, bands in memory.rows.bands(now - keep_s):
                self._index.add(number, keys_of(bands))
            for claim in claims.of_url.values():
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
    ) -> Claim:
        """Give the page of a URL its number, or refuse it.

        `own` are the samples of own contents that were unread before.
        """
        claims, keys = self._claims, self._keys(sketch)
        claims.withdraw(url_id)
        self._learn(own or {})
        refusal = self._same(digest, now) or self._similar(sketch, keys, own, now)
        if refusal is None:
            number = claims.give(url_id, digest, sketch, None if own is None else own[THIS_PAGE])
            self._index.add(number, keys)
            return Claim(number)
        if refusal.duplicate_of is not None:
            claims.refuse(url_id, refusal.duplicate_of)
        return refusal

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

    def _same(self, digest: bytes, now: float) -> Claim | None:
        if self._threshold is None:
            return None
        holder = self._claims.url_of_digest.get(digest)
        if holder is not None:
            return Claim(duplicate_of=self._claims.of_url[holder].number)
        number = self._pages.duplicate_of(digest, now - self._keep_s)
        return None if number is None else Claim(duplicate_of=number)

    def _similar(
        self, sketch: Sketch | None, keys: list[bytes], own: Mapping[int, bytes] | None, now: float
    ) -> Claim | None:
        """Return the most similar page, if it is similar enough, or what is to be read first."""
        if not keys or sketch is None or self._threshold is None:
            return None
        alike = self._alike(sketch.sample, keys, self._threshold, now)
        if not alike:
            return None
        if own is None:
            unknown = [page.number for page in alike if page.own is None]
            return Claim(unread=(THIS_PAGE, *unknown[:MAX_UNREAD]))
        mine = own[THIS_PAGE]
        for page in alike:
            if page.own and len(page.own) == len(mine):
                similarity = estimated_similarity(mine, page.own)
                if similarity >= self._threshold:
                    return Claim(None, page.number, page.similarity, similarity)
        return None

    def _alike(
        self, sample: bytes, keys: list[bytes], threshold: float, now: float
    ) -> list[_Alike]:
        """Return the pages whose whole text is similar, the most similar ones first."""
        holders = {
            number: self._claims.url_of_number.get(number)
            for number in self._index.candidates(keys)
        }
        kept = [number for number, holder in holders.items() if holder is None]
        sketches = self._pages.sketches(kept, now - self._keep_s) if kept else {}
        alike = []
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
                alike.append(_Alike(number, similarity, own))
        return sorted(alike, key=lambda page: (-page.similarity, page.number))

    def _claimed(self, holder: int) -> tuple[bytes | None, bytes | None]:
        """Return the samples of a claimed page's whole text and of its own content."""
        claim = self._claims.of_url.get(holder)
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
