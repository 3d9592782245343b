"""Tables: one row for each page, or for each record that a module has extracted.

A row is a line of JSON. Where the file consists of such lines, it is its own journal until it is
finished, as `NAME.part`. Other formats are made from a compressed journal in the crawl's directory
when the table is finished, because columns and their types are known only then; the journal stays,
for a crawl that goes on.

Rows have the depths that pages had when they were fetched. Where they stand is noted, so that the
final ones can be put there when the table is finished.
"""

import gzip
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import zstandard

from gossamer.model import Page
from gossamer.model.errors import CrawlError
from gossamer.outputs.contract import OutputReport, OutputSpec, note_of_expired
from gossamer.outputs.journal import AppendFile, Journal, JournalPosition
from gossamer.outputs.rows import depth_in, numbered, precomputed_row, row_of, with_depth
from gossamer.stores.files import publish
from gossamer.stores.url_record import Result

DEPTH_NOTE: Final = struct.Struct("<qqi")
"""Of each row: the number of its page, where in the lines its depth stands, and that depth."""
PACKING_LEVEL: Final = 6
_MODULE: Final = b'"_module":'

Convert = Callable[[OutputSpec, Callable[[], Iterator[bytes]], Path], None]
"""Writes a file, given the rows, as often as it wants to read them."""

_decode = msgspec.json.Decoder(dict[str, object]).decode


class DepthChange(NamedTuple):
    """A row whose depth is not the final one."""

    row: int
    offset: int
    """Where in the lines its depth stands."""
    before: int
    depth: int


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
        self._depths = AppendFile(spec.folder / f"{spec.key}.depths")
        self._expired = 0

    def wants_page(self, result: Result) -> bool:
        """Tell whether the row of a page must be made."""
        return self._is_of_pages and result.page_id is not None and not self._row(result)

    def rewind(self, position: bytes | None) -> None:
        """Open the journal, and cut it."""
        at = TablePosition()
        if position is not None:
            at = msgspec.json.decode(position, type=TablePosition)
        if self.follows_depths:
            self._depths.open(at.journal.rows * DEPTH_NOTE.size)
        self._journal.open(at.journal)
        self._expired = at.expired

    def write(self, result: Result, page: Page | None) -> None:
        """Add the records of a result, or the row of its page."""
        if not self._is_of_pages:
            for record in result.records or ():
                is_named = self._spec.names_modules
                row = _with_module(record.data, record.source) if is_named else record.data
                self._journal.append(row)
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
            offset, depth = self._journal.offset + start, int(row[start : start + width])
            self._depths.append(DEPTH_NOTE.pack(result.page_id, offset, depth))
        self._journal.append(row)

    def flush(self) -> bytes:
        """Make everything so far durable; return the position."""
        self._depths.flush()
        at = TablePosition(journal=self._journal.flush(), expired=self._expired)
        return msgspec.json.encode(at)

    def close(self) -> None:
        """Leave it as it is."""
        self._depths.close()
        self._journal.close()

    def _row(self, result: Result) -> bytes:
        """Return the row that a result carries; empty if it has none with these fields."""
        carried = precomputed_row(result)
        return carried.row if carried.fields == self._spec.fields else b""

    def _changes(self, depths: Sequence[int]) -> Iterator[DepthChange]:
        """Yield the rows whose pages have come nearer since; `depths` goes by page numbers."""
        if not self.follows_depths:
            return
        with self._depths.path.open("rb") as file:
            row = 0
            while piece := file.read(DEPTH_NOTE.size * 4096):
                for page_id, offset, before in DEPTH_NOTE.iter_unpack(piece):
                    if page_id < len(depths) and 0 <= depths[page_id] < before:
                        yield DepthChange(row, offset, before, depths[page_id])
                    row += 1

    def _publish(self, *, replace: bool) -> OutputReport:
        """Give the file its name; `replace`: what has that name is ours."""
        part, target = self._spec.part, self._spec.path
        if replace:
            part.replace(target)
        else:
            try:
                publish(str(part), str(target))
            except FileExistsError as error:
                raise CrawlError(
                    f"{target} was made by somebody else meanwhile, and is left alone: move it "
                    f"away and go on with the crawl; what was written is in {part.name} until then"
                ) from error
        folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return OutputReport(
            target=self._spec.target,
            items=self._journal.position.rows,
            bytes=target.stat().st_size,
            unit="row" if self._is_of_pages else "record",
            note=note_of_expired(self._expired),
        )


