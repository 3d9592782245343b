"""A table as CSV: UTF-8, one header line, the columns in the order of their first appearance."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.outputs.contract import OutputSpec

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula."""

_decode = msgspec.json.Decoder(dict[str, object]).decode


def write_csv(spec: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows; what is nested stands in its cell as JSON."""
    columns = spec.fields if spec.holds == "pages" else columns_of(rows())
    safe = _safe if spec.csv_safe else str
    with path.open("w", encoding="utf-8", newline="") as file:
        if columns:
            file.write(_line([safe(name) for name in columns]))
        for row in map(_decode, rows()):
            file.write(_line([_cell(row.get(name), safe) for name in columns]))
        file.flush()
        os.fsync(file.fileno())


def columns_of(rows: Iterator[bytes]) -> tuple[str, ...]:
    """Return the names of all columns, in the order of their first appearance."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(_decode(row))
    return tuple(found)


def _line(cells: Sequence[str]) -> str:
    """Return the cells as a line of CSV (RFC 4180).

    The writer of the standard library looks at each character, which takes several times as long.
    """
    if list(cells) == [""]:
        return '""\n'  # an empty line would be no row
    return f"{','.join(map(_quoted, cells))}\n"


def _quoted(cell: str) -> str:
    if '"' in cell or "," in cell or "\n" in cell or "\r" in cell:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _cell(value: object, safe: Callable[[str], str]) -> str:
    match value:
        case None:
            return ""
        case str():
            return safe(value)
        case _:
            return msgspec.json.encode(value).decode()


def _safe(text: str) -> str:
    """Return a text that a spreadsheet takes for one."""
    return f"'{text}" if text.startswith(FORMULA) else text
