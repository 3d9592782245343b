"""Durations and sizes with units: `500ms`, `1.5s`, `5m`, `1h`; `500kB`, `50MB`, `64KiB`.

Formatting and parsing are exact inverses: what is printed can be read back as the same number.
"""

import re
from decimal import Decimal

_SECONDS = {"h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}
_BYTES = {
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "TiB": 2**40,
    "GiB": 2**30,
    "MiB": 2**20,
    "KiB": 2**10,
    "B": 1,
}
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
    if match is None:
        return None
    units = {unit.lower(): factor for unit, factor in _BYTES.items()}
    factor = units.get(match[2].lower() or "b")
    if factor is None:
        return None
    exact = Decimal(match[1]) * factor
    return int(exact) if exact == int(exact) else None


def format_size(size_bytes: int) -> str:
    """Return the size in the largest unit that divides it, decimal units first."""
    if size_bytes == 0:
        return "0B"
    unit = next(unit for unit, factor in _BYTES.items() if size_bytes % factor == 0)
    return f"{size_bytes // _BYTES[unit]}{unit}"
