"""A table as Parquet: typed columns, in row groups of bounded size, compressed with Zstandard.

The columns of records have the types that all of their values have: of null, bool, int, float,
text, lists of one type, and objects with the same parts. What has no such type is JSON text.
"""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.rows import LISTS, MOMENTS, NUMBERS

ColumnType: TypeAlias = "str | tuple[ColumnType] | dict[str, ColumnType]"
"""That of scalars by its name, that of a list with the type of its items, that of an object."""
NOTHING: Final = "null"
MIXED: Final = "json"
LONG_INT: Final = "long int"
"""With one that a float cannot hold."""
ARROW_TYPES: Final = {NOTHING: pa.string(), MIXED: pa.string(), "str": pa.string()} | {
    "bool": pa.bool_(),
    "int": pa.int64(),
    LONG_INT: pa.int64(),
    "float": pa.float64(),
}
LARGEST_INT: Final = 2**63 - 1
LARGEST_IN_FLOAT: Final = 2**53
MOST_PARTS: Final = 64
"""An object with more keys is one that has data for keys."""
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
        return pa.array([_text(value) for value in values], type=type_, memory_pool=_MEMORY)
    if type_ == MOMENT:
        # pyarrow would load a large part of itself for casting texts.
        return pa.array([value and datetime.fromisoformat(value) for value in values], type=type_)
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
    columns: dict[str, ColumnType] = {}
    for row in map(_decode, rows):
        for name, value in row.items():
            columns[name] = _merge(columns.get(name, NOTHING), _infer(value))
    return pa.schema([(name, _arrow(type_)) for name, type_ in columns.items()])


def _infer(value: object) -> ColumnType:
    """Return the type of one value of JSON."""
    match value:
        case None:
            return NOTHING
        case list():
            item: ColumnType = NOTHING
            for part in value:
                item = _merge(item, _infer(part))
            return _list(item)
        case dict():
            return _struct({str(name): _infer(part) for name, part in value.items()})
        case int() if not isinstance(value, bool) and abs(value) > LARGEST_IN_FLOAT:
            return LONG_INT if abs(value) <= LARGEST_INT else MIXED
    return type(value).__name__


def _merge(one: ColumnType, other: ColumnType) -> ColumnType:
    """Return the type that holds the values of both."""
    match one, other:
        case (same, "null") | ("null", same):
            return same
        case (item,), (other_item,):
            return _list(_merge(item, other_item))
        case dict(), dict():
            names = one | other
            return _struct(
                {name: _merge(one.get(name, NOTHING), other.get(name, NOTHING)) for name in names}
            )
        case ("int", "float") | ("float", "int"):
            return "float"
        case ("int", "long int") | ("long int", "int"):
            return LONG_INT
    return one if one == other else MIXED


def _list(item: ColumnType) -> ColumnType:
    return MIXED if item == MIXED else (item,)


def _struct(parts: dict[str, ColumnType]) -> ColumnType:
    return parts if 0 < len(parts) <= MOST_PARTS and MIXED not in parts.values() else MIXED


def _arrow(type_: ColumnType) -> pa.DataType:
    if isinstance(type_, tuple):
        return pa.list_(_arrow(type_[0]))
    if isinstance(type_, dict):
        return pa.struct([(name, _arrow(part)) for name, part in type_.items()])
    return ARROW_TYPES[type_]
