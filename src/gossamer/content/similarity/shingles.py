"""The shingles of a text: every run of eight of its words.

Words are separated by white space. They consist of ASCII letters, in lower case, digits,
underscores and all characters that are not ASCII; ASCII punctuation is removed. Digits count,
because pages of a series often differ in nothing else. In scripts that are written without spaces,
every character is a word.

A text is a ring: after its last word comes its first. So every word is in eight shingles, and a
changed number at the end of a page weighs as much as one in the middle.
"""

import re
import struct
import sys
from functools import cache
from typing import Final

SHINGLE_WORDS: Final = 8

MAX_CHARACTERS: Final = 1_000_000
"""The rest of a text is ignored: a hostile one takes two hundred times its size."""

_LOWER: Final = bytes(range(256)).lower()
_ASCII: Final = [bytes([code]) for code in range(0x80)]
_IGNORED: Final = b"".join(
    sign for sign in _ASCII if not (sign.isalnum() or sign.isspace() or sign == b"_")
)
"""Punctuation and control characters."""

_UNSPACED_LEADS: Final = tuple(bytes([lead]) for lead in b"\xe0\xe1\xe3\xe4\xe5\xe6\xe7\xe8\xe9")
"""The first bytes, in UTF-8, of the characters that `_unspaced` finds, and of some others."""

_LANE_BYTES: Final = 8
_LANE_BITS: Final = 8 * _LANE_BYTES

# Runs of two, four and eight words are made by combining a run with the one before it, which is
# shifted a little, so that the order counts; what leaves its lane gets into the next one, which is
# of the same eight words.
_DOUBLINGS: Final = ((1, 11), (2, 7), (4, 13))

_AROUND: Final = SHINGLE_WORDS - 1
_WHOLE: Final = slice(None, -_AROUND) if sys.byteorder == "little" else slice(_AROUND, None)
"""The lanes with eight words in them: all but those of the first seven words."""


def words_of(text: str) -> list[bytes]:
    """Return the words of a text, in their order and normalised."""
    text = text[:MAX_CHARACTERS]
    encoded = _utf8(text)
    # Searching for a byte is much cheaper than searching for a character.
    if len(encoded) > len(text) and _may_be_unspaced(encoded):
        encoded = _utf8(_unspaced().sub(r" \1 ", text))
    return encoded.translate(_LOWER, _IGNORED).split()


def shingles_of(words: list[bytes]) -> memoryview:
    """Return a 64-bit hash for each run of eight words.

    There must be at least eight words, and there are as many hashes. All are computed at once, as
    lanes of one large number, which takes a fraction of the time of hashing each.
    """
    # Loaded on demand: rensa reserves a gigabyte of address space, though no memory.
    from rensa import RMinHash  # type: ignore[import-untyped]  # noqa: PLC0415  # no annotations

    ring = RMinHash.hash_token_sets((words,))[0]
    ring += ring[:_AROUND]
    lanes = int.from_bytes(struct.pack(f">{len(ring)}Q", *ring), "big")
    for distance, shift in _DOUBLINGS:
        lanes ^= lanes >> (distance * _LANE_BITS - shift)
    numbers = memoryview(lanes.to_bytes(len(ring) * _LANE_BYTES, sys.byteorder)).cast("Q")
    return numbers[_WHOLE]


@cache
def _unspaced() -> re.Pattern[str]:
    # Thai, Lao, Burmese, Khmer, kana, Han, with their punctuation. Compiled when a page has
    # any, because that takes longer than loading this module.
    return re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff])")


def _may_be_unspaced(encoded: bytes) -> bool:
    for lead in _UNSPACED_LEADS:  # noqa: SIM110  half the time of any()
        if lead in encoded:
            return True
    return False


def _utf8(text: str) -> bytes:
    # A page has no lone surrogates, but another text may.
    return text.encode("utf-8", "surrogatepass")
