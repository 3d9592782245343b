"""Large bodies in Redis: a process that has joined writes its own to keys of the crawl.

A key runs out, until the commit that has the settlement of its page takes that off. So a body whose
page is not settled, because a worker was killed or its lease was lost, goes by itself. What is kept
with the page is a reference, like that to a segment: it names the key in place of a file.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import xxhash

from gossamer.stores.bodies import BodyReference, body_name
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import Command
from gossamer.stores.redis.message_queues import AsyncLink
from gossamer.stores.redis.row_keys import UNSETTLED_S, RowKeys

LARGE_BYTES: Final = 16_384
"""How large a body is, packed, that goes its own way; others are part of the settlement.

The way costs a command and a key, and the commit one EXISTS and one PERSIST more: 50 to 77 µs for a
page with 4 kB. With 45 kB it saves 14 to 17 % of the CPU of a crawl, for the frontier does not take
them from one list to put them into the rows. To the frontier of its own command a worker has a
socket, and it saves nothing there, at 45 kB or at 200 kB: so its settlements carry all bodies."""


class RedisBodies:
    """Writes and reads bodies for all pages of a process."""

    def __init__(
        self,
        address: RedisAddress,
        keys: RowKeys,
        attach: Callable[[Command], None] | None = None,
    ) -> None:
        """Prepare; who works with the crawl says already when the server is away.

        `attach` has a command carried out before what is said to the frontier next; None: nothing
        is written, as the process has not joined.
        """
        self._attach = attach
        self._link = AsyncLink(address, keys, lambda _: None)
        self._keys = keys
        self._turn = asyncio.Lock()

    async def write(
        self, content: bytes, url_id: int, lease: int, fetched_at: float, digest: bytes
    ) -> bytes:
        """Write a large content; return the reference to it, packed, and any other as it is.

        It is there before the settlement is. If it is sent again, after a connection was lost, that
        changes nothing: the body may be kept by then.
        """
        if self._attach is None or len(content) < LARGE_BYTES:
            return content
        checksum = xxhash.xxh3_64_intdigest(content)
        name = f"{url_id}:{lease}:{checksum:016x}"
        self._attach(("SET", self._keys.body(name), content, "NX", "EX", UNSETTLED_S))
        return BodyReference(name, 0, len(content), checksum).pack()

    def discard(self, stored: bytes) -> None:
        """Have a body that is not kept go sooner.

        Only one that runs out in any case can: if a commit has kept it, it stays.
        """
        if self._attach is not None and (name := body_name(stored)) is not None:
            self._attach(("PEXPIRE", self._keys.body(name), 1, "XX"))

    async def fetch(self, name: str) -> bytes | None:
        """Return the body under a name; None if there is none."""
        async with self._turn:
            body: bytes | None
            (body,) = await self._link.ask(("GET", self._keys.body(name)))
        return body

    async def close(self) -> None:
        """Let go of the server."""
        await self._link.close()
