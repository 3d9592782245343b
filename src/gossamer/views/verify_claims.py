"""The check of claims: what pages in progress have claimed, before they are settled."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from gossamer.frontier.claims import HeldClaim, Refusal, read_claim

DIGEST_BYTES = 16


class ClaimedUrl(NamedTuple):
    """A URL in progress with what is stored of its claim."""

    id: int
    url: str
    page: int | None
    """The page that it has already, if it is visited again."""
    claim: bytes


class ClaimCheck:
    """The claims of all URLs in progress, compared with the pages that there are."""

    def __init__(self, claimed: Iterable[ClaimedUrl], pages: Iterable[int], last_url: int) -> None:
        """Take the claims, the numbers of the pages that there are, and the id of the last URL."""
        self._claimed = list(claimed)
        self._pages = set(pages) if self._claimed else set()
        self._last_url = last_url

    def wrong(self) -> Iterator[str]:
        """Yield what is wrong with them."""
        claims: list[tuple[ClaimedUrl, HeldClaim]] = []
        refusals: list[tuple[ClaimedUrl, Refusal]] = []
        for one in self._claimed:
            try:
                claim, refusal = read_claim(one.claim)
            except msgspec.MsgspecError as error:
                yield f"the claim of {one.url} cannot be read: {error}"
                continue
            if claim is not None:
                claims.append((one, claim))
            if refusal is not None:
                refusals.append((one, refusal))
        taken: set[int] = set()
        for one, claim in claims:
            yield from self._wrong_claim(one, claim, taken)
            if not claim.again:
                taken.add(claim.number)
        for one, refusal in refusals:
            if not refusal.void and refusal.duplicate_of not in self._pages | taken:
                yield f"{one.url} repeats page {refusal.duplicate_of}, which nobody has"

    def _wrong_claim(self, one: ClaimedUrl, claim: HeldClaim, taken: set[int]) -> Iterator[str]:
        if claim.again and claim.number != one.page:
            yield f"{one.url} is visited again as page {claim.number}, and is page {one.page}"
        elif not claim.again and (claim.number in self._pages or claim.number in taken):
            yield f"{one.url} claims the number {claim.number}, which another page has"
        elif claim.number < 1 or len(claim.digest) != DIGEST_BYTES:
            yield f"{one.url} claims the number {claim.number} for a content of no digest"
        elif any(not 1 <= url_id <= self._last_url for url_id in claim.duplicates):
            yield f"a URL that is missing repeats {one.url}"
