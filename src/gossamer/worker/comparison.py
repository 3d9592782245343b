"""The second comparison of a page that looks similar to others: by the own content of all of them.

The store finds pages whose text is similar by their sketches. Their own contents are read here,
from the bodies, and only where the store does not know them yet.
"""

import asyncio
import time
from typing import Final

from gossamer.codings import CodingError, read_content
from gossamer.content import MAX_OWN_BYTES
from gossamer.errors import CrawlError
from gossamer.frontier.claim import THIS_PAGE, StoredBody
from gossamer.frontier.contract import FrontierClient
from gossamer.model import Response
from gossamer.stores.bodies.reader import BodyReader
from gossamer.worker.large_pages import LargePages

PATIENCE_S: Final = 5.0
"""How long to wait for a page that others have claimed and not settled, because its modules are
slow. Without its body the two are taken for different pages."""
_FIRST_PAUSE_S: Final = 0.01
_LONGEST_PAUSE_S: Final = 0.25


async def read_own_contents(
    store: FrontierClient,
    bodies: BodyReader,
    large_pages: LargePages,
    response: Response,
    unread: tuple[int, ...],
) -> dict[int, bytes]:
    """Return the samples of own contents: this page's, and those of others that can be read."""
    sample = large_pages.own_sample
    own = {THIS_PAGE: await sample(response.body, response.headers.get("content-type"))}
    if not own[THIS_PAGE]:
        return own  # it is similar to none of them
    for number in unread:
        if number != THIS_PAGE:
            stored = await _settled_body(store, number)
            body = await _first_bytes(bodies, stored)
            if body is not None:
                own[number] = await sample(body, stored.content_type)
    return own


async def _settled_body(store: FrontierClient, number: int) -> StoredBody:
    """Return the body of a page as soon as it is kept."""
    give_up_at, pause_s = time.monotonic() + PATIENCE_S, _FIRST_PAUSE_S
    while (stored := await store.stored_body(number)).claimed and time.monotonic() < give_up_at:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    return stored


async def _first_bytes(bodies: BodyReader, stored: StoredBody) -> bytes | None:
    if stored.content is None:
        return None
    try:
        return read_content(await bodies.read(stored.content)).first(MAX_OWN_BYTES)
    except (CodingError, CrawlError):  # it is damaged, which `verify` tells, or out of reach
        return None
