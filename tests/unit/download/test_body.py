"""Bodies and their codings, fed in pieces of any size."""

import gzip
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import brotli  # type: ignore[import-untyped]  # it ships no types
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.download.body import MAX_CODINGS, Body, codings_in, decoders_of
from gossamer.model import Cause

PAGE = b"<p>Gossamer is fine spider silk." * 500


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def compress_brotli(data: bytes) -> bytes:
    result: bytes = brotli.compress(data, quality=3)
    return result


def compress_zstd(data: bytes) -> bytes:
    """As a server does that streams: with a checksum, and without the size of the whole."""
    compressor = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True)
    return compressor.compress(data)


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "plain": ("", bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "two gzip members": ("gzip", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:])),
    "zlib": ("deflate", zlib.compress),
    "bare deflate": ("deflate", raw_deflate),
    "brotli": ("br", compress_brotli),
    "zstd": ("zstd", compress_zstd),
    "zstd without a checksum": ("zstd", zstandard.ZstdCompressor().compress),
    "two zstd frames": ("zstd", lambda data: compress_zstd(data[:99]) + compress_zstd(data[99:])),
    "zstd in gzip": ("zstd, gzip", lambda data: gzip.compress(compress_zstd(data))),
    "gzip in gzip": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "zlib in brotli": ("deflate , br", lambda data: compress_brotli(zlib.compress(data))),
}
CODED = {name: pair for name, pair in ENCODERS.items() if name not in ("plain", "identity")}


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def body_of(coding: str, limit: int = 500_000) -> Body:
    decoders = decoders_of(codings_in([coding]))
    assert decoders is not None
    return Body(decoders, limit)


def read(coding: str, data: bytes, *, limit: int = 500_000, size: int = 16_384) -> bytes | Cause:
    body = body_of(coding, limit)
    for piece in pieces(data, size):
        cause = body.feed(piece)
        if cause is not None:
            return cause
    return body.finish() or body.content()


@pytest.mark.req("D8")
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("size", [1, 2, 7, 16_384, 1_000_000])
def test_what_was_encoded_is_decoded(name: str, size: int) -> None:
    coding, encode = ENCODERS[name]
    assert read(coding, encode(PAGE), size=size) == PAGE


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(ENCODERS)), st.binary(max_size=5000), st.integers(1, 5000))
def test_any_bytes_survive_in_any_pieces(name: str, data: bytes, size: int) -> None:
    coding, encode = ENCODERS[name]
    assert read(coding, encode(data), size=size) == data


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 65_790])
def test_output_that_waits_inside_the_decoder_is_not_forgotten(name: str, length: int) -> None:
    # zlib may have used up all input and still hold a part of a run that fills a piece.
    coding, encode = ENCODERS[name]
    assert read(coding, encode(bytes(length))) == bytes(length)


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize("missing", [1, 3, 9, 40])
def test_a_truncated_stream_is_no_page(name: str, missing: int) -> None:
    coding, encode = CODED[name]
    data = b"".join(b"%d," % number for number in range(9999))
    assert read(coding, encode(data)[:-missing]) is Cause.BAD_CODING


@pytest.mark.req("D19")
@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(CODED)), st.binary(min_size=1, max_size=200))
def test_garbage_never_raises(name: str, garbage: bytes) -> None:
    coding, _ = CODED[name]
    assert isinstance(read(coding, garbage), bytes | Cause)


@pytest.mark.req("D19")
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
def test_a_page_that_is_falsely_called_compressed_is_refused(coding: str) -> None:
    assert read(coding, b"<html>plain after all</html>" * 9) is Cause.BAD_CODING


@pytest.mark.req("D19")
def test_a_wrong_checksum_is_refused() -> None:
    assert read("gzip", gzip.compress(PAGE)[:-8] + bytes(8)) is Cause.BAD_CODING
    assert read("zstd", compress_zstd(PAGE)[:-4] + bytes(4)) is Cause.BAD_CODING


