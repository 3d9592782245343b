"""Decoders of content codings, piece by piece, so that a bomb is noticed when it starts to expand.

libcurl could decode, but accepts a truncated stream as a complete page and refuses a gzip of
several members, which RFC 1952 section 2.2 allows. So zlib and brotli are used here.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types

MAX_CODINGS = 2
"""More nested codings are a bomb and not a page."""

_PIECE_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_BITS = 31
_ZLIB_BITS = 15
_RAW_DEFLATE_BITS = -15


class CodingError(Exception):
    """A body does not match its coding."""


class Decoder(Protocol):
    """A decoder of one coding."""

    finished: bool
    """Whether the coded data ended properly."""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to, in pieces of bounded size; raise `CodingError`."""


class Gzip:
    """The gzip format, one member or several; other data after them are ignored, as by browsers."""

    def __init__(self) -> None:
        self.finished = False
        self._stream = zlib.decompressobj(_GZIP_BITS)
        self._after_member = b""

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to."""
        while data:
            if self.finished:
                self._after_member = data = self._after_member + data
                if len(data) < len(_GZIP_MAGIC) or not data.startswith(_GZIP_MAGIC):
                    self._after_member = data[: len(_GZIP_MAGIC)]
                    return
                self._after_member = b""
                self._stream = zlib.decompressobj(_GZIP_BITS)
            yield from _inflate(self._stream, data)
            self.finished = self._stream.eof
            data = self._stream.unused_data


class Deflate:
    """The zlib format, as RFC 9110 says, or bare deflate, which many servers send."""

    def __init__(self) -> None:
        self.finished = False
        self._start = b""
        self._stream: zlib._Decompress | None = None

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to."""
        if self.finished:
            return
        if self._stream is None:
            self._start = data = self._start + data
            if len(data) < 2:
                return
            self._stream = zlib.decompressobj(
                _ZLIB_BITS if _starts_like_zlib(data) else _RAW_DEFLATE_BITS
            )
        yield from _inflate(self._stream, data)
        self.finished = self._stream.eof


class Brotli:
    """The brotli format, RFC 7932."""

    def __init__(self) -> None:
        self.finished = False
        self._stream = brotli.Decompressor()

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to."""
        while not self.finished:
            try:
                piece: bytes = self._stream.process(data, output_buffer_limit=_PIECE_BYTES)
            except brotli.error as error:
                raise CodingError(str(error)) from error
            self.finished = self._stream.is_finished()
            if not piece:
                return
            yield piece
            data = b""


_DECODERS: dict[str, type[Decoder]] = {
    "br": Brotli,
    "deflate": Deflate,
    "gzip": Gzip,
    "x-gzip": Gzip,  # RFC 9110, section 8.4.1.3
}

ACCEPT_ENCODING = "gzip, deflate, br"


def codings_in(values: Iterable[str]) -> tuple[str, ...]:
    """Return the codings that Content-Encoding fields name, in the order of their application.

    Names are in lower case; `identity` is left out.
    """
    if not values:
        return ()
    names = [name.strip().lower() for value in values for name in value.split(",")]
    return tuple([name for name in names if name not in ("", "identity")])


def decoders_of(names: Sequence[str]) -> list[Decoder] | None:
    """Return decoders for these codings, outermost first.

    None when there are too many or an unknown one.
    """
    if len(names) > MAX_CODINGS or not all(name in _DECODERS for name in names):
        return None
    return [_DECODERS[name]() for name in reversed(names)]


def _inflate(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    while True:
        try:
            piece = stream.decompress(data, _PIECE_BYTES)
        except zlib.error as error:
            raise CodingError(str(error)) from error
        if piece:
            yield piece
        data = stream.unconsumed_tail
        # After a full piece there may be more output, even if all input is used up.
        if stream.eof or not (data or len(piece) == _PIECE_BYTES):
            return


def _starts_like_zlib(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0  # RFC 1950, 2.2
