"""The kinds of option values: how each is parsed, checked and written.

The message of a `BadValueError` is the rest of a sentence: the caller puts the option's name, the
value and its origin in front of it.
"""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

NONE = "none"
"""The word for an empty list, and for most options without a value."""
_CREDENTIALS = re.compile(r"//[^/]*@")


class BadValueError(ValueError):
    """What is wrong with a value and how to fix it, as the rest of a sentence."""


class OptionKind(msgspec.Struct, Generic[T], frozen=True):
    """A kind of value."""

    take: Callable[[object], T]
    """Returns the value for a text or a Python value; raises `BadValueError`."""
    show: Callable[[T], str] = str
    """Returns the text form of a value, which `take` accepts."""
    metavar: str = "TEXT"
    """The placeholder in the help: `--delay TIME`."""


def choice(*words: str) -> OptionKind[str]:
    """Return the kind of a fixed set of words."""

    def take(value: object) -> str:
        if isinstance(value, str) and value.strip() in words:
            return value.strip()
        likely = nearest(str(value), words)
        raise BadValueError(f"must be one of {', '.join(words)}: the nearest is {likely}")

    return OptionKind(take, metavar="|".join(words))


def switch() -> OptionKind[bool]:
    """Return the kind of booleans, shown as in TOML."""

    def take(value: object) -> bool:
        said = str(value).strip().lower()
        if said in {"true", "yes", "on", "1"}:
            return True
        if said in {"false", "no", "off", "0"}:
            return False
        raise BadValueError("must be true or false")

    return OptionKind(take, lambda value: str(value).lower())


def or_none(kind: OptionKind[T], word: str = NONE) -> OptionKind[T | None]:
    """Return the kind that also accepts None, written as this word."""

    def take(value: object) -> T | None:
        if value is None or (isinstance(value, str) and value.strip() == word):
            return None
        try:
            return kind.take(value)
        except BadValueError as error:
            raise BadValueError(f"{error}, or {word}") from error

    return OptionKind(
        take, lambda value: word if value is None else kind.show(value), f"{kind.metavar}|{word}"
    )


def many(kind: OptionKind[T], *, commas: bool = False) -> OptionKind[tuple[T, ...]]:
    """Return the kind of lists; in one text, spaces (and commas, if so) separate the values."""

    def take_one(value: object) -> T:
        try:
            return kind.take(value)
        except BadValueError as error:
            raise BadValueError(f"has {quoted(value)}, which {error}") from error

    def take(value: object) -> tuple[T, ...]:
        if isinstance(value, str):
            value = (value.replace(",", " ") if commas else value).split()
        if not isinstance(value, list | tuple):
            raise BadValueError('must be a list of texts, such as ["one", "two"]')
        return () if list(value) == [NONE] else tuple(take_one(item) for item in value)

    return OptionKind(
        take, lambda value: " ".join(kind.show(item) for item in value) or NONE, kind.metavar
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the most similar known name, however different it is."""
    return get_close_matches(name, list(known), n=1, cutoff=0.0)[0]


def quoted(value: object) -> str:
    """Return the value for an error message: escaped, without passwords, and not too long."""
    shown = _CREDENTIALS.sub("//…@", repr(value))
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
