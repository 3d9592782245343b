"""The claims of page numbers: 1, 2, 3 … without gaps, and no content twice.

A page gets its number before it is settled, because the modules see it first. Until then it is only
claimed: if the page is not kept after all, the next one gets the number, and URLs that were refused
as duplicates of that page must be visited again.
"""

import heapq
from collections.abc import Iterable

import msgspec

from gossamer.policy.similarity import Sketch


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
        self._claims: dict[int, HeldClaim] = {}
        self._by_number: dict[int, int] = {}
        self._holders: dict[bytes, int] = {}
        self._refusals: dict[int, Refusal] = {}
        self.changed: set[int] = set()
        """The URLs of which a claim or a refusal has changed since it was stored."""

    def all(self) -> Iterable[HeldClaim]:
        """Return every claim."""
        return self._claims.values()

    # -- stored with the lease of a URL ----------------------------------------------------------

    def pack(self, url_id: int) -> bytes | None:
        """Return what a URL has claimed, or why it was refused, as it is stored; None: neither."""
        claim, refusal = self._claims.get(url_id), self._refusals.get(url_id)
        return None if claim is None and refusal is None else _encode((claim, refusal))

    def resume(self, url_id: int, packed: bytes) -> None:
        """Take over what was stored."""
        claim, refusal = read_claim(packed)
        if claim is not None:
            self._claims[url_id] = claim
            if not claim.again:
                self._take(claim.number)
                self._by_number[claim.number] = url_id
                self._holders.setdefault(claim.digest, url_id)
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

    def held(self, url_id: int) -> HeldClaim | None:
        """Return the claim of a URL."""
        return self._claims.get(url_id)

    def holder_of(self, digest: bytes) -> int | None:
        """Return the URL in progress that has claimed a number for this content."""
        return self._holders.get(digest)

    def holder_of_number(self, number: int) -> int | None:
        """Return the URL that has claimed this number; None if the page is kept."""
        return self._by_number.get(number)

    def give(
        self, url_id: int, digest: bytes, sketch: Sketch | None, own: bytes | None = None
    ) -> int:
        """Give the page of a URL the smallest free number."""
        if self._free:
            number = heapq.heappop(self._free)
        else:
            number = self._next
            self._next += 1
        self._claims[url_id] = HeldClaim(number, digest, sketch, own, set())
        self.changed.add(url_id)
        self._by_number[number] = url_id
        self._holders.setdefault(digest, url_id)
        return number

    def give_again(self, url_id: int, number: int, digest: bytes, sketch: Sketch | None) -> None:
        """Let a URL that is visited again keep the number of its page."""
        self._claims[url_id] = HeldClaim(number, digest, sketch, None, set(), again=True)
        self.changed.add(url_id)

    def refuse(self, url_id: int, duplicate_of: int, holder: int | None) -> None:
        """Refuse the page of a URL, which repeats a kept one or one that `holder` has claimed."""
        if holder is not None:
            self._claims[holder].duplicates.add(url_id)
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
        if refusal is not None and refusal.holder in self._claims:
            self._claims[refusal.holder].duplicates.discard(url_id)
            self.changed.add(refusal.holder)
        if refusal is not None:
            self.changed.add(url_id)

    def drop(self, url_id: int) -> set[int]:
        """Drop the claim of a URL that yields no page; return the finished duplicates of it."""
        self.withdraw(url_id)
        claim = self.keep(url_id)
        if claim is None or claim.again:
            return set()
        heapq.heappush(self._free, claim.number)
        for duplicate in claim.duplicates & self._refusals.keys():
            self._refusals[duplicate].void = True
            self.changed.add(duplicate)
        return claim.duplicates - self._refusals.keys()

    def keep(self, url_id: int) -> HeldClaim | None:
        """End the claim of a URL, whose page is kept; return it."""
        claim = self._claims.pop(url_id, None)
        if claim is None:
            return None
        self.changed.add(url_id)
        if not claim.again:
            del self._by_number[claim.number]
            if self._holders.get(claim.digest) == url_id:
                del self._holders[claim.digest]
        return claim
