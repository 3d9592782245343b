"""The content of a page as it is kept in a store: its body and its exchange, in one record.

A body that was received with a content coding is kept as it was received: it is compressed already,
and an archive of the crawl has the bytes of the server. Any other is compressed with Zstandard.
"""

from typing import Final

import msgspec
import zstandard

from gossamer.download.body import Body, CodingError, decoders_of
from gossamer.model import Exchange

MAX_EXCHANGE_BYTES: Final = 1_000_000
"""More than the limits of URLs and headers allow together."""

# Exchanges that are stored cannot be read with another text: a change is a new format of the store.
_USUAL: Final = b"""\
X-Powered-By: PHP/\r
X-XSS-Protection: 1; mode=block\r
Referrer-Policy: strict-origin-when-cross-origin\r
X-Content-Type-Options: nosniff\r
X-Frame-Options: SAMEORIGIN\r
Strict-Transport-Security: max-age=31536000; includeSubDomains; preload\r
Access-Control-Allow-Origin: *\r
Link: <https://>; rel="\r
Set-Cookie: ; path=/; Secure; HttpOnly; SameSite=Lax\r
Age: 0\r
Via: 1.1 varnish\r
X-Cache: HIT\r
Alt-Svc: h3=":443"; ma=86400\r
Pragma: no-cache\r
Expires: Thu, 19 Nov 1981 08:52:00 GMT\r
Cache-Control: no-store, no-cache, must-revalidate, private, public, max-age=3600\r
ETag: W/"\r
Accept-Ranges: bytes\r
Vary: Accept-Encoding\r
Transfer-Encoding: chunked\r
Connection: keep-alive\r
Last-Modified: Mon, Tue, Wed, Thu, Fri, Sat, Sun, Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec GMT\r
Content-Language: en\r
Content-Encoding: gzip\r
Content-Length: \r
Content-Type: text/html; charset=UTF-8\r
Content-Type: text/html; charset=utf-8\r
Server: cloudflare Apache nginx/1.\r
Date: \r
HTTP/1.1 200 OK\r
User-Agent: Gossamer/1.0.0 (+https://\r
Accept: text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1\r
Accept-Encoding: gzip, deflate, br\r
\r
Host: www..html HTTP/1.1\r
GET /"""  # noqa: E501 -- it is one line

_LEVEL: Final = -1
"""The fastest: 3 µs to a size of 210 bytes. zlib takes 15 µs to 170 bytes."""
_DICTIONARY: Final = zstandard.ZstdCompressionDict(_USUAL, dict_type=zstandard.DICT_TYPE_RAWCONTENT)

_encode_exchange = msgspec.msgpack.Encoder().encode
_decode_exchange = msgspec.msgpack.Decoder(tuple[bytes, bytes, str | None]).decode


class ExchangePacker:
    """Packs exchanges as they are kept; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(
            _LEVEL, dict_data=_DICTIONARY, write_content_size=False
        ).compress

    def pack(self, exchange: Exchange) -> bytes:
        """Return an exchange as it is kept."""
        return self._compress(_encode_exchange((exchange.request, exchange.head, exchange.address)))


def read_exchange(packed: bytes) -> Exchange:
    """Return a kept exchange; CodingError if it is damaged."""
    decompressor = zstandard.ZstdDecompressor(dict_data=_DICTIONARY)
    try:
        with decompressor.stream_reader(packed) as reader:
            return Exchange(*_decode_exchange(reader.read(MAX_EXCHANGE_BYTES)))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise CodingError(f"the exchange cannot be read: {error}") from error


PACKING_LEVEL: Final = 1
"""The fastest level that is worth it: docs/content-storage.md."""

MAX_CODED_BYTES: Final = 1_000_000_000
"""A forged body that comes to nothing in the end is not decoded any further."""

_PIECE_BYTES: Final = 64 * 1024


class KeptContent(msgspec.Struct, frozen=True, array_like=True):
    """The content of a page, as it lies in a store."""

    coding: str
    """The content codings of the body as it was received; empty: it had none, and is compressed
    with Zstandard."""
    size: int
    """How large the body is when it is decoded."""
    packed: bytes
    packed_exchange: bytes = b""

    def body(self) -> bytes:
        """Return the body, decoded; CodingError if it is damaged.

        No more is decoded than its size says, so a forged one cannot fill the memory.
        """
        body = self.first(self.size + 1)
        if len(body) != self.size:
            raise CodingError("it does not have its recorded size")
        return body

    def first(self, limit: int) -> bytes:
        """Return the body, decoded, or as much of it as a limit allows; CodingError."""
        if self.coding:
            return self._decoded(limit)
        try:
            with zstandard.ZstdDecompressor().stream_reader(self.packed) as reader:
                return reader.read(limit)
        except zstandard.ZstdError as error:
            raise CodingError(str(error)) from error

    def wire_body(self, body: bytes) -> bytes:
        """Return the body as it was received, given the decoded one."""
        return self.packed if self.coding else body

    def exchange(self) -> Exchange | None:
        """Return the exchange; None if none was kept; CodingError if it is damaged."""
        return read_exchange(self.packed_exchange) if self.packed_exchange else None

    def _decoded(self, limit: int) -> bytes:
        decoders = decoders_of(self.coding.split(", "))
        if decoders is None:
            raise CodingError(f"its coding {self.coding!r} is unknown")
        body = Body(decoders, limit, MAX_CODED_BYTES)
        cause = None
        for start in range(0, len(self.packed), _PIECE_BYTES):
            cause = body.feed(self.packed[start : start + _PIECE_BYTES])
            if cause is not None:
                break
        content = body.content()
        if len(content) < limit and (cause or body.finish()) is not None:
            raise CodingError(f"it is not what its coding {self.coding!r} says")
        return content


_encode_content = msgspec.msgpack.Encoder().encode
_decode_content = msgspec.msgpack.Decoder(KeptContent).decode


class ContentPacker:
    """Packs the contents of pages; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(level=PACKING_LEVEL).compress
        self._exchanges = ExchangePacker()

    def pack(
        self,
        body: bytes,
        exchange: Exchange | None = None,
        *,
        coding: str = "",
        wire_body: bytes = b"",
    ) -> bytes:
        """Return the content of a page as a store keeps it.

        `wire_body` is the body as it was received, where it had a coding.
        """
        packed = wire_body if coding else self._compress(body)
        packed_exchange = self._exchanges.pack(exchange) if exchange else b""
        return _encode_content(KeptContent(coding, len(body), packed, packed_exchange))


def read_content(packed: bytes) -> KeptContent:
    """Return the content of a kept page; CodingError if it is damaged."""
    try:
        return _decode_content(packed)
    except msgspec.MsgspecError as error:
        raise CodingError(f"it is no record of a content: {error}") from error
