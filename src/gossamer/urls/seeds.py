"""Seeds: URLs typed by people, lines of seed files, and the keys by which a scope knows seeds."""

import re
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec
import xxhash

from gossamer.model import Url
from gossamer.model.errors import UsageError, shown
from gossamer.urls.normalise import MAX_URL_LENGTH, normalise

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_WITHOUT_HOST = re.compile(r"https?:[/\\]*(?:[?#]|\Z)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?:https?:[/\\]*|[/\\]{2,})[^/\\?#]+@", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(?:[/?#]|\Z)")


def parse_seed(text: str, role: str = "seed URL") -> Url:
    """Return the normal form of a typed URL, or raise `UsageError` that says what is wrong.

    `role` names the URL in the message.
    """
    url = normalise(text)
    if _CREDENTIALS.match(text.strip()):
        raise UsageError(_complaint_about_credentials(url, role))
    if url is None:
        raise UsageError(f"the {role} {_shown(text)} {_complaint(text.strip())}")
    return url


def _complaint_about_credentials(url: Url | None, role: str) -> str:
    """Say what is wrong without showing the password; a normal form has none."""
    meant = f"write {url} instead" if url else "leave out what stands before the @"
    return f"the {role} has a user name or a password in it, which is never sent: {meant}"


def _shown(text: str) -> str:
    """Return the text for a message, without what may be a password."""
    head, at, rest = text[:MAX_URL_LENGTH].rpartition("@")  # a password may have one
    if not at or ":" not in head:
        return shown(text)
    scheme, slashes, _ = head.partition("//")
    return shown(f"{scheme}{slashes}…@{rest}" if slashes else f"…@{rest}")


def _complaint(text: str) -> str:
    if not text:
        return "is empty; give an address such as http://example.org/"
    if len(text) > MAX_URL_LENGTH:
        return f"is too long: it has {len(text)} characters, at most {MAX_URL_LENGTH} are allowed"
    scheme = _SCHEME.match(text)
    if scheme is None or _HOST_AND_PORT.match(text):
        return _complaint_without_scheme(text)
    if scheme[1].lower() not in {"http", "https"}:
        return f"has the scheme {shown(scheme[1])}, but only http and https can be crawled"
    if _WITHOUT_HOST.match(text):
        return "has no host name"
    return "is not a valid URL; check its host name and port"


def _complaint_without_scheme(text: str) -> str:
    with_scheme = f"http://{text.lstrip('/')}"
    if normalise(with_scheme) is None:
        return "is not a URL; give an address such as http://example.org/"
    return f"has no scheme; did you mean {_shown(with_scheme)}?"


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


BUCKETS = 256
"""New keys are collected in this many parts, of which one at a time is sorted."""
SMALLEST_CUT = 1024


class SeedKeys:
    """A set of texts that cannot be listed, packed for other processes."""

    def __init__(self, packed: bytes = b"") -> None:
        keys = array("Q", packed)
        if sys.byteorder == "big":
            keys.byteswap()
        self._keys = keys

    def __contains__(self, text: str) -> bool:
        if not self._keys:
            return False
        keys, key = self._keys, xxhash.xxh3_64_intdigest(text.encode())
        at = bisect_left(keys, key)
        return at < len(keys) and keys[at] == key

    def __len__(self) -> int:
        return len(self._keys)


class SeedKeyCollector:
    """Collects the keys of seeds, in any order and any number of times."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(BUCKETS)]
        self._cut_at = [SMALLEST_CUT] * BUCKETS
        self._last = ""

    def add(self, text: str) -> None:
        """Add a key."""
        if text == self._last:  # most lists are sorted by host
            return
        self._last = text
        key = xxhash.xxh3_64_intdigest(text.encode())
        number = key >> 56
        bucket = self._buckets[number]
        bucket.append(key)
        if len(bucket) >= self._cut_at[number]:
            self._buckets[number] = each_once = _each_once(bucket)
            self._cut_at[number] = max(SMALLEST_CUT, 2 * len(each_once))

    def packed(self) -> bytes:
        """Return the set for `SeedKeys`."""
        keys = array("Q")
        for bucket in self._buckets:
            keys.extend(_each_once(bucket))
        if sys.byteorder == "big":
            keys.byteswap()
        return keys.tobytes()


def _each_once(keys: Iterable[int]) -> "array[int]":
    return array("Q", sorted(set(keys)))
