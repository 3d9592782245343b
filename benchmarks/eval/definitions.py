"""What other definitions of similarity would do to real sites: why it is eight words, with digits.

A definition is good when the pages of a manual, which a reader calls different, stay below the
threshold. Pairs are found with wide nets and then compared exactly.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

import msgspec
from benchmarks.eval.corpus import ManualPage
from benchmarks.eval.exact import Shingles, shingles_of_words, similarity
from rensa import RMinHash  # type: ignore[import-untyped]  # it has no annotations

from gossamer.content.similarity import MIN_WORDS, words_of

_NUMBER = re.compile(rb"\d+")
_BANDS, _ROWS = 16, 8


class Definition(msgspec.Struct, frozen=True):
    """A way to say how alike two pages are."""

    length: int
    """The number of words of a shingle."""
    digits: bool = True
    """Whether one number differs from another."""
    frame: bool = True
    """Whether menus, header and footer count."""

    def __str__(self) -> str:
        parts = [f"{self.length} words"]
        parts += [] if self.digits else ["numbers alike"]
        parts += [] if self.frame else ["no frame"]
        return ", ".join(parts)

    def shingles(self, page: ManualPage) -> Shingles | None:
        """Return what is compared of the page, unless it is too short."""
        words = words_of(page.text if self.frame else page.core)
        if len(words) < MIN_WORDS:
            return None
        if not self.digits:
            words = [_NUMBER.sub(b"0", word) for word in words]
        return shingles_of_words(words, self.length)


DEFINITIONS = (
    Definition(3),
    Definition(3, frame=False),
    Definition(5),
    Definition(8),
    Definition(8, frame=False),
    Definition(8, digits=False),
    Definition(12),
)


def lost_pages(
    pages: Sequence[ManualPage], definition: Definition, thresholds: Sequence[float]
) -> list[int]:
    """Return for each threshold how many pages are like another one that has other words."""
    distinct = {tuple(words_of(page.text)): page for page in pages}.values()
    sets = [made for page in distinct if (made := definition.shingles(page)) is not None]
    likeness = [(similarity(sets[one], sets[two]), two) for one, two in _meeting(sets)]
    return [len({page for true, page in likeness if true >= least}) for least in thresholds]


def _meeting(sets: Sequence[Shingles]) -> set[tuple[int, int]]:
    """Return the pairs that share a band of minima: at 0.9 nearly all, at 0.85 99 %."""
    tokens = [[b" ".join(shingle) for shingle in one] for one in sets]
    index: defaultdict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for number, minima in enumerate(RMinHash.digests_from_token_sets(tokens, _BANDS * _ROWS, 1)):
        for band in range(_BANDS):
            index[band, tuple(minima[band * _ROWS : (band + 1) * _ROWS])].append(number)
    return {pair for numbers in index.values() for pair in combinations(numbers, 2)}
