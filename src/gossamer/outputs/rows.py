"""The row of a page in a table: what each of the fields holds."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from gossamer.model import Page

_encode = msgspec.json.Encoder().encode

DEPTH = b'"depth":'
"""Where the depth stands in a row: a text before it has no such quotes, and what has names of its
own comes after all others."""


def _moment(page: Page) -> str:
    moment = datetime.fromtimestamp(page.fetched_at, UTC).isoformat(timespec="milliseconds")
    return moment.replace("+00:00", "Z")


def _headers(page: Page) -> dict[str, str]:
    """Return the header; the values of a name that is there several times are joined by commas."""
    found: dict[str, str] = {}
    for name, value in page.headers.fields:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


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
        "bytes": lambda page: len(page.body),
        "address": lambda page: page.address,
        "referrer": lambda page: page.referrer,
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
FROM_STORE = frozenset({"referrer", "redirected_from"})
"""What only the store knows: such rows are made of kept pages, not where pages are fetched."""
NUMBERS = frozenset({"id", "depth", "status", "bytes"})
MOMENTS = frozenset({"fetched_at"})


def row_of(page: Page, fields: Sequence[str], text: str | None = None) -> bytes:
    """Return the row of a page: a JSON object of these fields, without its number.

    `text` is its text, for whoever has it already.
    """
    ordered = sorted((one for one in fields if one != "id"), key=NESTED.__contains__)
    row = {
        name: text if text is not None and name == "text" else FIELDS[name](page)
        for name in ordered
    }
    return _encode(row)


def numbered(row: bytes, number: int) -> bytes:
    """Return a row with the number of its page."""
    return b'{"id":%d%s%s' % (number, b"," if len(row) > len(b"{}") else b"", row[1:])


def depth_in(row: bytes) -> tuple[int, int]:
    """Return where in a row the depth stands, and how many bytes it takes."""
    start = row.index(DEPTH) + len(DEPTH)
    end = start
    while row[end : end + 1].isdigit():
        end += 1
    return start, end - start


def with_depth(row: bytes, depth: int) -> bytes:
    """Return a row with another depth, of the same length: a depth only gets smaller."""
    start, width = depth_in(row)
    return row[:start] + _padded(depth, width) + row[start + width :]


def _padded(depth: int, width: int) -> bytes:
    return str(depth).encode().ljust(width)
