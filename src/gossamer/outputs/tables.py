"""Tables: one row for each page, or for each record that a module has extracted.

A row is a line of JSON. Where the file consists of such lines, it is its own journal until it is
finished, as `NAME.part`. Other formats are made from a compressed journal in the crawl's directory
when the table is finished, because columns and their types are known only then; the journal stays,
for a crawl that goes on.
"""

import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.model import Page
from gossamer.outputs.contract import (
    Output,
    OutputReport,
    OutputSpec,
    PositionLostError,
    words_about_expired,
)
from gossamer.outputs.journal import Journal, JournalPosition
from gossamer.outputs.publish import in_progress, place
from gossamer.outputs.rows import depth_in, numbered, precomputed_row, row_of, with_depth
from gossamer.stores.url_record import Result

ENTRY = struct.Struct("<qqi")


class ChangedDepth(msgspec.Struct, frozen=True, gc=False):
    """A row whose depth is not the one that it shows."""

    row: int
    offset: int
    """Where in the lines its depth stands."""
    shown: int
    depth: int


class DepthNotes:
    """The entries of one table."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._gathered = bytearray()

    def open(self, rows: int) -> None:
        """Cut it after so many rows; `PositionLostError` if it has fewer."""
        self._gathered.clear()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if os.fstat(descriptor).st_size < rows * ENTRY.size:
                raise PositionLostError
            os.ftruncate(descriptor, rows * ENTRY.size)
        finally:
            os.close(descriptor)

    def append(self, page_id: int, offset: int, depth: int) -> None:
        """Note the depth of a row, and where it stands."""
        self._gathered += ENTRY.pack(page_id, offset, depth)

    def flush(self) -> None:
        """Make the entries durable."""
        if self._gathered:
            with self._path.open("ab") as file:
                file.write(self._gathered)
                file.flush()
                os.fsync(file.fileno())
            self._gathered.clear()

    def changed(self, depths: Sequence[int]) -> Iterator[ChangedDepth]:
        """Yield the rows whose pages have come nearer since; `depths` goes by page numbers."""
        with self._path.open("rb") as file:
            row = 0
            while piece := file.read(ENTRY.size * 4096):
                for page_id, offset, shown in ENTRY.iter_unpack(piece):
                    if page_id < len(depths) and 0 <= depths[page_id] < shown:
                        yield ChangedDepth(row, offset, shown, depths[page_id])
                    row += 1


Convert = Callable[[OutputSpec, Callable[[], Iterator[bytes]], Path], None]
"""Writes a file, given the rows, as often as it wants to read them."""


_MODULE = b'"_module":'


class TablePosition(msgspec.Struct, frozen=True, kw_only=True):
    """How far a table is."""

    journal: JournalPosition = JournalPosition()
    expired: int = 0
    """How many pages have no row, because their bodies were not kept any more."""


class TableOutput:
    """What all tables have in common: the journal, and the rows that go into it."""

    add_alias = None

    def __init__(self, spec: OutputSpec, journal: Journal) -> None:
        self._spec = spec
        self._journal = journal
        self._is_of_pages = spec.holds == "pages"
        self._has_number = "id" in spec.fields
        self.follows_depths = self._is_of_pages and "depth" in spec.fields
        self._notes = DepthNotes(spec.folder / f"{spec.key}.depths")
        self._expired = 0

    def wants_page(self, result: Result) -> bool:
        """Tell whether the row of a page must be made."""
        return self._is_of_pages and result.page_id is not None and not self._row(result)

    def rewind(self, position: bytes | None) -> None:
        """Open the journal, and cut it."""
        found = TablePosition()
        if position is not None:
            found = msgspec.json.decode(position, type=TablePosition)
        if self.follows_depths:
            self._notes.open(found.journal.rows)
        self._journal.open(found.journal)
        self._expired = found.expired

    def write(self, result: Result, page: Page | None) -> None:
        """Add the records of a result, or the row of its page."""
        if not self._is_of_pages:
            for record in result.records or ():
                named = self._spec.names_modules
                self._journal.append(_named(record.data, record.source) if named else record.data)
            return
        if result.page_id is None:
            return
        row = self._row(result)
        if not row:
            if page is None:
                self._expired += 1
                return
            row = row_of(page, self._spec.fields)
        if self._has_number:
            row = numbered(row, result.page_id, self._spec.fields)
        if self.follows_depths:
            start, width = depth_in(row, self._spec.fields)
            depth = int(row[start : start + width])
            self._notes.append(result.page_id, self._journal.offset + start, depth)
        self._journal.append(row)

    def _row(self, result: Result) -> bytes:
        """Return the row that a result carries; empty if it has none with these fields."""
        carried = precomputed_row(result)
        return carried.row if carried.fields == self._spec.fields else b""

    def flush(self) -> bytes:
        """Make everything so far durable; return the position."""
        self._notes.flush()
        return msgspec.json.encode(
            TablePosition(journal=self._journal.flush(), expired=self._expired)
        )

    def close(self) -> None:
        """Leave it as it is."""
        self._journal.close()

    def _report(self) -> OutputReport:
        return OutputReport(
            target=self._spec.target,
            items=self._journal.position.rows,
            bytes=self._spec.path.stat().st_size,
            unit="row" if self._is_of_pages else "record",
            note=words_about_expired(self._expired),
        )


class LineTable(TableOutput):
    """A file of lines of JSON."""

    def __init__(self, spec: OutputSpec) -> None:
        super().__init__(spec, Journal(in_progress(spec.path), packed=False))

    def rewind(self, position: bytes | None) -> None:
        """Make it a file in progress again, and cut it."""
        target, part = self._spec.path, self._journal.path
        if target.exists() and part.exists() and target.samefile(part):
            target.unlink()  # we were killed while it got its name
        elif target.exists() and not part.exists():
            target.rename(part)
        super().rewind(position)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Put the depths right, in their places, and give the file its name."""
        self.flush()
        for one in self._notes.changed(depths) if self.follows_depths else ():
            piece = str(one.depth).encode().ljust(len(str(one.shown)))
            self._journal.overwrite(one.offset, piece)
        self._journal.flush()
        self._journal.close()
        place(self._journal.path, self._spec.path, replace=False)
        return self._report()


