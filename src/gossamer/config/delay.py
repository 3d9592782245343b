"""The delay of a crawl: a fixed one, or one that follows how each host answers.

It is written `1s`, or `auto`, perhaps with the least pause that a host gets: `auto:250ms`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from gossamer.config.kinds import BadValueError, OptionKind
from gossamer.config.quantities import duration, format_duration

AUTO: Final = "auto"
_DAY_S = 86_400.0


class AutoDelay(msgspec.Struct, frozen=True):
    """A delay that follows how each host answers (`policy/auto_delay.py`)."""

    floor_s: float = 0.5
    """The least pause that a host gets, however quick it is."""


_FIXED = duration(0.0, _DAY_S)
_FLOOR = duration(0.001, _DAY_S)


def delay() -> OptionKind[float | AutoDelay]:
    """Return the kind of delays between two requests to a host."""
    return OptionKind(_take, _show, f"{_FIXED.metavar}|{AUTO}|{AUTO}:{_FLOOR.metavar}")


def least_delay_s(value: float | AutoDelay) -> float:
    """Return the least pause that a host gets."""
    return value.floor_s if isinstance(value, AutoDelay) else value


def _take(value: object) -> float | AutoDelay:
    match value:
        case AutoDelay(floor_s=floor_s):
            return AutoDelay(_FLOOR.take(floor_s))
        case Mapping():  # as it is stored
            return AutoDelay(_FLOOR.take(value.get("floor_s")))
        case str() if value.strip() == AUTO:
            return AutoDelay()
        case str() if value.strip().startswith(f"{AUTO}:"):
            return AutoDelay(_FLOOR.take(value.strip().removeprefix(f"{AUTO}:")))
    try:
        return _FIXED.take(value)
    except BadValueError as error:
        raise BadValueError(f"{error}, or {AUTO}") from error


def _show(value: float | AutoDelay) -> str:
    if isinstance(value, AutoDelay):
        return f"{AUTO}:{format_duration(value.floor_s)}"
    return format_duration(value)
