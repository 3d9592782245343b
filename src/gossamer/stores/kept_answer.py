"""The answer that a page was made from, as far as a store has kept it."""

import msgspec

from gossamer.codings import CodingError, read_content
from gossamer.errors import CrawlError
from gossamer.model import Exchange
from gossamer.stores.bodies.reader import BodyReader


class KeptAnswer(msgspec.Struct, frozen=True):
    """The body of a page and its exchange."""

    body: bytes
    """Decoded."""
    wire_body: bytes
    """With its content codings, as it was received; the same if it had none."""
    exchange: Exchange | None


async def read_answer(bodies: BodyReader, stored: bytes, number: int) -> KeptAnswer:
    """Return what is kept of the answer for a page; CrawlError if it is damaged."""
    try:
        kept = read_content(await bodies.read(stored))
        body = kept.body()
        return KeptAnswer(body, kept.wire_body(body), kept.exchange())
    except CodingError as error:
        raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error