class ConvertedTable(TableOutput):
    """A file that is made of the whole journal at the end."""

    def __init__(self, spec: OutputSpec, convert: Convert) -> None:
        super().__init__(spec, Journal(spec.folder / f"{spec.key}.journal", packed=True))
        self._convert = convert
        self._is_ours = False

    def rewind(self, position: bytes | None) -> None:
        """Open the journal; a file that is there is ours, else we had not begun."""
        self._is_ours = self._spec.path.exists()
        super().rewind(position)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Make the file."""
        self.flush()
        self._journal.close()
        changed = {}
        if self.follows_depths:
            changed = {one.row: one.depth for one in self._notes.changed(depths)}
        part = in_progress(self._spec.path)
        part.unlink(missing_ok=True)  # it may be the file itself: we were killed as it got its name
        self._convert(self._spec, lambda: self._rows(changed), part)
        place(part, self._spec.path, replace=self._is_ours)
        return self._report()

    def _rows(self, depths: dict[int, int]) -> Iterator[bytes]:
        fields = self._spec.fields
        for number, row in enumerate(self._journal.lines()):
            depth = depths.get(number)
            yield row if depth is None else with_depth(row, depth, fields)


def _named(record: bytes, module: str) -> bytes:
    """Return a record with the module that it is from, instead of a field of that name."""
    if _MODULE in record:
        fields = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
        fields.pop("_module", None)
        record = msgspec.json.encode(fields)
    name = b"{" + _MODULE + msgspec.json.encode(module)
    return name + (b"," if len(record) > len(b"{}") else b"") + record[1:]


def json_lines(spec: OutputSpec) -> Output:
    """Make a file of lines of JSON."""
    return LineTable(spec)


def gzip_json_lines(spec: OutputSpec) -> Output:
    """Make a file of lines of JSON, compressed with gzip."""
    from gossamer.outputs.journal import write_gzip  # noqa: PLC0415

    return ConvertedTable(spec, write_gzip)


def zstd_json_lines(spec: OutputSpec) -> Output:
    """Make a file of lines of JSON, compressed with Zstandard."""
    from gossamer.outputs.journal import write_zstd  # noqa: PLC0415

    return ConvertedTable(spec, write_zstd)


def comma_separated(spec: OutputSpec) -> Output:
    """Make a CSV file."""
    return ConvertedTable(spec, write_csv)


def parquet(spec: OutputSpec) -> Output:
    """Make a Parquet file."""
    from gossamer.outputs.parquet import write_parquet  # noqa: PLC0415

    return ConvertedTable(spec, write_parquet)


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
