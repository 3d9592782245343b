"""The numbers of pages: 1, 2, 3 … without holes, whatever fails after one was given."""

import heapq
from collections.abc import Iterable


class PageNumbers:
    """Gives numbers to pages that are about to be kept, and takes back those that are not."""

    def __init__(self, last: int, gaps: Iterable[int]) -> None:
        self._next = last + 1
        self._free = list(gaps)
        heapq.heapify(self._free)
        self._given: dict[int, tuple[int, bytes]] = {}
        self._contents: dict[bytes, int] = {}

    @property
    def last(self) -> int:
        """The largest number that was given."""
        return self._next - 1

    @property
    def gaps(self) -> frozenset[int]:
        """The smaller numbers that are still to be given."""
        return frozenset(self._free)

    def holder_of(self, digest: bytes) -> int | None:
        """Return the number of a page of that content that is about to be kept."""
        return self._contents.get(digest)

    def give(self, url_id: int, digest: bytes) -> int:
        """Give the URL's page the smallest free number."""
        if self._free:
            number = heapq.heappop(self._free)
        else:
            number = self._next
            self._next += 1
        self._given[url_id] = (number, digest)
        self._contents[digest] = number
        return number

    def keep(self, url_id: int) -> None:
        """Note that the URL's page is kept: its number is used."""
        _, digest = self._given.pop(url_id)
        self._contents.pop(digest, None)

    def take_back(self, url_id: int) -> None:
        """Let another page have the number of one that is not kept, if it had one."""
        given = self._given.pop(url_id, None)
        if given is not None:
            number, digest = given
            self._contents.pop(digest, None)
            heapq.heappush(self._free, number)
