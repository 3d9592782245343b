"""Standard output: bytes, lines, columns, and what happens when nobody reads it any more.

`gossamer pages | head` ends quietly; a full disk does not.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from gossamer.display.outlet import printable, printable_json
from gossamer.model.errors import CrawlError

Record = TypeVar("Record", bound=msgspec.Struct)


def put(pieces: Iterable[bytes]) -> None:
    """Write the pieces until there are no more, or nobody to read them."""
    for piece in pieces:
        if not _write(piece):
            return
    _write(b"", flush=True)


async def put_stream(pieces: AsyncIterable[bytes]) -> None:
    """Write the pieces as they come, until there are no more, or nobody to read them."""
    async for piece in pieces:
        if not _write(piece):
            return
    _write(b"", flush=True)


def _write(piece: bytes, *, flush: bool = False) -> bool:
    """Write to standard output; False if nobody reads it any more."""
    try:
        sys.stdout.buffer.write(piece)
        if flush:
            sys.stdout.buffer.flush()
    except OSError as error:
        # Keep the interpreter from meeting the failure again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return False
        raise CrawlError(f"cannot write to standard output: {error.strerror}") from error
    return True


def as_line(text: str) -> bytes:
    """Return a line of output; what controls a terminal, or it has no character for, is escaped."""
    return f"{printable(text, None)}\n".encode(sys.stdout.encoding, "backslashreplace")


def as_json(record: msgspec.Struct) -> bytes:
    """Return a line of output with one JSON object."""
    return printable_json(msgspec.json.encode(record)) + b"\n"


def put_lines(lines: Iterable[str]) -> None:
    """Write lines of text."""
    put(map(as_line, lines))


def put_json(records: Iterable[msgspec.Struct]) -> None:
    """Write one JSON object a line."""
    put(map(as_json, records))


def put_record(record: Record, lines_of: Callable[[Record], Iterable[str]], *, json: bool) -> None:
    """Write a record, as one JSON object or as lines for people."""
    put([as_json(record)] if json else map(as_line, lines_of(record)))


def put_table(rows: Sequence[Sequence[str]]) -> None:
    """Write rows; in a terminal, what does not fit is wrapped within the last column."""
    if not sys.stdout.isatty():
        put_lines(columns(rows))
        return
    indent = sum(max(map(len, cells)) + 2 for cells in list(zip(*rows, strict=True))[:-1])
    room = max(20, shutil.get_terminal_size().columns - indent)
    wrapped: list[list[str]] = []
    for *cells, last in rows:
        first, *more = textwrap.wrap(last, room) or [""]
        wrapped.append([*cells, first])
        wrapped += [[*("" for _ in cells), line] for line in more]
    put_lines(columns(wrapped))


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> Iterator[str]:
    """Yield the rows with their cells below each other; some columns are aligned right."""
    aligned_right = set(right)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if number in aligned_right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def section(label: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines beside a label."""
    for number, line in enumerate(lines):
        yield f"  {label if number == 0 else '':<12}{line}".rstrip()
