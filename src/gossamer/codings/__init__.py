"""The codings of bodies: undone while a body arrives, and when a kept one is read.

`decoders` knows gzip, deflate and brotli, piece by piece. A `Body` decodes what arrives and never
holds more than the limit. `kept` packs the body and the exchange of a page for a store: a body that
was received with a coding stays as it was received.
"""

from gossamer.codings.body import Body
from gossamer.codings.decoders import ACCEPT_ENCODING, CodingError, Decoder, codings_in, decoders_of
from gossamer.codings.kept import ContentPacker, KeptContent, read_content

__all__ = [
    "ACCEPT_ENCODING",
    "Body",
    "CodingError",
    "ContentPacker",
    "Decoder",
    "KeptContent",
    "codings_in",
    "decoders_of",
    "read_content",
]
