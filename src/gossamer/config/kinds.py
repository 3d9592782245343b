"""The kinds of option values: how each is parsed, checked and written.

The message of a `BadValueError` is the rest of a sentence: the caller puts the option's name, the
value and its origin in front of it.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar, cast

import msgspec

T = TypeVar("T")
W = TypeVar("W", bound=str)

NONE = "none"
"""The word for an empty list, and for most options without a value."""
_MEANT = ": did you mean "
_CREDENTIALS = re.compile(r"//[^/]*@")


class BadValueError(ValueError):
    """What is wrong with a value and how to fix it, as the rest of a sentence."""


class HiddenValueError(BadValueError):
    """What is wrong with a value that no message quotes, because a secret may be in it."""


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
        near = nearest(str(value), words)
        meant = f"{_MEANT}{near}?" if near else ""
        raise BadValueError(f"must be one of {', '.join(words)}{meant}")

    return OptionKind(take, metavar="|".join(words))


def named(kind: OptionKind[T], metavar: str) -> OptionKind[T]:
    """Return the kind with another placeholder in the help."""
    return msgspec.structs.replace(kind, metavar=metavar)


def words(*known: str) -> "OptionKind[tuple[str, ...]]":
    """Return the kind of lists of such words; in one text, commas or spaces separate them."""
    kind = many(choice(*known), commas=True)
    return OptionKind(kind.take, lambda value: ",".join(value) or NONE, "KINDS")


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
            raise _with_word(error, word) from error

    return OptionKind(
        take, lambda value: word if value is None else kind.show(value), f"{kind.metavar}|{word}"
    )


def or_word(kind: OptionKind[T], word: W) -> OptionKind[T | W]:
    """Return the kind that also accepts this word, which stands for itself."""

    def take(value: object) -> T | W:
        if isinstance(value, str) and value.strip() == word:
            return word
        try:
            return kind.take(value)
        except BadValueError as error:
            raise _with_word(error, word) from error

    def show(value: T | W) -> str:
        return word if value == word else kind.show(cast("T", value))

    return OptionKind(take, show, f"{kind.metavar}|{word}")


def many(
    kind: OptionKind[T], *, commas: bool = False, metavar: str | None = None
) -> OptionKind[tuple[T, ...]]:
    """Return the kind of lists; in one text, spaces (and commas, if so) separate the values."""

    def take_one(value: object) -> T:
        try:
            return kind.take(value)
        except BadValueError as error:
            raise BadValueError(f"has {quoted(value)}, which {error}") from error

    def take(value: object) -> tuple[T, ...]:
        if isinstance(value, str):
            value = _words_of(value.replace(",", " ") if commas else value)
        elif isinstance(value, Path):
            value = [value]
        if not isinstance(value, list | tuple):
            raise BadValueError('must be a list of strings, such as ["one", "two"]')
        if list(value) == [NONE]:
            return ()
        if commas:
            value = [part for item in value for part in _parts(item)]
        return tuple(take_one(item) for item in value)

    def show(value: tuple[T, ...]) -> str:
        return " ".join(kind.show(item) for item in value) or NONE

    return OptionKind(take, show, metavar or kind.metavar)


def _with_word(error: BadValueError, word: str) -> BadValueError:
    """Return the error, of its own class, of a value that could also have been this word."""
    what, meant, near = str(error).partition(_MEANT)
    return type(error)(f"{what}, or {word}{meant}{near}")


def _words_of(value: str) -> list[str]:
    """Return what spaces separate; a text without any word is a slip, not an empty list."""
    if not (found := value.split()):
        raise BadValueError(f"is empty: name at least one, or write {NONE}")
    return found


def _parts(value: object) -> list[object]:
    """Return what commas separate in a text; anything else as it is."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else [value]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is probably meant; None if none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 -- takes a while to load, for mistakes

    return next(iter(get_close_matches(name, list(known), n=1)), None)


def quoted(value: object) -> str:
    """Return the value for an error message: escaped, without passwords, and not too long."""
    shown = _CREDENTIALS.sub("//…@", repr(value))
    return shown if len(shown) <= 80 else f"{shown[:79]}…"
