"""What memory has of URLs and pages, packed in columns, so that a large crawl is opened quickly.

Ids of URLs and numbers of pages are dense. What the frontier has in memory of 64 of them is stored
as one block, beside their rows and in the same commit: slices of its arrays. Rows are the truth: a
block that is missing, damaged or of another form is not used, and its rows are read instead.
"""

import math
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, Final
from zlib import crc32

from gossamer.stores.rows import KnownPage, KnownUrl, ReadableRows
from gossamer.stores.url_record import UrlState

BLOCK = 64
"""How many there are in a block, which begins at a multiple of it."""
VERSION: Final = 1
"""Of the form of all blocks; another one if `BLOCK` is."""
URL_COLUMNS: Final = "bBBBHIId"
"""Place, state, hops, flags, depth, host, page, and in some crawls the time at which it ended."""
PAGE_COLUMNS: Final = "IdH"
"""URL (0: there is no such page), when it was fetched, and the depth that the modules know."""
NO_QUEUE: Final = -1
URL_QUEUE: Final = -2
"""The place of a URL that waits for its score."""
HAS_LINKS, REDIRECT, SITEMAP = 1, 2, 4
"""The flags of a URL."""
_HEAD: Final = struct.Struct("<BBHI")
"""Version, number of columns, length of each, checksum of all."""


def queue_where(state: int, queue: int | None) -> int:
    """Return the place of a URL that is stored so: a priority queue, or one of those above."""
    if state == UrlState.UNSCORED:
        return URL_QUEUE
    return queue if state == UrlState.QUEUED and queue is not None else NO_QUEUE


def blocks_of(*numbers: Iterable[int]) -> dict[int, slice]:
    """Return the blocks in which these ids or numbers are, and where each is in an array."""
    return {block: place_of(block) for block in {number // BLOCK for number in chain(*numbers)}}


def place_of(block: int) -> slice:
    """Return where a block is in an array."""
    return slice(block * BLOCK, block * BLOCK + BLOCK)


def pack_block(columns: Sequence[Any]) -> bytes:
    """Return columns, which are arrays or bytes, as they are stored."""
    body = b"".join(columns)
    return _HEAD.pack(VERSION, len(columns), len(columns[0]), crc32(body)) + body


def unpack_block(packed: bytes, types: str) -> "list[array[Any]] | None":
    """Return columns that were stored, perhaps without the last one; None: they are of no use."""
    if len(packed) < _HEAD.size:
        return None
    version, count, length, checksum = _HEAD.unpack_from(packed)
    body = packed[_HEAD.size :]
    if version != VERSION or not 0 <= len(types) - count <= 1 or crc32(body) != checksum:
        return None
    columns, at = [], 0
    for kind in types[:count]:
        column = array(kind)
        end = at + length * column.itemsize
        column.frombytes(body[at:end])
        columns.append(column)
        at = end
    return columns if at == len(body) else None


def block_places(packed: bytes) -> bytes:
    """Return the first column of a block of URLs; nothing if it is of another version."""
    if packed[:1] != bytes([VERSION]) or len(packed) < _HEAD.size:
        return b""
    _, _, length, _ = _HEAD.unpack_from(packed)
    return packed[_HEAD.size : _HEAD.size + length]


def url_values(known: KnownUrl) -> tuple[int | float, ...]:
    """Return what a row has in the columns."""
    flags = HAS_LINKS * known.has_links | REDIRECT * bool(known.redirect)
    return (
        queue_where(known.state, known.queue),
        known.state,
        min(known.hops, 255),
        flags | SITEMAP * (known.sitemap_of is not None),
        min(known.depth, 65_535),
        known.host,
        known.page or 0,
        math.inf if known.finished_at is None else known.finished_at,
    )


def page_values(known: KnownPage) -> tuple[int | float, ...]:
    """Return what a page has in the columns."""
    return known.url, known.fetched_at, min(known.reported_depth, 65_535)


# -- whether they are as they must be ------------------------------------------------------------


def wrong_blocks(rows: ReadableRows) -> Iterator[str]:
    """Yield which blocks are not those of the rows, in words."""
    urls = ((known.id, url_values(known)) for known in rows.known_urls())
    pages = ((known.number, page_values(known)) for known in rows.known_pages())
    for what, types, blocks, values in (
        ("URLs", URL_COLUMNS, rows.url_blocks(), urls),
        ("pages", PAGE_COLUMNS, rows.page_blocks(), pages),
    ):
        following = next(blocks, None)
        for number, group in groupby(values, lambda entry: entry[0] // BLOCK):
            expected = dict(group)
            while following and following[0] < number:
                yield f"block {following[0]} of {what} is of none"
                following = next(blocks, None)
            if following is None or following[0] > number:
                yield f"block {number} of {what} is missing"
                continue
            if not _is_right(following[1], types, expected, number * BLOCK):
                yield f"block {number} of {what} does not have what their rows have"
            following = next(blocks, None)
        while following:
            yield f"block {following[0]} of {what} is of none"
            following = next(blocks, None)


def _is_right(
    packed: bytes, types: str, expected: Mapping[int, tuple[int | float, ...]], first: int
) -> bool:
    columns = unpack_block(packed, types)
    if columns is None:
        return False
    stored = dict(enumerate(zip(*columns, strict=True), first))
    stored.pop(0, None)
    if types == PAGE_COLUMNS:
        stored = {number: values for number, values in stored.items() if values[0]}
    return stored == {number: values[: len(columns)] for number, values in expected.items()}
