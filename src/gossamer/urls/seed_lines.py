"""The lines of a file of seeds: `URL [DEPTH [SCORE]]`, separated by white space.

A dash stands for a depth or a score that is not given. Blank lines are skipped, and so is what
begins with a `#` at the start of a line or after white space.
"""

from collections.abc import Sequence

import msgspec

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown
from gossamer.urls.seeds import parse_seed

MAX_SEED_DEPTH = 1_000_000
MAX_SEED_SCORE = 100.0
NOT_GIVEN = "-"


class SeedLine(msgspec.Struct, frozen=True):
    """A seed of a file."""

    url: Url
    depth: int = 0
    """The depth at which it counts."""
    score: float | None = None
    """0 (first) to 100 (last); None: the scorer decides."""


def parse_seed_line(line: bytes) -> SeedLine | None:
    """Return the seed of a line, or None if it has none; a `UsageError` says what is wrong."""
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8") from error
    words = _without_comment(text.split())
    if not words:
        return None
    if len(words) > 3:
        raise UsageError(
            f"{shown(words[3])} is too much: write the URL, its depth and its score, with white "
            "space in between"
        )
    url, depth, score = (*words, NOT_GIVEN, NOT_GIVEN)[:3]
    return SeedLine(parse_seed(url), _depth(depth), _score(score))


def _without_comment(words: Sequence[str]) -> Sequence[str]:
    for at, word in enumerate(words):
        if word.startswith("#"):
            return words[:at]
    return words


def _depth(text: str) -> int:
    if text == NOT_GIVEN:
        return 0
    if text.isascii() and text.isdigit() and len(text) < 8 and int(text) <= MAX_SEED_DEPTH:
        return int(text)
    raise UsageError(f"the depth {shown(text)} is not a whole number from 0 to {MAX_SEED_DEPTH:,}")


def _score(text: str) -> float | None:
    if text == NOT_GIVEN:
        return None
    try:
        score = float(text)
    except ValueError:
        score = -1.0
    if 0.0 <= score <= MAX_SEED_SCORE:
        return score
    raise UsageError(f"the score {shown(text)} is not a number from 0 (first) to 100 (last)")
