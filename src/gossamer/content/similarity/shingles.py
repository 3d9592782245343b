"""What of a text is compared: its words, and every run of eight of them.

A word is what stands between white space: ASCII letters, which count in lower case, digits,
underscores and characters beyond ASCII. ASCII punctuation does not count, wherever it stands.
Digits do: pages of a series often differ in nothing else. In scripts that are written without
spaces, every character is a word.

A text is a ring: after its last word comes its first. So every word is in eight shingles wherever
it stands, and a changed number at the end of a page weighs as much as one in its middle.
"""

import re
import struct
import sys
from functools import cache
from typing import Final

SHINGLE_WORDS: Final = 8

MAX_CHARACTERS: Final = 1_000_000
"""Only so much of a text is compared: a hostile one takes two hundred times its size."""

_LOWER: Final = bytes(range(256)).lower()
_ASCII: Final = [bytes([code]) for code in range(0x80)]
_IGNORED: Final = b"".join(
    sign for sign in _ASCII if not (sign.isalnum() or sign.isspace() or sign == b"_")
)
"""Punctuation, and what controls a terminal."""

_UNSPACED_LEADS: Final = tuple(bytes([lead]) for lead in b"\xe0\xe1\xe3\xe4\xe5\xe6\xe7\xe8\xe9")
"""The first bytes, in UTF-8, of the characters that `_unspaced` finds, and of some others."""

_LANE_BYTES: Final = 8
_LANE_BITS: Final = 8 * _LANE_BYTES

# Runs of two, four and eight words are made by putting a run beside the one that comes before it.
# That one is moved a little, so that order counts; what falls out of its lane falls into the
# next one, which is of the same eight words.
_DOUBLINGS: Final = ((1, 11), (2, 7), (4, 13))

_AROUND: Final = SHINGLE_WORDS - 1
_WHOLE: Final = slice(None, -_AROUND) if sys.byteorder == "little" else slice(_AROUND, None)
"""The lanes with eight words in them: all but those of the first seven words."""


def words_of(text: str) -> list[bytes]:
    """Return the words of a text that count, in their order and in their normal form."""
    text = text[:MAX_CHARACTERS]
    encoded = _utf8(text)
    # Looking for a byte takes next to nothing, looking for a character does not.
    if len(encoded) > len(text) and _may_be_unspaced(encoded):
        encoded = _utf8(_unspaced().sub(r" \1 ", text))
    return encoded.translate(_LOWER, _IGNORED).split()


def shingles_of(words: list[bytes]) -> memoryview:
    """Return a 64-bit number for each run of eight words, the same for the same words.

    There are as many as words, of which there must be eight. All are computed at once, as lanes of
    one large number, which takes a fraction of the time of hashing each.
    """
    # Not before it is needed: rensa reserves a gigabyte of addresses, though no memory.
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
    # Thai, Lao, Burmese, Khmer, kana, Han, with the punctuation that goes with them. Compiled when
    # a page has any: that takes longer than to load this module.
    return re.compile("([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff])")


def _may_be_unspaced(encoded: bytes) -> bool:
    for lead in _UNSPACED_LEADS:  # noqa: SIM110  half the time of any()
        if lead in encoded:
            return True
    return False


def _utf8(text: str) -> bytes:
    # Lone surrogates are in no page, but they may be in a text.
    return text.encode("utf-8", "surrogatepass")
