"""The wording of a page: a number for its words, without digits and the words of its URL.

Of a calendar, every month of a year has the same words in every year, and of an error page for
every URL: such pages differ in digits, and in words of their own URL.
"""

from typing import Final

from xxhash import xxh3_64_intdigest

from gossamer.model import Url

MAX_CHARACTERS: Final = 20_000
"""The rest of a text is ignored: two pages that differ only there are rare."""
MAX_URL_CHARACTERS: Final = 200
MIN_WORDS: Final = 5
"""A page with fewer says nothing: it may be a picture."""

_DIGITS: Final = b"0123456789"
_LOWER: Final = bytes(
    ord(chr(code).lower()) if chr(code).isalpha() else ord(" ") for code in range(0x80)
) + bytes(range(0x80, 0x100))
"""Letters in lower case, and spaces for all other signs that are ASCII."""


def wording(text: str, url: Url) -> int:
    """Return a number that pages with the same words have in common; 0: too few to tell."""
    run = b" " + b" ".join(_words(text[:MAX_CHARACTERS])) + b" "
    for word in {*_words(url[:MAX_URL_CHARACTERS])}:
        run = run.replace(b" " + word + b" ", b" ")
    return xxh3_64_intdigest(run) if run.count(b" ") > MIN_WORDS else 0


def _words(text: str) -> list[bytes]:
    return text.encode("utf-8", "replace").translate(_LOWER, _DIGITS).split()
