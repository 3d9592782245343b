"""Large bodies in Redis: each worker process writes those of its pages to keys of the crawl.

A key runs out, until the commit that has the settlement of its page takes that off. So a body whose
page is not settled, because a worker was killed or its lease was lost, goes by itself. What is kept
with the page is a reference, like that to a segment: it names the key in place of a file.
"""

import asyncio
from typing import Any, Final

import xxhash

from gossamer.stores.bodies import BodyReference, body_name
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import Command
from gossamer.stores.redis.message_queues import AsyncLink
from gossamer.stores.redis.row_keys import UNSETTLED_S, RowKeys

LARGE_BYTES: Final = 16_384
"""How large a body is, packed, that goes its own way; others are part of the settlement.

The way costs a command and a key, and the commit one EXISTS and one PERSIST more: 50 to 77 µs for a
page with 4 kB. With 45 kB it saves 17 % of the CPU, for settlement queue and frontier then have
nothing to do with them."""


class RedisBodies:
    """Writes and reads bodies for all pages of a process, over one connection."""

    def __init__(self, address: RedisAddress, keys: RowKeys) -> None:
        """Prepare; who works with the crawl says already when the server is away."""
        self._link = AsyncLink(address, keys, lambda _: None)
        self._keys = keys
        self._discarded: list[Command] = []
        self._turn = asyncio.Lock()

    async def write(
        self, content: bytes, url_id: int, lease: int, fetched_at: float, digest: bytes
    ) -> bytes:
        """Write a large content; return the reference to it, packed, and any other as it is.

        It is there before the settlement is. A command that comes late, from a connection that was
        lost, changes nothing: the body may be kept by then.
        """
        if len(content) < LARGE_BYTES:
            return content
        checksum = xxhash.xxh3_64_intdigest(content)
        name = f"{url_id}:{lease}:{checksum:016x}"
        discarded, self._discarded = self._discarded, []
        await self._ask(
            *discarded, ("SET", self._keys.body(name), content, "NX", "EX", UNSETTLED_S)
        )
        return BodyReference(name, 0, len(content), checksum).pack()

    def discard(self, stored: bytes) -> None:
        """Have a body that is not kept go sooner, with what is written next.

        Only one that runs out in any case can: if a commit has kept it, it stays.
        """
        if (name := body_name(stored)) is not None:
            self._discarded.append(("PEXPIRE", self._keys.body(name), 1, "XX"))

    async def fetch(self, name: str) -> bytes | None:
        """Return the body under a name; None if there is none."""
        body: bytes | None
        (body,) = await self._ask(("GET", self._keys.body(name)))
        return body

    async def close(self) -> None:
        """Let go of the server."""
        await self._link.close()

    async def _ask(self, *commands: Command) -> list[Any]:
        async with self._turn:
            return await self._link.ask(*commands)
