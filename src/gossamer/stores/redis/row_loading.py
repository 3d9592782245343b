"""Reading everything that is in memory of a crawl, in large pieces."""

from array import array
from collections.abc import Iterator
from typing import Final

import msgspec

from gossamer.stores.redis.connection import BlockingLink
from gossamer.stores.redis.row_changes import FETCHED_AT, NO_QUEUE, decode_page, queue_where
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.rows import HostRow, KnownPage, KnownUrl

AT_ONCE: Final = 8_000
"""How many rows are read in one round trip; divisible by 8."""


class _LoadedUrl(msgspec.Struct, array_like=True, gc=False):
    """A `UrlRow` as far as it is loaded."""

    id: int
    url: object
    key: bytes
    host: int
    state: int
    depth: int
    hops: int
    parent: object
    found_at: float
    given_score: object
    lastmod: object
    priority: object
    sitemap_of: str | None
    score: object
    queue: int | None
    outcome: object
    detail: object
    page: int | None
    duplicate_of: object
    similarity: object
    own_similarity: object
    finished_at: float | None
    attempts: int
    deaths: int
    redirect: bool


_decode_url: Final = msgspec.msgpack.Decoder(_LoadedUrl).decode
_decode_host: Final = msgspec.msgpack.Decoder(HostRow).decode


def read_fields(link: BlockingLink, key: bytes) -> dict[bytes, bytes]:
    """Return all fields of a hash."""
    fields: dict[bytes, bytes] = {}
    cursor = b"0"
    while True:
        ((cursor, stored),) = link.ask(("HSCAN", key, cursor, "COUNT", AT_ONCE))
        fields.update(zip(stored[::2], stored[1::2], strict=True))
        if cursor == b"0":
            return fields


def load_urls(
    link: BlockingLink, keys: RowKeys, last: int, queue_of: "array[int] | None" = None
) -> Iterator[KnownUrl]:
    """Yield what memory holds of every URL; note in which queue each is stored."""
    if queue_of is not None:
        queue_of.extend([NO_QUEUE] * (last + 1 - len(queue_of)))
    for start in range(0, last + 1, AT_ONCE):
        ids = range(start, min(start + AT_ONCE, last + 1))
        stored, bits = link.ask(
            ("HMGET", keys.urls, *ids),
            ("GETRANGE", keys.linked, start // 8, (start + AT_ONCE) // 8 - 1),
        )
        with_links = _set_bits(bits, start)
        for packed in stored:
            if packed is None:
                continue
            row = _decode_url(packed)
            if queue_of is not None:
                queue_of[row.id] = queue_where(row.state, row.queue)
            yield KnownUrl(
                row.id,
                row.key,
                row.host,
                row.state,
                row.depth,
                row.hops,
                row.page,
                row.finished_at,
                row.id in with_links,
                row.redirect,
                row.queue,
                row.sitemap_of,
            )


def _set_bits(bits: bytes, start: int) -> set[int]:
    """Return the numbers of the bits that are set; the first byte has the bits from `start` on."""
    return {
        start + 8 * place + bit
        for place, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte & 128 >> bit
    }


def load_pages(link: BlockingLink, keys: RowKeys, last: int) -> Iterator[KnownPage]:
    """Yield what memory holds of every page."""
    for _, packed in _numbered(link, keys.pages, last):
        page = decode_page(packed)
        yield KnownPage(page.number, page.url, page.digest, page.fetched_at, page.reported_depth)


def load_bands(
    link: BlockingLink, keys: RowKeys, last: int, since: float
) -> Iterator[tuple[int, bytes]]:
    """Yield the pages that have a sketch and were fetched after a moment, with its bands."""
    size = FETCHED_AT.size
    for number, packed in _numbered(link, keys.bands, last):
        (fetched_at,) = FETCHED_AT.unpack(packed[:size])
        if fetched_at > since:
            yield number, packed[size:]


def load_hosts(link: BlockingLink, keys: RowKeys, last: int) -> Iterator[HostRow]:
    """Yield all hosts."""
    for start in range(1, last + 1, AT_ONCE):
        ids = range(start, min(start + AT_ONCE, last + 1))
        rows, counts = link.ask(("HMGET", keys.hosts, *ids), ("HMGET", keys.host_urls, *ids))
        for packed, count in zip(rows, counts, strict=True):
            if packed is not None:
                yield read_host(packed, count)


def read_host(packed: bytes, count: bytes | int | None) -> HostRow:
    """Return a host as it was stored, with how many URLs of it are known by now."""
    row = _decode_host(packed)
    if count is not None:
        row.urls = int(count)
    return row


def _numbered(link: BlockingLink, key: bytes, last: int) -> Iterator[tuple[int, bytes]]:
    for start in range(1, last + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, last + 1))
        (stored,) = link.ask(("HMGET", key, *numbers))
        for number, packed in zip(numbers, stored, strict=True):
            if packed is not None:
                yield number, packed
