"""The similarity of pages, estimated from half a kilobyte for a page of any length.

The similarity of two pages is the Jaccard similarity of their sets of shingles: of all runs of
eight words that occur in one of them or in both, the share that occurs in both. Why eight words,
which words, and how good the estimate is: docs/duplicates.md.

Words are separated by white space. They consist of ASCII letters, in lower case, digits,
underscores and all characters that are not ASCII; ASCII punctuation is removed. Digits count,
because pages of a series often differ in nothing else. In scripts that are written without spaces,
every character is a word. A text is a ring: after its last word comes its first. So every word is
in eight shingles, and a changed number at the end of a page weighs as much as one in the middle.

In a random order of all shingles, the probability that two pages have the same first one is their
similarity. So the minima under many orders are a sample: the share in which two pages agree
estimates their similarity ("minwise hashing", Broder 1997). rensa finds 512 of them in one pass
(Dahlgaard, Knudsen, Thorup: "Fast similarity sketching", 2017). One byte of each is kept;
chance agreement in that byte is corrected for ("b-bit minwise hashing", Li, König 2010).

The minima are also grouped into bands of a few rows, the keys for locality-sensitive hashing (LSH).
Two pages of similarity s agree in a row with probability s, in a band of r rows with s^r, and in at
least one of b bands with 1 - (1 - s^r)^b: an S-shaped curve. A store looks up the bands and
compares the samples of pages that share one, so bands that are too narrow cost time, and bands that
are too wide miss duplicates.
"""

import re
import struct
import sys
from functools import cache, lru_cache
from typing import Final

import msgspec
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Url
from gossamer.model.names import ContentKind, Sketch

MIN_WORDS: Final = 50
"""Pages with fewer are not compared: they may be just a menu, and differ in their links."""

SAMPLE_BYTES: Final = 512

# Samples are stored: changing these makes those of older crawls useless.
_SEED: Final = 0
_MINIMA: Final = struct.Struct(f"<{SAMPLE_BYTES}I")
_MINIMUM_BYTES: Final = 4

_COUNTS: Final = (8, 16, 32, 64)
_MISSED: Final = 0.02
"""Of pairs exactly at the threshold, at most this many may share no band."""

_SELECTIVE_ROWS: Final = 4
"""Bands this wide are rarely shared by pages that have less than a third in common."""

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

MAX_SAMPLED_BYTES: Final = 500_000
"""The rest of a page is ignored: to find its main content takes up to 0.12 s for so much."""

MAX_TEMPLATE_CHARACTERS: Final = 20_000
"""The rest of a text is ignored: two pages that differ only there are rare."""
MAX_URL_CHARACTERS: Final = 200
MIN_TEMPLATE_WORDS: Final = 5
"""A page with fewer says nothing: it may be a picture."""

_DIGITS: Final = b"0123456789"
_LOWER_LETTERS: Final = bytes(
    ord(chr(code).lower()) if chr(code).isalpha() else ord(" ") for code in range(0x80)
) + bytes(range(0x80, 0x100))
"""Letters in lower case, and spaces for all other signs that are ASCII."""


class Banding(msgspec.Struct, frozen=True):
    """The number and width of bands."""

    count: int
    rows: int

    def meeting(self, similarity: float) -> float:
        """Return the probability that two pages of this similarity share a band."""
        return float(1 - (1 - similarity**self.rows) ** self.count)


def sketch(text: str, threshold: float) -> Sketch | None:
    """Return the sketch of a page with this text; None if the text is too short.

    The sample is the same for every threshold; the bands serve to find pages that are at least so
    similar. The result is the same on every machine.
    """
    minima = _packed_minima(text)
    if minima is None:
        return None
    banding = banding_for(threshold, SAMPLE_BYTES)
    width = banding.rows * _MINIMUM_BYTES
    starts = range(0, banding.count * width, width)
    bands = tuple([xxh3_64_digest(minima[start : start + width]) for start in starts])
    return Sketch(bands=bands, sample=minima[::_MINIMUM_BYTES])


def sample(text: str) -> bytes:
    """Return the sample of a text without the bands by which others find it; empty if too short."""
    return (_packed_minima(text) or b"")[::_MINIMUM_BYTES]


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


@lru_cache(maxsize=16)
def banding_for(threshold: float, minima: int) -> Banding:
    """Return the fewest and widest bands with which few pairs at the threshold are missed.

    Low thresholds need more bands: wide ones would never be shared, narrow ones by every page.
    """
    bandings = [_widest(threshold, count, minima // count) for count in _COUNTS]
    return next((banding for banding in bandings if banding.rows >= _SELECTIVE_ROWS), bandings[-1])


def _widest(threshold: float, count: int, max_rows: int) -> Banding:
    for rows in range(max_rows, 1, -1):
        banding = Banding(count, rows)
        if banding.meeting(threshold) >= 1 - _MISSED:
            return banding
    return Banding(count, 1)


def _packed_minima(text: str) -> bytes | None:
    words = words_of(text)
    return None if len(words) < MIN_WORDS else _MINIMA.pack(*_minima(shingles_of(words)))


def _minima(shingles: memoryview) -> list[int]:
    """Return `SAMPLE_BYTES` numbers of 32 bits, each the minimum of the shingles in some order."""
    from rensa import RMinHash  # noqa: PLC0415 -- as in `shingles_of`

    rows: list[list[int]] = RMinHash.digest_matrix_from_flat_token_hashes(
        shingles, (0, len(shingles)), SAMPLE_BYTES, _SEED
    ).to_rows()
    return rows[0]


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


def main_content_sample(body: bytes, content_type: str | None) -> bytes:
    """Return the sample of the main content of a page; empty if it has none, or too little."""
    return sample(main_content_text(body, content_type))


def main_content_text(body: bytes, content_type: str | None) -> str:
    """Return the text of the main content of a page; empty if it has none."""
    body, label = body[:MAX_SAMPLED_BYTES], parse_content_type(content_type)
    kind = kind_of(label, body)
    if not kind.is_page:
        return ""
    # This loads the HTML parser, which a process that leaves parsing to another does not need.
    from gossamer.content.html_tree import decode_markup  # noqa: PLC0415

    text, _ = decode_markup(body, label)
    return text if kind is ContentKind.TEXT else _main_text(text)


def _main_text(source: str) -> str:
    """Return the text of the element that holds most of the running text.

    It is found as the reader modes of browsers find it: by length and punctuation of the text, the
    share of links in it, and the names of elements and classes.
    """
    from gossamer.content.html_tree import INVISIBLE, parse_tree  # noqa: PLC0415 -- as above

    document = parse_tree(source)
    for element in document.iter_elements({*INVISIBLE, "template"}):
        element.decompose()
    content = document.main_content()
    return "" if content is None else content.text


def text_template_hash(text: str, url: Url) -> int:
    """Return a number that pages with the same words have in common; 0: too few to tell."""
    run = b" " + b" ".join(_template_words(text[:MAX_TEMPLATE_CHARACTERS])) + b" "
    for word in {*_template_words(url[:MAX_URL_CHARACTERS])}:
        run = run.replace(b" " + word + b" ", b" ")
    return xxh3_64_intdigest(run) if run.count(b" ") > MIN_TEMPLATE_WORDS else 0


def _template_words(text: str) -> list[bytes]:
    return text.encode("utf-8", "replace").translate(_LOWER_LETTERS, _DIGITS).split()
