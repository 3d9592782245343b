"""An exchange as it is kept: less than half of its size, since most of it is the same everywhere.

General compression hardly helps with texts this short. So the compressor is given what requests and
headers usually say, a dictionary, as if it had seen that before.
"""

from typing import Final

import msgspec
import zstandard

from gossamer.codings.decoders import CodingError
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

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[bytes, bytes, str | None]).decode


class ExchangePacker:
    """Packs exchanges as they are kept; for one thread."""

    def __init__(self) -> None:
        self._compress = zstandard.ZstdCompressor(
            _LEVEL, dict_data=_DICTIONARY, write_content_size=False
        ).compress

    def pack(self, exchange: Exchange) -> bytes:
        """Return an exchange as it is kept."""
        return self._compress(_encode((exchange.request, exchange.head, exchange.address)))


def read_exchange(packed: bytes) -> Exchange:
    """Return a kept exchange; CodingError if it is damaged."""
    decompressor = zstandard.ZstdDecompressor(dict_data=_DICTIONARY)
    try:
        with decompressor.stream_reader(packed) as reader:
            return Exchange(*_decode(reader.read(MAX_EXCHANGE_BYTES)))
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise CodingError(f"the exchange cannot be read: {error}") from error
