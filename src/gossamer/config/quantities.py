"""The kinds of options that are numbers, with and without a unit."""

import re

from gossamer.config.kinds import BadValueError, OptionKind
from gossamer.config.units import format_duration, format_size, parse_duration, parse_size


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
