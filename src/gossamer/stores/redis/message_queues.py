"""The queues between the frontier of a crawl and processes that have joined it, as lists in Redis.

A process appends its messages to its settlement queue, and its name to the list `senders`, where
the frontier waits. The frontier reads a message and leaves it in the queue; the commit that has its
effects removes it, and appends its answer to the worker queue (`Changes.taken`, `Changes.sent`).
A process removes a message when it has read it, so none is lost on its way.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from redis import exceptions
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import (
    ANSWER_S,
    Backoff,
    Command,
    Nodes,
    crawl_error,
    pack,
    settings,
)
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.rows import StoreAwayError

WAIT_S: Final = 1.0
"""How long a list is waited for at the server; then it is read all the same."""
ALIVE_S: Final = 5.0
"""How long after its last sign of life a process counts as alive."""
READ_AT_ONCE: Final = 256
SENDERS_AT_ONCE: Final = 1_000
ERRORS: Final = (exceptions.RedisError, OSError, RuntimeError)
"""What goes wrong with a server; uvloop says with the last that the other side has hung up."""
SENDERS: Final = "senders"
"""The list of those who have sent something."""
_CLIENT_NAME: Final = re.compile(rb" name=(\S+)")


def settlement_queue(name: str) -> str:
    """Return the queue of what a process says to the frontier: its settlements, and the rest."""
    return f"{name}:settlements"


def worker_queue(name: str) -> str:
    """Return the queue of what the frontier says to a process: its leased URLs, and the rest."""
    return f"{name}:leases"


def sent_number(name: str) -> str:
    """Return where the number of the last message stands that a process has sent."""
    return f"{name}:sent"


def heartbeat(name: str) -> str:
    """Return what is there while a process lives, and runs out after it."""
    return f"{name}:alive"


class AsyncLink:
    """A connection for one task at a time, made again when it is lost."""

    def __init__(self, address: RedisAddress, keys: RowKeys, tell: Callable[[str], None]) -> None:
        self._nodes = Nodes(address)
        self._key = keys.prefix.decode()
        self._backoff = Backoff(tell)
        self._connection: AbstractConnection | None = None
        self.losses = 0
        """How often the connection was lost."""

    async def ask(self, *commands: Command) -> list[Any]:
        """Return the answers of commands that may be carried out twice; wait for the server."""
        while True:
            try:
                answers = await self.send(*commands)
            except StoreAwayError as error:
                await asyncio.sleep(self._backoff.pause_after(error))
            else:
                self._backoff.reset()
                return answers

    async def send(self, *commands: Command) -> list[Any]:
        """Send commands once and return their answers; a StoreAwayError passes."""
        is_done = False
        try:
            connection = self._connection or await self._connect()
            async with asyncio.timeout(ANSWER_S):
                await connection.send_packed_command([*map(pack, commands)])
                answers = [await connection.read_response(disable_decoding=True) for _ in commands]
            is_done = True
        except ERRORS as error:
            raise crawl_error(error) from error
        finally:
            if not is_done:
                await self.close()  # whoever comes next must not read the rest
        return answers

    async def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self.losses += 1
            with suppress(*ERRORS):
                await connection.disconnect(nowait=True)

    async def _connect(self) -> AbstractConnection:
        address = await asyncio.to_thread(self._nodes.find, self._key)
        limits = {"retry": Retry(NoBackoff(), 0), "socket_timeout": None}  # `send` has a deadline
        pool = ConnectionPool.from_url(address.url(), **settings() | limits)
        connection: AbstractConnection = pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        self._connection = connection
        return connection


class JoinedQueues:
    """The two queues of a process that has joined, as it has them."""

    def __init__(
        self, address: RedisAddress, keys: RowKeys, name: str, tell: Callable[[str], None]
    ) -> None:
        self._name = name
        self._senders = keys.messages(SENDERS)
        self._settlements, self._leases = (
            keys.messages(settlement_queue(name)),
            keys.messages(worker_queue(name)),
        )
        self._sent_number = keys.messages(sent_number(name))
        self._heartbeat = keys.messages(heartbeat(name))
        self._sending = AsyncLink(address, keys, tell)
        self._receiving = AsyncLink(address, keys, lambda _: None)  # the other says it
        self._losses = 0
        self._attached: list[Command] = []

    def attach(self, command: Command) -> None:
        """Have a command carried out with the next message, before anybody can read that."""
        self._attached.append(command)

    async def send(self, number: int, message: bytes) -> bool:
        """Append a message, once; False: the server has lost some that were sent before it."""
        attached, self._attached = self._attached, []
        is_whole, is_sure = True, self._sending.losses == self._losses
        while True:
            if not is_sure:  # it may have got there, or others be gone
                (last,) = await self._sending.ask(("GET", self._sent_number))
                self._losses, there = self._sending.losses, int(last or 0)
                is_whole = is_whole and there >= number - 1
                if there == number:
                    return is_whole
            try:
                await self._sending.send(
                    ("MULTI",),
                    *attached,
                    ("RPUSH", self._settlements, message),
                    ("SET", self._sent_number, number),
                    ("RPUSH", self._senders, self._name),
                    ("EXEC",),
                )
            except StoreAwayError:
                is_sure = False
            else:
                return is_whole

    async def receive(self) -> list[bytes]:
        """Return the messages that are there; wait a moment for some if there are none."""
        sign = ("SET", self._heartbeat, 1, "PX", round(ALIVE_S * 1000))
        name = ("CLIENT", "SETNAME", self._heartbeat)  # `FrontierQueues.connected` finds it
        waiting = ("BLMOVE", self._leases, self._leases, "LEFT", "LEFT", WAIT_S)
        reading = ("LRANGE", self._leases, 0, READ_AT_ONCE - 1)
        *_, messages = await self._receiving.ask(sign, name, waiting, reading)
        return list(messages)

    async def drop(self, count: int) -> None:
        """Take the first messages away, which were read."""
        with suppress(CrawlError):  # those that are still there are read again, which does no harm
            await self._receiving.send(("LTRIM", self._leases, count, -1))

    async def close(self) -> None:
        """Let go of the server."""
        await self._sending.close()
        await self._receiving.close()


class FrontierQueues:
    """The queues of all processes that have joined, as the frontier has them."""

    def __init__(self, address: RedisAddress, keys: RowKeys) -> None:
        self._keys = keys
        # Commits say when the server is away.
        self._waiting, self._reading = (AsyncLink(address, keys, lambda _: None) for _ in range(2))
        self._turn = asyncio.Lock()
        self._senders = keys.messages(SENDERS)

    async def wait_for_senders(self) -> set[str]:
        """Return who has said something since the last call; wait a moment if nobody has."""
        taking = ("BLMPOP", WAIT_S, 1, self._senders, "LEFT", "COUNT", SENDERS_AT_ONCE)
        (senders,) = await self._waiting.ask(taking)
        return set() if senders is None else {name.decode() for name in senders[1]}

    async def read(self, offsets: Mapping[str, int]) -> dict[str, list[bytes]]:
        """Return the messages of processes that lie behind the first ones, as many as it says."""
        if not offsets:
            return {}
        commands = [
            ("LRANGE", self._keys.messages(settlement_queue(name)), offset, -1)
            for name, offset in offsets.items()
        ]
        async with self._turn:
            return dict(zip(offsets, await self._reading.ask(*commands), strict=True))

    async def connected(self, names: Iterable[str]) -> set[str] | None:
        """Return which of these processes have a connection to the server now.

        None: that cannot be said, because our own was lost, or we may not ask.
        """
        async with self._turn:
            try:
                (clients,) = await self._reading.send(("CLIENT", "LIST", "TYPE", "NORMAL"))
            except CrawlError:
                return None
        there = set(_CLIENT_NAME.findall(clients))
        return {name for name in names if self._keys.messages(heartbeat(name)) in there}

    async def close(self) -> None:
        """Let go of the server."""
        await self._waiting.close()
        await self._reading.close()