@pytest.mark.parametrize("junk", [b"\0", b"\0" * 99, b"\x1f", b"junk"])
@pytest.mark.parametrize("size", [1, 16_384])
def test_junk_after_the_end_is_ignored_as_browsers_do(junk: bytes, size: int) -> None:
    assert read("gzip", gzip.compress(PAGE) + junk, size=size) == PAGE
    assert read("deflate", zlib.compress(PAGE) + junk, size=size) == PAGE
    assert read("zstd", compress_zstd(PAGE) + junk, size=size) == PAGE


@pytest.mark.parametrize("name", ENCODERS)
def test_no_bytes_at_all_are_an_empty_page(name: str) -> None:
    assert read(ENCODERS[name][0], b"") == b""


@pytest.mark.req("D8")
@pytest.mark.parametrize("name", ENCODERS)
def test_the_limit_holds_for_the_decoded_size(name: str) -> None:
    coding, encode = ENCODERS[name]
    assert read(coding, encode(PAGE), limit=len(PAGE)) == PAGE
    assert read(coding, encode(PAGE), limit=len(PAGE) - 1) is Cause.BODY_TOO_LARGE


def test_what_is_cut_off_leaves_the_first_bytes() -> None:
    body = body_of("gzip", limit=1000)
    assert body.feed(gzip.compress(PAGE)) is Cause.BODY_TOO_LARGE
    assert body.content() == PAGE[:1000]


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", CODED)
def test_a_bomb_is_stopped_before_it_fills_the_memory(name: str) -> None:
    coding, encode = CODED[name]
    bomb = encode(bytes(20_000_000))
    tracemalloc.start()
    try:
        assert read(coding, bomb, limit=500_000) is Cause.BODY_TOO_LARGE
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 2_000_000


@pytest.mark.req("D19")
def test_a_bomb_that_comes_to_nothing_in_the_end_is_stopped_too() -> None:
    # The inner stream ends at once; the outer would go on with junk for twenty megabytes.
    bomb = gzip.compress(gzip.compress(b"") + bytes(20_000_000))
    body = body_of("gzip, gzip")
    assert body.feed(bomb) is Cause.BODY_TOO_LARGE


@pytest.mark.req("D19")
def test_junk_without_end_is_stopped() -> None:
    assert read("gzip", gzip.compress(b"x") + bytes(600_000)) is Cause.BODY_TOO_LARGE
    assert read("zstd", compress_zstd(b"x") + bytes(600_000)) is Cause.BODY_TOO_LARGE


@pytest.mark.req("D19")
def test_zstd_may_take_a_window_of_8_mb_and_no_more() -> None:
    frame = compress_zstd(PAGE)
    for window_log, expected in ((23, PAGE), (24, Cause.BAD_CODING)):
        coded = frame[:5] + bytes([window_log - 10 << 3]) + frame[6:]
        assert read("zstd", coded) == expected


@pytest.mark.req("D19")
def test_a_zstd_block_larger_than_the_format_allows_is_refused() -> None:
    header = compress_zstd(PAGE)[:6]
    assert read("zstd", header + (1_000_000 << 3).to_bytes(3, "little")) is Cause.BAD_CODING


@pytest.mark.req("D19")
def test_zstd_blocks_of_nothing_take_linear_time() -> None:
    header = compress_zstd(PAGE)[:6]
    started = time.process_time()
    assert read("zstd", header + bytes(300_000), limit=10_000_000) is Cause.BAD_CODING
    assert time.process_time() - started < 2


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "values",
    [["foo"], ["compress"], ["gzip foo"], ["gzip, gzip, gzip"], ["gzip", "gzip", "br"], ["\x1b"]],
)
def test_unknown_codings_and_too_many_are_refused(values: list[str]) -> None:
    assert decoders_of(codings_in(values)) is None
    assert MAX_CODINGS == 2
