"""The kinds of options that are numbers, with and without a unit.

Durations are written `500ms`, `1.5s`, `5m`, `1h`; sizes `500kB`, `50MB`, `64KiB`. Formatting and
parsing are exact inverses: what is printed can be read back as the same number.
"""

import re
from decimal import Decimal

from gossamer.config.kinds import BadValueError, OptionKind

_SECONDS = {"h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_DECIMAL = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
_BYTES = _DECIMAL | {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1}
_BYTES_BY_LOWER_CASE = {unit.lower(): factor for unit, factor in _BYTES.items()}
# Twenty digits are enough for every useful value, and bound the work.
_QUANTITY = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?([A-Za-z]*)")


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
