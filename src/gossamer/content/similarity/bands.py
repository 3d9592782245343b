"""The bands of a sketch: the keys for locality-sensitive hashing (LSH).

The minima of a page are grouped into bands of a few rows. Two pages of similarity s agree in a row
with probability s, in a band of r rows with s^r, and in at least one of b bands with
1 - (1 - s^r)^b: an S-shaped curve. A store looks up the bands and compares the samples of
pages that share one, so bands that are too narrow cost time, and bands that are too wide miss
duplicates.
"""

from typing import Final

import msgspec

_COUNTS: Final = (8, 16, 32, 64)
_MISSED: Final = 0.02
"""Of pairs exactly at the threshold, at most so many may share no band."""

_SELECTIVE_ROWS: Final = 4
"""Bands this wide are rarely shared by pages that have less than a third in common."""


class Banding(msgspec.Struct, frozen=True):
    """The number and width of bands."""

    count: int
    rows: int

    def meeting(self, similarity: float) -> float:
        """Return the probability that two pages of this similarity share a band."""
        return float(1 - (1 - similarity**self.rows) ** self.count)


def banding_for(threshold: float, minima: int) -> Banding:
    """Return the fewest and widest bands with which few pairs at the threshold are missed.

    Low thresholds need more bands: wide ones would never be shared, narrow ones by every page.
    """
    bandings = [_widest(threshold, count, minima // count) for count in _COUNTS]
    return next((one for one in bandings if one.rows >= _SELECTIVE_ROWS), bandings[-1])


def _widest(threshold: float, count: int, max_rows: int) -> Banding:
    for rows in range(max_rows, 1, -1):
        banding = Banding(count, rows)
        if banding.meeting(threshold) >= 1 - _MISSED:
            return banding
    return Banding(count, 1)
