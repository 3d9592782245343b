"""The notes of a crawl in Redis: what its processes tell each other beside the crawl itself.

The options with which it was started, who has which role, which workers are alive, and the number
of the next worker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Self, TypeVar

import msgspec
from redis.asyncio import Redis

from gossamer.stores.process_message import ProcessMessage
from gossamer.stores.redis import library
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.keys import key, prefix
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import CONNECT_S, Nodes, connect
from gossamer.stores.redis.passing import ELSEWHERE, LOST
from gossamer.stores.results import ReplayedPage, pack_records

HUNG_UP = RuntimeError
"""How uvloop says that the other side has hung up."""
MESSAGES_KEPT = 1000
_WORKERS = "workers"

T = TypeVar("T")


class CrawlNotes:
    """The notes of one crawl; to be used in an async with statement.

    A server that does not answer is a `CrawlError`, after one try to find another that has the
    notes by now.
    """

    def __init__(self, address: RedisAddress, crawl: str) -> None:
        self._address = address
        self.nodes = Nodes(address)
        """The servers that are known by now."""
        self._client: Redis | None = None
        self._crawl = crawl

    async def __aenter__(self) -> Self:
        async with explained(self._address, HUNG_UP), asyncio.timeout(CONNECT_S):
            await self._find()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._let_go()

    async def get(self, name: str) -> bytes | None:
        """Return a note; None if there is none of that name."""
        found = await self._ask(lambda client: client.hget(self._key("notes"), name))
        return found if isinstance(found, bytes) else None

    async def put(self, name: str, value: bytes) -> None:
        """Keep a note, in place of one of the same name."""
        await self._ask(lambda client: client.hset(self._key("notes"), name, value))

    async def say(self, message: ProcessMessage) -> None:
        """Tell a message to whoever coordinates the crawl; the last ones are kept."""
        fields: Any = {"message": msgspec.msgpack.encode(message)}
        await self._ask(
            lambda client: client.xadd(self._key("messages"), fields, maxlen=MESSAGES_KEPT)
        )

    async def said(self, after: str | None) -> tuple[str, list[ProcessMessage]]:
        """Return messages since a place, and the new place; without a place, only that."""
        key = self._key("messages")
        found: Any
        if after is None:
            found = await self._ask(lambda client: client.xrevrange(key, count=1))
            return (found[0][0].decode() if found else "0"), []
        found = await self._ask(lambda client: client.xrange(key, min=f"({after}"))
        if not found:
            return after, []
        packed = [fields[b"message"] for _, fields in found]
        return found[-1][0].decode(), [
            msgspec.msgpack.decode(one, type=ProcessMessage) for one in packed
        ]

    async def add_replayed(self, replayed: ReplayedPage) -> None:
        """Append records of a kept page to the log of results, and keep the note."""
        told = (str(replayed.page_id), pack_records(replayed.records or None))
        note = (replayed.note, replayed.progress)
        key = prefix(self._crawl)
        await self._ask(lambda client: library.call(client, "add_replayed", key, *told, *note))

    async def lead(self, role: str, who: str, for_s: float) -> bool:
        """Take a role that nobody has, or keep it; False while somebody else has it."""
        name, for_ms = self._key("leader") + role, str(round(for_s * 1000))
        return bool(await self._ask(lambda client: library.call(client, "lead", name, who, for_ms)))

    async def resign(self, role: str, who: str) -> None:
        """Give up a role."""
        name = self._key("leader") + role
        await self._ask(lambda client: library.call(client, "resign", name, who))

    async def is_led(self, role: str) -> bool:
        """Tell whether somebody has the role."""
        name = self._key("leader") + role
        return bool(await self._ask(lambda client: client.exists(name)))

    async def silence_s(self) -> dict[int, float]:
        """Return for each worker how long ago it was last heard of."""
        clock: Any = await self._ask(lambda client: client.time())
        seen: Any = await self._ask(
            lambda client: client.zrange(self._key("seen"), 0, -1, withscores=True)
        )
        now = clock[0] + clock[1] / 1e6
        return {int(worker): now - float(moment) for worker, moment in seen}

    async def restart_worker_numbers(self) -> None:
        """Let the next worker have the number 0: there is none."""
        await self._ask(lambda client: client.hdel(self._key("notes"), _WORKERS))

    async def new_worker(self) -> int:
        """Return a number that no other worker has."""
        taken = await self.silence_s()
        while True:
            number = await self._ask(lambda client: client.hincrby(self._key("notes"), _WORKERS, 1))
            if int(number) - 1 not in taken:
                return int(number) - 1

    async def _ask(self, question: Callable[[Redis], Awaitable[T]]) -> T:
        """Return the answer of the server that has the notes, wherever they are by now."""
        async with explained(self._address, HUNG_UP), asyncio.timeout(CONNECT_S):
            try:
                return await question(self._client or await self._find())
            except (*ELSEWHERE, *LOST, HUNG_UP):
                return await question(await self._find())

    async def _find(self) -> Redis:
        await self._let_go()
        self._client = connect(await self.nodes.find(self._key("notes")))
        return self._client

    async def _let_go(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _key(self, name: str) -> str:
        return key(self._crawl, name)