class LineTable(TableOutput):
    """A file of lines of JSON."""

    def __init__(self, spec: OutputSpec) -> None:
        super().__init__(spec, Journal(spec.part, packed=False))

    def rewind(self, position: bytes | None) -> None:
        """Make it a file in progress again, and cut it."""
        target, part = self._spec.path, self._spec.part
        if target.exists() and part.exists() and target.samefile(part):
            target.unlink()  # we were killed while it got its name
        elif target.exists() and not part.exists():
            target.rename(part)
        super().rewind(position)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Put the final depths in their places, and give the file its name."""
        self.flush()
        for change in self._changes(depths):
            width = len(str(change.before))  # a depth only gets smaller
            self._journal.overwrite(change.offset, str(change.depth).encode().ljust(width))
        self.flush()
        self.close()
        return self._publish(replace=False)


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
        self.close()
        changed = {change.row: change.depth for change in self._changes(depths)}
        part = self._spec.part
        part.unlink(missing_ok=True)  # it may be the file itself: we were killed as it got its name
        self._convert(self._spec, lambda: self._rows(changed), part)
        return self._publish(replace=self._is_ours)

    def _rows(self, depths: dict[int, int]) -> Iterator[bytes]:
        for number, row in enumerate(self._journal.lines()):
            depth = depths.get(number)
            yield row if depth is None else with_depth(row, depth, self._spec.fields)


def _with_module(record: bytes, module: str) -> bytes:
    """Return a record with the module that it is from, instead of a field of that name."""
    if _MODULE in record:
        fields = msgspec.json.decode(record, type=dict[str, msgspec.Raw])
        fields.pop("_module", None)
        record = msgspec.json.encode(fields)
    name = b"{" + _MODULE + msgspec.json.encode(module)
    return name + (b"," if len(record) > len(b"{}") else b"") + record[1:]


def write_gzip(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with gzip."""
    with path.open("wb") as file:
        with gzip.GzipFile("", "wb", PACKING_LEVEL, file, mtime=0) as packed:
            packed.writelines(row + b"\n" for row in rows())
        file.flush()
        os.fsync(file.fileno())


def write_zstd(_: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows, compressed with Zstandard."""
    compressor = zstandard.ZstdCompressor(level=PACKING_LEVEL)
    with path.open("wb") as file:
        with compressor.stream_writer(file, closefd=False) as packed:
            for row in rows():
                packed.write(row + b"\n")
        file.flush()
        os.fsync(file.fileno())


FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula."""


def write_csv(spec: OutputSpec, rows: Callable[[], Iterator[bytes]], path: Path) -> None:
    """Write the rows; what is nested stands in its cell as JSON."""
    # The columns of records are in the order of their first appearance.
    columns = spec.fields if spec.holds == "pages" else _columns_of(rows())
    safe = _safe if spec.csv_safe else str
    with path.open("w", encoding="utf-8", newline="") as file:
        if columns:
            file.write(_line([safe(name) for name in columns]))
        for row in map(_decode, rows()):
            file.write(_line([_cell(row.get(name), safe) for name in columns]))
        file.flush()
        os.fsync(file.fileno())


def _columns_of(rows: Iterator[bytes]) -> Sequence[str]:
    names: dict[str, None] = {}
    for row in rows:
        names |= dict.fromkeys(_decode(row))
    return tuple(names)


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
    if value is None:
        return ""
    return safe(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def _safe(text: str) -> str:
    """Return a text that a spreadsheet takes for one."""
    return f"'{text}" if text.startswith(FORMULA) else text
