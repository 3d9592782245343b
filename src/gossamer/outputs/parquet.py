"""A table as Parquet: typed columns, in row groups of bounded size, compressed with Zstandard."""

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.rows import LISTS, MOMENTS, NUMBERS

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


GROUP_BYTES = 32 * 1024 * 1024
"""How much JSON goes into a row group."""
GROUP_ROWS = 100_000

MOMENT = pa.timestamp("ms", tz="UTC")

_MEMORY = pa.system_memory_pool()
"""That of the C library: the one that pyarrow prefers takes 35 ms for its first megabytes."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def write_parquet(spec: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, with the types that all of them have."""
    schema = _page_schema(spec) if spec.holds == "pages" else _record_schema(rows())
    with path.open("wb") as file:
        options = {"compression": "zstd", "memory_pool": _MEMORY}
        with pq.ParquetWriter(file, schema, **options) as writer:
            for group in _groups(rows()):
                writer.write_table(_table(group, schema))
        file.flush()
        os.fsync(file.fileno())


def _groups(rows: Iterator[bytes]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        group.append(_decode(row))
        size += len(row)
        if size >= GROUP_BYTES or len(group) >= GROUP_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    columns = [_column([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_string(type_):
        return pa.array([_text(one) for one in values], type=type_, memory_pool=_MEMORY)
    if type_ == MOMENT:
        # pyarrow would load a large part of itself for casting texts.
        return pa.array([one and datetime.fromisoformat(one) for one in values], type=type_)
    return pa.array(values, type=type_)


def _text(value: object) -> str | None:
    """Return what a column of text shows: a text as it is, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _page_schema(spec: OutputSpec) -> pa.Schema:
    def type_of(name: str) -> pa.DataType:
        if name in NUMBERS:
            return pa.int64()
        if name in MOMENTS:
            return MOMENT
        return pa.list_(pa.string()) if name in LISTS else pa.string()

    return pa.schema([(name, type_of(name)) for name in spec.fields])


def _record_schema(rows: Iterator[bytes]) -> pa.Schema:
    found: dict[str, ColumnType] = {}
    for row in map(_decode, rows):
        for name, value in row.items():
            found[name] = merge(found.get(name, NOTHING), infer(value))
    return pa.schema([(name, _arrow(one)) for name, one in found.items()])


_ARROW_SCALARS: Mapping[ColumnKind, pa.DataType] = {
    ColumnKind.NOTHING: pa.string(),
    ColumnKind.BOOL: pa.bool_(),
    ColumnKind.INT: pa.int64(),
    ColumnKind.LONG_INT: pa.int64(),
    ColumnKind.FLOAT: pa.float64(),
    ColumnKind.TEXT: pa.string(),
    ColumnKind.MIXED: pa.string(),
}


def _arrow(one: ColumnType) -> pa.DataType:
    if one.kind is ColumnKind.LIST:
        return pa.list_(_arrow(one.item or NOTHING))
    if one.kind is ColumnKind.STRUCT:
        return pa.struct([(name, _arrow(part)) for name, part in one.parts.items()])
    return _ARROW_SCALARS[one.kind]
