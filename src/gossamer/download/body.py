"""The body of an answer, decoded while it arrives and never larger than the limit."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import brotli  # type: ignore[import-untyped]  # it ships no types
import zstandard

from gossamer.model import Cause

MAX_CODINGS = 2
"""More nested codings are a bomb and not a page."""

_PIECE_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_BITS = 31
_ZLIB_BITS = 15
_RAW_DEFLATE_BITS = -15
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_MAX_ZSTD_WINDOW = 8 * 1024 * 1024
_MAX_ZSTD_BLOCK = 128 * 1024


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


class Zstd:
    """The Zstandard format, RFC 8878, in a window of 8 MB at most (RFC 9659).

    There may be several frames; other data after them are ignored, as with gzip. The decompressor
    has no bound on what it returns, so it is given one block at a time, of at most 128 KiB.
    """

    def __init__(self) -> None:
        self.finished = False
        self._unread = b""
        self._stream: zstandard.ZstdDecompressionObj | None = None
        self._had_last_block = False

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what the data decode to."""
        data, start = self._unread + data, 0
        while (end := start + self._part_size(data, start)) <= len(data) and end > start:
            if self._stream is None:
                decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_ZSTD_WINDOW)
                self._stream, self.finished = decompressor.decompressobj(), False
            elif not self._had_last_block:
                self._had_last_block = bool(data[start] & 1)
            try:
                piece = self._stream.decompress(data[start:end])
            except zstandard.ZstdError as error:
                raise CodingError(str(error)) from error
            if piece:
                yield piece
            start = end
            if self._stream.eof:
                self.finished, self._stream, self._had_last_block = True, None, False
        self._unread = data[start:]

    def _part_size(self, data: bytes, start: int) -> int:
        """Return the size of the part that begins here: a header, a block or a checksum.

        It is 0 if that is not known yet, or there is nothing more to decode.
        """
        if self._stream is None:
            if not data[start : start + 4].startswith(_ZSTD_MAGIC[: len(data) - start]):
                if self.finished:
                    return 0
                raise CodingError("not a Zstandard frame")
            return 0 if len(data) < start + 5 else _zstd_header_size(data[start + 4])
        if self._had_last_block:
            return 4
        if len(data) < start + 3:
            return 0
        header = int.from_bytes(data[start : start + 3], "little")
        is_run, size = header & 6 == 2, header >> 3
        if size > _MAX_ZSTD_BLOCK:
            raise CodingError("a block is too large")
        return 4 if is_run else 3 + size


_DECODERS: dict[str, type[Decoder]] = {
    "br": Brotli,
    "deflate": Deflate,
    "gzip": Gzip,
    "x-gzip": Gzip,  # RFC 9110, section 8.4.1.3
    "zstd": Zstd,
}


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


def _zstd_header_size(descriptor: int) -> int:
    """Return the size of a frame's header by its descriptor (RFC 8878, section 3.1.1.1)."""
    is_single = descriptor >> 5 & 1
    content_size = (is_single, 2, 4, 8)[descriptor >> 6]
    return 5 + (1 - is_single) + (0, 1, 2, 4)[descriptor & 3] + content_size


def _starts_like_zlib(data: bytes) -> bool:
    return data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0  # RFC 1950, 2.2


class Body:
    """A buffer that decodes and keeps at most `limit` bytes, and at most one piece more."""

    def __init__(
        self, decoders: Sequence[Decoder], limit: int, coded_limit: int | None = None
    ) -> None:
        """Decode with these, outermost first.

        `coded_limit` bounds the bytes before the last decoder; by default it is `limit` as well.
        """
        self._decoders = decoders
        self._limit = limit
        self._coded_limit = limit if coded_limit is None else coded_limit
        self._received: list[bytes] = []
        self._pieces: list[bytes] = []
        self._over = False
        # The bytes received and those after each decoder. The limit applies to each: otherwise a
        # bomb inside a bomb could expand for ever and yield nothing at the last step.
        self._sizes = [0] * (len(decoders) + 1)

    @property
    def held(self) -> int:
        """How many bytes are kept so far, decoded and as they were received."""
        return self._sizes[-1] + (self._sizes[0] if self._decoders else 0)

    def feed(self, data: bytes) -> Cause | None:
        """Decode received bytes; return the reason to stop, if there is one."""
        if self._decoders:
            self._received.append(data)
        try:
            self._pieces.extend(self._decoded(data, 0))
        except CodingError:
            return Cause.BAD_CODING
        return Cause.BODY_TOO_LARGE if self._over else None

    def finish(self) -> Cause | None:
        """Return what is wrong with the complete body, if anything is."""
        # No bytes at all are an empty page, whatever its coding.
        if self._sizes[0] and not all(decoder.finished for decoder in self._decoders):
            return Cause.BAD_CODING
        return None

    def content(self) -> bytes:
        """Return the page, or its first `limit` bytes."""
        return b"".join(self._pieces)[: self._limit]

    def received(self) -> bytes:
        """Return the body as it was received, codings not undone; empty if it had none."""
        return b"".join(self._received)

    def _decoded(self, data: bytes, stage: int) -> Iterator[bytes]:
        self._sizes[stage] += len(data)
        is_decoded = stage == len(self._decoders)
        limit = self._limit if is_decoded else self._coded_limit
        self._over = self._over or self._sizes[stage] > limit
        if is_decoded:
            yield data
            return
        for piece in self._decoders[stage].decode(data):
            yield from self._decoded(piece, stage + 1)
            if self._over:
                return
