"""Calls over queues: each is carried out once, whichever frontier is there, whatever it forgot."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from gossamer.channel import Contract, Served
from gossamer.channel.channel import PROTOCOL
from gossamer.channel.resending import Hello, QueueClient, QueueServer
from gossamer.model.errors import CrawlError

CALLS = 60
SEEDS = range(20)


class Account(Protocol):
    """What a frontier does in these tests."""

    async def add(self, amount: int) -> int:
        """Add to the sum; return it."""

    async def await_sum(self, least: int) -> int:
        """Return the sum when it is that large."""


ACCOUNT: Contract[Account] = Contract(Account)


class LastingQueues:
    """What lasts: the two queues of one process and a sum, changed in commits only."""

    def __init__(self) -> None:
        self.up: list[bytes] = []
        self.down: list[bytes] = []
        self.sum = 0
        self.last_sent = 0
        self.changed = asyncio.Event()

    # -- for the process that has joined (`MessageQueues`) -----------------------------------------

    async def send(self, number: int, message: bytes) -> bool:
        is_whole = self.last_sent >= number - 1
        self.last_sent = number
        self.up.append(message)
        self.changed.set()
        return is_whole

    async def receive(self) -> list[bytes]:
        await asyncio.sleep(0)
        return [*self.down]

    async def drop(self, count: int) -> None:
        del self.down[:count]


class OneFrontier:
    """One frontier: it has the sum in memory, and commits when it is told to."""

    def __init__(self, server: LastingQueues, token: str) -> None:
        self._server = server
        self._sum = server.sum
        self._taken = 0
        self._sent: list[bytes] = []
        self._untaken = 0
        self._grown = asyncio.Event()
        handlers: dict[str, Callable[..., Awaitable[int]]] = {
            "add": self.add,
            "await_sum": self.await_sum,
        }
        served = Served(contract=ACCOUNT, target=handlers, at_once=frozenset({"await_sum"}))
        self.greeted: list[Hello] = []
        self.end = QueueServer(
            [ACCOUNT],
            [served],
            self._sent.append,
            on_batch=lambda: None,
            on_taken=self._take,
            on_hello=self.greeted.append,
        )
        self.end.begin(token)

    async def add(self, amount: int) -> int:
        self._sum += amount
        self._grown.set()
        return self._sum

    async def await_sum(self, least: int) -> int:
        while self._sum < least:
            self._grown.clear()
            await self._grown.wait()
        return self._sum

    def _take(self) -> None:
        self._taken += 1
        self._untaken -= 1

    async def read(self) -> None:
        """Take in what is in the queue, some of it again."""
        for message in [*self._server.up]:
            if self.end.feed(message):
                self._untaken += 1
        await self.end.idle()

    def commit(self) -> None:
        """Make everything durable that was done."""
        del self._server.up[: self._taken]
        self._server.down += self._sent
        self._server.sum = self._sum
        self._taken = 0
        self._sent.clear()

    def die(self) -> None:
        self.end.end()


async def settled() -> None:
    """Let everything happen that waits for nothing else."""
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.mark.req("B1", "D15")
@pytest.mark.parametrize("seed", SEEDS)
def test_each_call_is_carried_out_once_by_one_frontier_after_another(seed: int) -> None:
    """Some die before a commit and some after it; who waits for long waits at the next one."""
    rng = random.Random(seed)  # noqa: S311 -- repeatable, no secret

    async def run() -> None:
        server = LastingQueues()
        client = QueueClient([ACCOUNT], server, Hello(PROTOCOL, 3))
        account = ACCOUNT.proxy(client)
        waiting = asyncio.create_task(account.await_sum(CALLS))
        calls: list[asyncio.Task[int]] = []
        frontier = OneFrontier(server, "0")
        for life in range(1, 10_000):
            for _ in range(rng.randint(0, 3)):
                if len(calls) < CALLS:
                    calls.append(asyncio.create_task(account.add(1)))
            await settled()
            if rng.random() < 0.7:
                await frontier.read()
            if rng.random() < 0.6:
                frontier.commit()
            if rng.random() < 0.3:
                frontier.die()
                frontier = OneFrontier(server, str(life))
            if len(calls) == CALLS and all(call.done() for call in calls) and waiting.done():
                break
        assert sorted(call.result() for call in calls) == [*range(1, CALLS + 1)]
        assert waiting.result() == CALLS
        assert server.sum == CALLS
        await client.close(1.0)
        frontier.die()

    asyncio.run(run())


@pytest.mark.req("B1", "D15")
def test_what_the_server_has_lost_is_said_again() -> None:
    async def run() -> None:
        server = LastingQueues()
        client = QueueClient([ACCOUNT], server, Hello(PROTOCOL, None))
        account = ACCOUNT.proxy(client)
        first = asyncio.create_task(account.add(1))
        await settled()
        server.up.clear()  # before anybody has read it
        server.last_sent = 0
        second = asyncio.create_task(account.add(1))
        await settled()
        frontier = OneFrontier(server, "a")
        for _ in range(2):  # once it has said hello, it is told again
            await frontier.read()
            frontier.commit()
            await settled()
        assert sorted([await first, await second]) == [1, 2]
        assert server.sum == 2
        await client.close(1.0)
        frontier.die()

    asyncio.run(run())


def test_who_speaks_otherwise_is_told_so() -> None:
    async def run() -> None:
        server = LastingQueues()
        client = QueueClient([ACCOUNT], server, Hello("gossamer 0 channel 0", None))
        frontier = OneFrontier(server, "a")
        asking = asyncio.create_task(ACCOUNT.proxy(client).add(1))
        await settled()
        await frontier.read()
        frontier.commit()
        with pytest.raises(CrawlError, match="does not understand this process: it speaks"):
            await asking
        assert server.sum == 0
        await client.close(0.1)

    asyncio.run(run())


def test_whoever_has_joined_hears_that_the_crawl_is_over() -> None:
    async def run() -> None:
        server = LastingQueues()
        client = QueueClient([ACCOUNT], server, Hello(PROTOCOL, 7))
        await settled()
        frontier = OneFrontier(server, "a")
        await frontier.read()
        assert [hello.worker for hello in frontier.greeted] == [7]
        frontier.end.tell_over("complete")
        frontier.commit()
        assert await client.over == "complete"
        await client.close(1.0)
        await frontier.read()
        assert frontier.end.is_left

    asyncio.run(run())
