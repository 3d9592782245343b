"""The row of a page in a table: what each of the fields holds."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import takewhile
from types import MappingProxyType

import msgspec

from gossamer.model import Page
from gossamer.modules.stored_pages import ParsedParts
from gossamer.stores.url_record import Result

_encode_row = msgspec.json.Encoder().encode


def _moment(page: Page) -> str:
    moment = datetime.fromtimestamp(page.fetched_at, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def _headers(page: Page) -> dict[str, str]:
    """Return the header; the values of a name that is there several times are joined by commas."""
    values: dict[str, str] = {}
    for name, value in page.headers.fields:
        values[name] = f"{values[name]}, {value}" if name in values else value
    return values


FIELDS: Mapping[str, Callable[[Page], object]] = MappingProxyType(
    {
        "url": lambda page: page.url,
        "depth": lambda page: page.depth,
        "status": lambda page: page.status,
        "title": lambda page: page.title,
        "language": lambda page: page.language,
        "fetched_at": _moment,
        "text": lambda page: page.text,
        "content_type": lambda page: page.content_type,
        "encoding": lambda page: page.encoding,
        "content_usage": lambda page: page.content_usage,
        "bytes": lambda page: len(page.body),
        "address": lambda page: page.address,
        "found_on": lambda page: page.found_on,
        "redirected_from": lambda page: page.redirected_from,
        "main_text": lambda page: page.main_text,
        "markdown": lambda page: page.markdown,
        "links": lambda page: page.links,
        "headers": _headers,
        "metadata": lambda page: page.metadata,
    }
)
"""All but `id`, which a page may not have yet when its row is made: `numbered` adds it."""

LISTS = frozenset({"links", "redirected_from"})
NESTED = LISTS | {"headers", "metadata"}
FROM_STORE = frozenset({"found_on", "redirected_from"})
"""What only the store knows: such rows are made of kept pages, not where pages are fetched."""
NUMBERS = frozenset({"id", "depth", "status", "bytes"})
MOMENTS = frozenset({"fetched_at"})


def row_of(page: Page, fields: Sequence[str], text: str | None = None) -> bytes:
    """Return the row of a page: a JSON object of these fields, without its number.

    `text` is its text, for whoever has it already.
    """
    row = {
        name: text if text is not None and name == "text" else FIELDS[name](page)
        for name in fields
        if name != "id"
    }
    return _encode_row(row)


def numbered(row: bytes, number: int, fields: Sequence[str]) -> bytes:
    """Return a row of these fields with the number of its page in its place."""
    names = [*dict.fromkeys(fields)]
    if following := names[names.index("id") + 1 :]:
        start = _start_of(following[0], row, fields)
        return b'%b"id":%d,%b' % (row[:start], number, row[start:])
    return b'%b%b"id":%d}' % (row[:-1], b"," if len(names) > 1 else b"", number)


def _start_of(name: str, row: bytes, fields: Sequence[str]) -> int:
    """Return where in a row of these fields the one of this name begins."""
    if NESTED.isdisjoint(fields[: fields.index(name)]):
        return row.index(b'"%b":' % name.encode())  # a text before it has no such quotes
    # What is nested has names of its own.
    values = msgspec.json.decode(row, type=dict[str, msgspec.Raw])
    before = takewhile(lambda item: item[0] != name, values.items())
    return 1 + sum(len(f'"{field}":,') + len(memoryview(value)) for field, value in before)


def depth_in(row: bytes, fields: Sequence[str]) -> tuple[int, int]:
    """Return where in a row of these fields the depth stands, and how many bytes it takes."""
    start = _start_of("depth", row, fields) + len('"depth":')
    end = start
    while row[end : end + 1].isdigit():
        end += 1
    return start, end - start


def with_depth(row: bytes, depth: int, fields: Sequence[str]) -> bytes:
    """Return a row with another depth, of the same length: a depth only gets smaller."""
    start, width = depth_in(row, fields)
    return row[:start] + str(depth).encode().ljust(width) + row[start + width :]


class PrecomputedRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a result carries of its page."""

    fields: tuple[str, ...] = ()
    """Those of the row."""
    row: bytes = b""
    """The row of the page in a table; empty if no table is wished for."""
    parsed: ParsedParts | None = None
    """For outputs that are no tables."""


_encode_carried = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PrecomputedRow).decode


def pack_row(carried: PrecomputedRow) -> bytes:
    """Return it as it travels in `Settlement.row`."""
    return _encode_carried(carried)


def precomputed_row(result: Result) -> PrecomputedRow:
    """Return what a result carries; nothing if it was dropped."""
    return PrecomputedRow() if result.row is None else _decode(result.row)
