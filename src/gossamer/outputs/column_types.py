"""The type of a column, from all of its values: the narrowest one that holds each of them.

Values that have no such type in common are kept as JSON text. So is what is nested and has a mixed
part inside, because a part of it cannot be text where another is not.
"""

from enum import Enum, auto
from typing import Final

import msgspec

LARGEST_INT: Final = 2**63 - 1
LARGEST_IN_FLOAT: Final = 2**53
MOST_PARTS: Final = 64
"""An object with more keys is one that has data for keys."""


class ColumnKind(Enum):
    """The kinds of columns."""

    NOTHING = auto()
    """There was no value but null."""
    BOOL = auto()
    INT = auto()
    LONG_INT = auto()
    """With one that a float cannot hold."""
    FLOAT = auto()
    TEXT = auto()
    LIST = auto()
    STRUCT = auto()
    MIXED = auto()
    """JSON text."""


class ColumnType(msgspec.Struct, frozen=True):
    """The type of a column, or of a part of what is nested in one."""

    kind: ColumnKind
    item: "ColumnType | None" = None
    """That of the items of a list."""
    parts: dict[str, "ColumnType"] = {}
    """Those of the parts of a struct."""


NOTHING: Final = ColumnType(ColumnKind.NOTHING)
MIXED: Final = ColumnType(ColumnKind.MIXED)


_SCALARS: Final = {type(None): NOTHING, bool: ColumnType(ColumnKind.BOOL)} | {
    float: ColumnType(ColumnKind.FLOAT),
    str: ColumnType(ColumnKind.TEXT),
}


def infer(value: object) -> ColumnType:
    """Return the type of one value."""
    if isinstance(value, list):
        item = NOTHING
        for one in value:
            item = merge(item, infer(one))
        return _list(item)
    if isinstance(value, dict):
        return _struct({str(name): infer(one) for name, one in value.items()})
    if isinstance(value, int) and not isinstance(value, bool):
        return _int(abs(value))
    return _SCALARS[type(value)]


def merge(one: ColumnType, other: ColumnType) -> ColumnType:
    """Return the type that holds the values of both."""
    kinds = {one.kind, other.kind}
    if ColumnKind.NOTHING in kinds:
        return other if one.kind is ColumnKind.NOTHING else one
    if len(kinds) > 1:
        return ColumnType(_WIDER.get(frozenset(kinds), ColumnKind.MIXED))
    if one.kind is ColumnKind.LIST:
        return _list(merge(one.item or NOTHING, other.item or NOTHING))
    if one.kind is ColumnKind.STRUCT:
        names = dict.fromkeys([*one.parts, *other.parts])
        there = {
            name: (one.parts.get(name, NOTHING), other.parts.get(name, NOTHING)) for name in names
        }
        return _struct({name: merge(*types) for name, types in there.items()})
    return one


_WIDER: Final = {
    frozenset({ColumnKind.INT, ColumnKind.FLOAT}): ColumnKind.FLOAT,
    frozenset({ColumnKind.INT, ColumnKind.LONG_INT}): ColumnKind.LONG_INT,
}


def _int(size: int) -> ColumnType:
    if size > LARGEST_INT:
        return MIXED
    return ColumnType(ColumnKind.INT if size <= LARGEST_IN_FLOAT else ColumnKind.LONG_INT)


def _list(item: ColumnType) -> ColumnType:
    return MIXED if item.kind is ColumnKind.MIXED else ColumnType(ColumnKind.LIST, item)


def _struct(parts: dict[str, ColumnType]) -> ColumnType:
    mixed = any(part.kind is ColumnKind.MIXED for part in parts.values())
    return (
        MIXED
        if mixed or not 0 < len(parts) <= MOST_PARTS
        else ColumnType(ColumnKind.STRUCT, None, parts)
    )
