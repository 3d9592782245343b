"""How pages that may be alike find each other.

The minima of a page are assigned into bands of a few rows. Two pages of similarity s agree in a row
with probability s, in a band of r rows with s^r, and in at least one of b bands with
1 - (1 - s^r)^b: an S-shaped curve. A store looks up the bands and compares the samples of those
that meet, so bands that are too narrow cost time, and bands that are too wide lose duplicates.
"""

from typing import Final

import msgspec

_COUNTS: Final = (8, 16, 32, 64)
_MISSED: Final = 0.02
"""Of pairs exactly at the threshold, at most so many may never meet."""

_SELECTIVE_ROWS: Final = 4
"""Bands this wide keep pages apart that have less than a third in common."""


class Banding(msgspec.Struct, frozen=True):
    """How minima are assigned into bands."""

    count: int
    rows: int

    def meeting(self, similarity: float) -> float:
        """Return the probability that two pages of this similarity share a band."""
        return float(1 - (1 - similarity**self.rows) ** self.count)


def banding_for(threshold: float, minima: int) -> Banding:
    """Return the fewest bands, and the widest, through which few at the threshold are missed.

    Low thresholds need more bands: wide ones would never be shared, narrow ones by everybody.
    """
    bandings = [_widest(threshold, count, minima // count) for count in _COUNTS]
    return next((one for one in bandings if one.rows >= _SELECTIVE_ROWS), bandings[-1])


def _widest(threshold: float, count: int, max_rows: int) -> Banding:
    for rows in range(max_rows, 1, -1):
        banding = Banding(count, rows)
        if banding.meeting(threshold) >= 1 - _MISSED:
            return banding
    return Banding(count, 1)
