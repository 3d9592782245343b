"""Numbers formatted for people: 12,345 pages, 3.4 MB, 1m 05s, 1,234 pages/s.

They are rounded to fit into a column; `gossamer.config` has exact forms, which can be parsed.
"""

import math
from datetime import UTC, datetime

_SIZE_UNITS = ("kB", "MB", "GB", "TB", "PB")
_HOUR_S, _DAY_S = 3600, 86_400


def count(number: int) -> str:
    """Return 12,345."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Return `1 page` or `12,345 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def visited(pages: int, visits: int) -> str:
    """Return `12,345 pages`, and how many visits, if some were visited again."""
    again = f", {counted(visits, 'visit')}" if visits > pages else ""
    return counted(pages, "page") + again


def size(size_bytes: int) -> str:
    """Return 999 B, 3.4 MB, 50 MB or 1.2 GB: two or three digits in decimal units."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in _SIZE_UNITS:
        value /= 1000
        # 999.5 would be rounded to four digits.
        if value < 999.5:
            return f"{_digits(value)} {unit}"
    return f"{value:,.0f} {_SIZE_UNITS[-1]}"


def rate(per_second: float) -> str:
    """Return 1,234 or, if it is small, 4.2."""
    return _digits(per_second) if math.isfinite(per_second) else "-"


def span(seconds: float) -> str:
    """Return 0s, 45ms, 4.2s, 27s, 1m 05s, 2h 03m or 3d 04h."""
    if not math.isfinite(seconds):
        return "-"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms" if seconds >= 0.0005 else "0s"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f}s" if seconds < 9.95 else f"{whole}s"
    if whole < _HOUR_S:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < _DAY_S:
        return f"{whole // _HOUR_S}h {whole % _HOUR_S // 60:02d}m"
    return f"{whole // _DAY_S:,}d {whole % _DAY_S // _HOUR_S:02d}h"


def moment(seconds: float) -> str:
    """Return the local time, such as 2026-05-01 09:30:00."""
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{seconds}"


def _digits(value: float) -> str:
    """Return the number with one decimal below 10, unless it is 0, otherwise without."""
    if value < 0.05:
        return "0"
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"
