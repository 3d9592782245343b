"""Sketches of pages for similarity: half a kilobyte for a page of any length.

In a random order of all shingles, the probability that two pages have the same first one is their
similarity. So the minima under many orders are a sample: the share in which two pages agree
estimates their similarity ("minwise hashing", Broder 1997). rensa finds 512 of them in one pass
(Dahlgaard, Knudsen, Thorup: "Fast similarity sketching", 2017). One byte of each is kept;
chance agreement in that byte is corrected for ("b-bit minwise hashing", Li, König 2010).
"""

import struct
from functools import lru_cache
from typing import Final

import msgspec
from xxhash import xxh3_64_digest

from gossamer.content.similarity.bands import Banding, banding_for
from gossamer.content.similarity.shingles import shingles_of, words_of

MIN_WORDS: Final = 50
"""Pages with fewer are not compared: they may be just a menu, and differ in their links."""

SAMPLE_BYTES: Final = 512

# Samples are stored: changing these makes those of older crawls useless.
_SEED: Final = 0
_MINIMA: Final = struct.Struct(f"<{SAMPLE_BYTES}I")
_MINIMUM_BYTES: Final = 4

_CHANCE: Final = 1 / 256
"""The probability that the bytes of different minima are equal."""


class Sketch(msgspec.Struct, frozen=True):
    """What is kept of a page to recognise similar ones."""

    bands: tuple[bytes, ...]
    """Eight bytes each. Pages that share one at the same position may be similar."""
    sample: bytes
    """What `estimated_similarity` compares; `SAMPLE_BYTES` long."""


def sketch(text: str, threshold: float) -> Sketch | None:
    """Return the sketch of a page with this text; None if the text is too short.

    The sample is the same for every threshold; the bands serve to find pages that are at least so
    similar. The result is the same on every machine.
    """
    words = words_of(text)
    if len(words) < MIN_WORDS:
        return None
    minima = _MINIMA.pack(*_minima(shingles_of(words)))
    banding = _banding(threshold)
    width = banding.rows * _MINIMUM_BYTES
    starts = range(0, banding.count * width, width)
    bands = tuple([xxh3_64_digest(minima[start : start + width]) for start in starts])
    return Sketch(bands=bands, sample=minima[::_MINIMUM_BYTES])


def estimated_similarity(one: bytes, other: bytes) -> float:
    """Return the estimated similarity of the pages of two samples, from 0 to 1.

    The standard deviation of the estimate is 0.013 at 0.9, and 0.022 at most.
    """
    size = len(one)
    if size != len(other):
        raise ValueError(f"samples of {size} and {len(other)} bytes cannot be compared")
    difference = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    agreement = difference.to_bytes(size, "big").count(0) / size
    return max(0.0, (agreement - _CHANCE) / (1 - _CHANCE))


def _minima(shingles: memoryview) -> list[int]:
    """Return `SAMPLE_BYTES` numbers of 32 bits, each the minimum of the shingles in some order."""
    # Loaded on demand: rensa reserves a gigabyte of address space, though no memory.
    from rensa import RMinHash  # type: ignore[import-untyped]  # noqa: PLC0415  # no annotations

    rows: list[list[int]] = RMinHash.digest_matrix_from_flat_token_hashes(
        shingles, (0, len(shingles)), SAMPLE_BYTES, _SEED
    ).to_rows()
    return rows[0]


@lru_cache(maxsize=16)
def _banding(threshold: float) -> Banding:
    return banding_for(threshold, SAMPLE_BYTES)
