"""The kinds of values that options have: how each is read, checked and written."""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Final, Generic, Literal, TypeVar, cast, get_args

import msgspec

T = TypeVar("T")
W = TypeVar("W")

NONE = "none"
"""The word for an empty list, and for most options without a value."""
_MEANT = ": did you mean "
_CREDENTIALS = re.compile(r"//[^/]*@")
_SECONDS = {"h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_DECIMAL = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
_BYTES = _DECIMAL | {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}
_BYTES_BY_LOWER_CASE = {unit.lower(): factor for unit, factor in _BYTES.items()}
# Twenty digits are enough for every useful value, and bound the work.
_QUANTITY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?([A-Za-z]*)")


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


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is probably meant; None if none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 -- takes a while to load, for mistakes

    return next(iter(get_close_matches(name, list(known), n=1)), None)


def quoted(value: object) -> str:
    """Return the value for an error message: escaped, without passwords, and not too long."""
    shown = _CREDENTIALS.sub("//…@", repr(value))
    return shown if len(shown) <= 80 else f"{shown[:79]}…"


def choice(*words: str) -> OptionKind[str]:
    """Return the kind of a fixed set of words."""

    def take(value: object) -> str:
        if isinstance(value, str) and value.strip() in words:
            return value.strip()
        near = nearest(str(value), words)
        meant = f"{_MEANT}{near}?" if near else ""
        raise BadValueError(f"must be one of {', '.join(words)}{meant}")

    return OptionKind(take, metavar="|".join(words))


def _take_switch(value: object) -> bool:
    word = str(value).strip().lower()
    if word in {"true", "yes", "on", "1"}:
        return True
    if word in {"false", "no", "off", "0"}:
        return False
    raise BadValueError("must be true or false")


SWITCH = OptionKind(_take_switch, lambda value: str(value).lower())


def or_word(kind: OptionKind[T], word: str, meaning: W) -> OptionKind[T | W]:
    """Return the kind that also accepts this word, and the value that it means."""

    def take(value: object) -> T | W:
        if value is meaning or (isinstance(value, str) and value.strip() == word):
            return meaning
        try:
            return kind.take(value)
        except BadValueError as error:
            what, meant, near = str(error).partition(_MEANT)
            raise type(error)(f"{what}, or {word}{meant}{near}") from error

    def show(value: T | W) -> str:
        return word if value == meaning else kind.show(cast("T", value))

    return OptionKind(take, show, f"{kind.metavar}|{word}")


def or_none(kind: OptionKind[T], word: str = NONE) -> OptionKind[T | None]:
    """Return the kind that also accepts None, written as this word."""
    return or_word(kind, word, None)


def many(
    kind: OptionKind[T], metavar: str | None = None, *, commas: bool = False
) -> OptionKind[tuple[T, ...]]:
    """Return the kind of lists; in one text, spaces (and commas, if so) separate the values."""

    def take_item(value: object) -> T:
        try:
            return kind.take(value)
        except BadValueError as error:
            raise BadValueError(f"has {quoted(value)}, which {error}") from error

    def take(value: object) -> tuple[T, ...]:
        items = _items(value, commas=commas)
        return () if items == [NONE] else tuple(map(take_item, items))

    def show(value: tuple[T, ...]) -> str:
        return ("," if commas else " ").join(map(kind.show, value)) or NONE

    return OptionKind(take, show, metavar or kind.metavar)


def _items(value: object, *, commas: bool) -> list[object]:
    if isinstance(value, str):
        words: list[object] = [*(value.replace(",", " ") if commas else value).split()]
        if not words:  # a slip, not an empty list
            raise BadValueError(f"is empty: name at least one, or write {NONE}")
        return words
    if isinstance(value, Path):
        return [value]
    if not isinstance(value, list | tuple):
        raise BadValueError('must be a list of strings, such as ["one", "two"]')
    if not commas:
        return list(value)
    parts = (item.split(",") if isinstance(item, str) else [item] for item in value)
    return [part.strip() if isinstance(part, str) else part for item in parts for part in item]


def parse_duration(text: str) -> float | None:
    """Return the seconds, or None for a text that is not a duration; only 0 needs no unit."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = Decimal(match[1]), match[2]
    if unit in _SECONDS:
        return float(number * _SECONDS[unit])
    return 0.0 if not unit and number == 0 else None


def format_duration(seconds: float) -> str:
    """Return the duration in the largest unit that divides it: 5400 is `90m`, 1.5 is `1.5s`."""
    exact = Decimal(repr(float(seconds)))
    whole = ("h", "m", "s") if exact else ("s",)
    unit = next((unit for unit in whole if exact % _SECONDS[unit] == 0), None)
    unit = unit or ("s" if exact > 1 else "ms")
    return f"{(exact / _SECONDS[unit]).normalize():f}{unit}"


def parse_size(text: str) -> int | None:
    """Return the bytes, or None for a text that is not a size; a bare number counts bytes.

    kB is 1000 bytes and KiB is 1024, in capitals or not. A fraction of a byte is not a size.
    """
    match = _QUANTITY.fullmatch(text.strip())
    factor = _BYTES_BY_LOWER_CASE.get(match[2].lower() or "b") if match else None
    if match is None or factor is None:
        return None
    exact = Decimal(match[1]) * factor
    return int(exact) if exact == int(exact) else None


def format_size(size_bytes: int) -> str:
    """Return the size in the largest unit that divides it, decimal units first."""
    if size_bytes == 0:
        return "0B"
    unit = next(unit for unit, factor in _BYTES.items() if size_bytes % factor == 0)
    return f"{size_bytes // _BYTES[unit]}{unit}"


def integer(least: int, most: int) -> OptionKind[int]:
    """Return the kind of whole numbers in that range."""

    def take(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}", value.strip()):
            value = int(value)
        if type(value) is int and least <= value <= most:
            return value
        raise BadValueError(f"must be a whole number from {least} to {most}")

    return OptionKind(take, metavar="N")


def share() -> OptionKind[float]:
    """Return the kind of numbers above 0 and up to 1."""

    def take(value: object) -> float:
        try:
            number = float(value) if isinstance(value, str | int | float) else 0.0
        except ValueError:
            number = 0.0
        if 0 < number <= 1 and value is not True:
            return number
        raise BadValueError("must be a number above 0 and up to 1, such as 0.9")

    return OptionKind(take, metavar="N")


def duration(least_s: float, most_s: float) -> OptionKind[float]:
    """Return the kind of time spans in that range, in seconds."""

    def take(value: object) -> float:
        seconds = parse_duration(value) if isinstance(value, str) else value
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise BadValueError("is not a duration, such as 500ms, 2s, 5m")
        if not least_s <= seconds <= most_s or 0 < seconds < 0.001:
            shortest = "0s, or from 1ms" if least_s == 0 else format_duration(least_s)
            raise BadValueError(f"is out of range: write {shortest} to {format_duration(most_s)}")
        return float(seconds)

    return OptionKind(take, format_duration, "TIME")


def size(least_bytes: int, most_bytes: int) -> OptionKind[int]:
    """Return the kind of sizes in that range, in bytes."""

    def take(value: object) -> int:
        number = parse_size(value) if isinstance(value, str) else value
        if type(number) is not int:
            raise BadValueError("is not a size, such as 500kB, 50MB, 64KiB")
        if not least_bytes <= number <= most_bytes:
            least, most = format_size(least_bytes), format_size(most_bytes)
            raise BadValueError(f"is out of range: write {least} to {most}")
        return number

    return OptionKind(take, format_size, "SIZE")


def text(check: Callable[[str], str | None] = lambda _: None) -> OptionKind[str]:
    """Return the kind of texts on one line; `check` returns what is wrong with one, or None."""

    def take(value: object) -> str:
        line = str(value).strip() if isinstance(value, str | Path) else ""
        if not line or not line.isprintable():
            raise BadValueError("must be one line of printable text")
        if complaint := check(line):
            raise BadValueError(complaint)
        return line

    return OptionKind(take)


def for_header(value: str) -> str | None:
    """Return why a text cannot be sent in a header field, or None."""
    return None if value.isascii() else "is sent in a header, so it must be ASCII"


def web_address(value: str) -> str | None:
    """Return why a text cannot be the URL of a service, or None."""
    match = re.match(r"https?://[^\s/]", value)
    return None if match else "is not a web address: it must start with https:// or http://"


def host_alone(value: str) -> str | None:
    """Return why a text cannot name one host, or None."""
    is_more = any(sign in value for sign in "/?#*@")
    return "is not one host: write its name alone, such as www.example.org" if is_more else None


def sitemap(value: str) -> str | None:
    """Return why a text does not say which sitemaps to read, or None."""
    is_known = value in {"auto", "off"} or web_address(value) is None
    return None if is_known else "is neither auto nor off nor the URL of a sitemap"


def pattern(value: str) -> str | None:
    """Return why a text is not a regular expression, or None."""
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error}"
    return None


def _take_folder(value: object) -> Path:
    path = value if isinstance(value, Path) else Path(text().take(value))
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise BadValueError("is in the home directory of an unknown user") from error


FOLDER = OptionKind(_take_folder, metavar="PATH")
"""Paths; ~ is the home directory."""


def _take_body_place(value: object) -> str:
    place = str(value) if isinstance(value, Path) else text().take(value)
    if place.startswith("s3://"):
        return place.rstrip("/")
    if "://" in place or place.startswith("s3:"):
        raise BadValueError("is neither store nor a directory nor s3://BUCKET/PREFIX")
    return str(FOLDER.take(place))


BODY_PLACE = OptionKind(_take_body_place, metavar="store|DIR|s3://BUCKET/PREFIX")
"""Places for bodies: the store, a directory or an object store."""

AUTO: Final = "auto"
HOUR_S = 3600.0
YEAR_S = 8760 * HOUR_S


class AutoDelay(msgspec.Struct, frozen=True):
    """A delay that follows how each host answers (`policy/backoff.py`)."""

    floor_s: float = 0.5
    """The least pause that a host gets, however quick it is."""


_DELAY_FLOOR = duration(0.001, 24 * HOUR_S)
_PLAIN_DELAY = or_word(duration(0.0, 24 * HOUR_S), AUTO, AutoDelay())


def _take_delay(value: object) -> float | AutoDelay:
    match value:
        case AutoDelay(floor_s=floor_s) | {"floor_s": floor_s}:  # a table, as it is stored
            return AutoDelay(_DELAY_FLOOR.take(floor_s))
        case str() if value.strip().startswith(f"{AUTO}:"):
            return AutoDelay(_DELAY_FLOOR.take(value.strip().removeprefix(f"{AUTO}:")))
    return _PLAIN_DELAY.take(value)


def _show_delay(value: float | AutoDelay) -> str:
    if isinstance(value, AutoDelay):
        return f"{AUTO}:{format_duration(value.floor_s)}"
    return format_duration(value)


def least_delay_s(value: float | AutoDelay) -> float:
    """Return the least pause that a host gets."""
    return value.floor_s if isinstance(value, AutoDelay) else value


ScopeName = Literal["host", "domain", "prefix", "any"]
MANY = 10**12

SCOPE = choice(*get_args(ScopeName))
DEPTH = integer(0, 1_000_000)
DELAY = OptionKind(_take_delay, _show_delay, f"TIME|{AUTO}|{AUTO}:TIME")
HOST_CONNECTIONS = integer(1, 1000)
MAX_PAGES = integer(1, MANY)
MAX_BYTES = size(1, 10**15)
