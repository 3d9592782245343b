"""Large bodies in Redis: each worker process writes those of its pages to keys of the crawl.

A key runs out, until the commit that has the settlement of its page takes that off. So a body whose
page is not settled, because a worker was killed or its lease was lost, goes by itself. What is kept
with the page is a reference, like that to a segment: it names the key in place of a file.
"""

import asyncio
from collections.abc import Callable
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

MOST_BYTES: Final = 1_000_000
"""How much of bodies is sent together: others want to be served between large ones."""


class _BodyBatch:
    """Commands that are sent together."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.size = 0
        self.answers: list[Any] | None = None


class RedisBodies:
    """Writes and reads bodies for all pages of a process.

    Those of a process that has joined travel with its settlements, and cost no round trip. Another
    one has a connection for them: what is said while a batch is on its way is the next batch. One
    page after the other would have settlements come one by one, each with a message and a commit.
    """

    def __init__(
        self,
        address: RedisAddress,
        keys: RowKeys,
        attach: Callable[[Command], None] | None = None,
    ) -> None:
        """Prepare; who works with the crawl says already when the server is away.

        `attach` has a command carried out before what is said to the frontier next.
        """
        self._attach = attach
        self._link = AsyncLink(address, keys, lambda _: None)
        self._keys = keys
        self._next = _BodyBatch()
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
        command = "SET", self._keys.body(name), content, "NX", "EX", UNSETTLED_S
        if self._attach is None:
            await self._ask(*command)
        else:
            self._attach(command)
        return BodyReference(name, 0, len(content), checksum).pack()

    def discard(self, stored: bytes) -> None:
        """Have a body that is not kept go sooner, with what is written next.

        Only one that runs out in any case can: if a commit has kept it, it stays.
        """
        if (name := body_name(stored)) is not None:
            attach = self._attach or self._next.commands.append
            attach(("PEXPIRE", self._keys.body(name), 1, "XX"))

    async def fetch(self, name: str) -> bytes | None:
        """Return the body under a name; None if there is none."""
        body: bytes | None = await self._ask("GET", self._keys.body(name))
        return body

    async def close(self) -> None:
        """Let go of the server."""
        await self._link.close()

    async def _ask(self, *command: bytes | str | int) -> Any:  # noqa: ANN401 -- what the server says
        if self._next.size >= MOST_BYTES:
            self._next = _BodyBatch()  # whoever is in the one before sends it
        batch, place = self._next, len(self._next.commands)
        batch.commands.append(command)
        batch.size += sum(len(word) for word in command if isinstance(word, bytes))
        async with self._turn:
            if batch.answers is None:  # nobody has sent it yet, or who did was cancelled
                if batch is self._next:
                    self._next = _BodyBatch()
                batch.answers = await self._link.ask(*batch.commands)
        return batch.answers[place]
