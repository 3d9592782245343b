"""Contents of pages as they are kept, and damaged ones."""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli  # type: ignore[import-untyped]  # it ships no types
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.download.body import CodingError
from gossamer.model import Exchange
from gossamer.stores.bodies import ContentPacker, PageContent, read_content

PAGE = b"<p>Gossamer is fine spider silk.</p>" * 3000

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.ZstdCompressor(1).compress,
    "br": lambda data: brotli.compress(data, quality=1),
    # Larger than the page at each step: kept as received all the same.
    "gzip, deflate": lambda data: zlib.compress(gzip.compress(data, 0), 0),
}
EXCHANGE = Exchange(
    b"GET /docs/15/sql-select.html HTTP/1.1\r\nHost: www.example.org\r\n"
    b"User-Agent: Gossamer/1.2.3 (+https://example.org/bot)\r\n"
    b"Accept: text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1\r\n"
    b"Accept-Encoding: gzip, deflate, br\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Tue, 17 Nov 2026 21:54:43 GMT\r\n"
    b"Content-Type: text/html; charset=utf-8\r\nContent-Length: 4821\r\n"
    b"Last-Modified: Mon, 09 Nov 2026 10:02:11 GMT\r\nConnection: keep-alive\r\n"
    b'ETag: "654caa13-12d5"\r\nAccept-Ranges: bytes\r\n\r\n',
    "192.0.2.1",
)


def packed(coding: str, body: bytes = PAGE) -> bytes:
    return ContentPacker().pack(body, EXCHANGE, coding=coding, wire_body=CODINGS[coding](body))


@pytest.mark.req("D10")
@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("body", [PAGE, b"x", bytes(range(256))], ids=["page", "short", "bytes"])
def test_what_was_received_comes_back_byte_for_byte(coding: str, body: bytes) -> None:
    kept = read_content(packed(coding, body))
    assert kept.body() == body
    assert kept.wire_body(kept.body()) == CODINGS[coding](body)
    assert kept.exchange() == EXCHANGE
    assert kept.first(10) == body[:10]


def test_nothing_at_all_is_an_empty_page_whatever_its_coding() -> None:
    kept = read_content(ContentPacker().pack(b"", coding="gzip", wire_body=b""))
    assert (kept.body(), kept.exchange()) == (b"", None)


@pytest.mark.req("D19")
@pytest.mark.parametrize("coding", ["", "gzip", "br", "zstd"])
def test_what_is_damaged_says_so(coding: str) -> None:
    whole = read_content(packed(coding))
    cut = PageContent(coding, whole.size, whole.packed[:-1], whole.packed_exchange)
    other = PageContent(coding, whole.size, b"\0" + whole.packed[1:], whole.packed_exchange[1:])
    short = PageContent(coding, whole.size + 1, whole.packed)
    for broken in (cut.body, other.body, other.exchange, short.body):
        with pytest.raises(CodingError):
            broken()
    with pytest.raises(CodingError, match="unknown"):
        PageContent("rot13", 1, b"x").body()


@pytest.mark.req("D19")
@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_in_place_of_a_content_are_only_damaged(data: bytes) -> None:
    with suppress(CodingError):
        assert isinstance(read_content(data).body(), bytes)


@pytest.mark.req("D19")
@pytest.mark.parametrize("coding", ["", "gzip", "br", "gzip, deflate"])
def test_a_forged_content_cannot_fill_the_memory(coding: str) -> None:
    bomb = read_content(packed(coding, bytes(50_000_000)))
    forged = PageContent(coding, 1000, bomb.packed)
    del bomb
    tracemalloc.start()
    try:
        with pytest.raises(CodingError):
            forged.body()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2_000_000


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=2000), st.binary(max_size=2000), st.none() | st.text(max_size=40))
def test_any_exchange_comes_back(request_: bytes, head: bytes, address: str | None) -> None:
    exchange = Exchange(request_, head, address)
    assert read_content(ContentPacker().pack(b"", exchange)).exchange() == exchange
