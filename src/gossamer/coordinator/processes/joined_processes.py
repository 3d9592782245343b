"""The processes that have joined a crawl, as its frontier has them: their queues and sessions."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from secrets import token_hex
from typing import Any

import msgspec

from gossamer.channel import Served
from gossamer.channel.channel import methods_of
from gossamer.channel.resending import Hello, QueueServer
from gossamer.coordinator.processes.worker_channel import JOINED_CONTRACTS, JOINING, OVER_NOTE
from gossamer.frontier.contract import FRONTIER
from gossamer.frontier.service import Frontier
from gossamer.frontier.session import WorkerSession
from gossamer.model import Level
from gossamer.modules.remote import PAGE_MODULES, ServedModules
from gossamer.stores.redis.message_queues import (
    FrontierQueues,
    heartbeat,
    sent_number,
    settlement_queue,
    worker_queue,
)
from gossamer.stores.redis.rows import JOINED_NAME, read_joined

LEAVE_WITHIN_S = 3.0
"""How long processes that have joined may take to leave a crawl that is over."""
CHECK_EVERY_S = 0.5
GONE_AFTER_S = 1.0
"""How long a process has no connection before it is taken for dead: one that has lost it has
another within moments."""
STEADY_AFTER_S = 5.0
"""How long everybody has to find the server again after it was away."""
Say = Callable[[Level, str], None]


class JoinedProcess:
    """One process that has joined: its queues, its session with the frontier, and what it asks."""

    def __init__(self, name: str, number: int | None, owner: "JoinedProcesses") -> None:
        self.name = name
        self.number = number
        self.untaken = 0
        """How many messages were read and are still needed."""
        self.heard_at = owner.clock()
        self._owner = owner
        self.session = WorkerSession(owner.store, owner.clock, in_commits=True)
        self.server = QueueServer(
            JOINED_CONTRACTS,
            self._served(),
            lambda message: owner.store.post(worker_queue(name), message),
            on_batch=owner.on_news,
            on_taken=self._taken,
            on_hello=self._greeted,
        )
        self.server.begin(owner.token)

    def end(self, ended_by: str) -> None:
        """Tell that the crawl is over."""
        self.session.stop()
        self.server.tell_over(ended_by)

    def _served(self) -> list[Served]:
        modules = self._owner.modules
        pages: dict[str, Any] = dict.fromkeys(PAGE_MODULES.methods, _wait_for_another)
        if modules is not None:
            pages = methods_of(PAGE_MODULES, modules)
        store = self.session.serve(FRONTIER)
        target = {**store.target, "dismiss": self._owner.dismiss}
        return [
            msgspec.structs.replace(store, target=target),
            Served(contract=JOINING, target=methods_of(JOINING, self)),
            Served(contract=PAGE_MODULES, target=pages, at_once=None),
        ]

    def _taken(self) -> None:
        self.untaken -= 1
        self._owner.store.take_message(settlement_queue(self.name))

    def _greeted(self, hello: Hello) -> None:
        self.number = hello.worker
        self._owner.note()

    # -- what it asks (`Joining`) ----------------------------------------------------------------

    async def new_worker(self) -> int:
        """Return the number of a worker that counts from now on."""
        return await self._owner.store.new_worker(self._owner.clock())

    async def say(self, level: Level, who: str, message: str) -> None:
        """Show a message of somebody."""
        self._owner.say(level, f"{who}: {message}")


class JoinedProcesses:
    """The processes that have joined a crawl, from wherever."""

    def __init__(
        self,
        store: Frontier,
        queues: FrontierQueues,
        clock: Callable[[], float],
        say: Say,
        modules: ServedModules | None,
        on_news: Callable[[], None],
    ) -> None:
        """Prepare; `on_news` is called when they have told something.

        `modules` are those of the coordinator; None: they are not here, and calls to them wait for
        a frontier that has them.
        """
        self.store = store
        self.clock = clock
        self.say = say
        self.modules = modules
        self.token = token_hex(8)
        """Tells this frontier from others."""
        self._queues = queues
        self._on_news = on_news
        self._processes: dict[str, JoinedProcess] = {}
        self._noted: dict[str, int | None] = {}
        self._connections = Connections()
        self._over: str | None = None
        self._has_left = asyncio.Event()

    async def begin(self) -> None:
        """Say hello to those that have joined before."""
        self.store.post_metadata(OVER_NOTE, b"")
        for name, number in read_joined(await self.store.metadata(JOINED_NAME)).items():
            self._noted[name] = number
            self._processes[name] = JoinedProcess(name, number, self)
            self._connections.expect(name)
            if number is not None:
                await self.store.join(number, self.clock())

    async def run(self) -> None:
        """Take in what they say, and see off those that die, until cancelled."""
        tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._see_off_dead())]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for process in self._processes.values():
                process.server.end()
            await self._queues.close()

    async def _hear(self) -> None:
        while True:
            senders = await self._queues.wait_for_senders()
            await self._read(senders or {*self._processes})
            self._raise_what_broke()

    async def _see_off_dead(self) -> None:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            names = [*self._processes]
            connected = await self._queues.connected(names) if names else set()
            for name in self._connections.dead(names, connected, self.clock()):
                if (process := self._processes.get(name)) is None:
                    continue
                await self._read({name})
                if process.number is not None:
                    message = f"worker {process.number} died with the command that had started it"
                    self.say("warning", message)
                await self._take_back(process)

    def on_news(self) -> None:
        """Note that they have told the store something."""
        self._on_news()
        self.wake()

    def wake(self) -> None:
        """Let them have what there may be for them now."""
        for process in self._processes.values():
            process.session.wake()

    async def finish(self, ended_by: str) -> None:
        """Tell all of them that the crawl is over, and wait a moment for them to leave."""
        self._over = ended_by
        self.store.post_metadata(OVER_NOTE, ended_by.encode())
        for process in self._processes.values():
            process.end(ended_by)
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN_S):
                while self._processes:
                    self._has_left.clear()
                    await self._has_left.wait()
        for process in [*self._processes.values()]:
            self._forget(process)
        await self.store.commit()

    def forget_gone(self) -> None:
        """Forget workers that were silent until they had nothing left."""
        now = self.clock()
        for process in [*self._processes.values()]:
            is_silent = now - process.heard_at > self.store.rules.scheduler.lease_s
            number = process.number
            if is_silent and number is not None and not self.store.has_worker(number):
                self._forget(process)

    async def dismiss(self, worker: int, in_hand: list[int], now: float, received: int = 0) -> None:
        """Take back everything from a worker that has died, but for what it had said before."""
        gone = [process for process in self._processes.values() if process.number == worker]
        await self._read({process.name for process in gone})
        for process in gone:
            await process.server.idle()
        await self.store.dismiss(worker, in_hand, now, received)
        for process in gone:
            await process.session.take_back()
            self._forget(process)

    async def _read(self, names: set[str]) -> None:
        for name in names - self._processes.keys():
            process = self._processes[name] = JoinedProcess(name, None, self)
            self.note()
            if self._over is not None:
                process.end(self._over)
        processes = [self._processes[name] for name in names]
        messages = await self._queues.read({one.name: one.untaken for one in processes})
        for process in processes:
            for message in messages[process.name]:
                if process.server.feed(message):
                    process.untaken += 1
                    process.heard_at = self.clock()
            if process.server.is_left:
                await self._take_back(process)

    async def _take_back(self, process: JoinedProcess) -> None:
        """Forget a process that has ended, and take back what it had as a worker."""
        await process.server.idle()
        if process.number is not None:
            await self.store.dismiss(process.number, [], self.clock())
            await process.session.take_back()
        self._forget(process)

    def _forget(self, process: JoinedProcess) -> None:
        if self._processes.pop(process.name, None) is not None:
            process.server.end()
            name = process.name
            self.store.end_queues(
                [settlement_queue(name), worker_queue(name), sent_number(name), heartbeat(name)]
            )
            self.note()
            self._has_left.set()

    def note(self) -> None:
        """Have it noted who has joined, with the next commit."""
        numbers = {process.name: process.number for process in self._processes.values()}
        if numbers != self._noted:
            self._noted = numbers
            self.store.post_metadata(JOINED_NAME, msgspec.msgpack.encode(numbers))

    def _raise_what_broke(self) -> None:
        for process in self._processes.values():
            if process.server.closed.done():
                process.server.closed.result()


async def _wait_for_another(*_: object) -> None:
    """Wait for a frontier that has the modules; then the call comes again."""
    await asyncio.Event().wait()


class Connections:
    """Tells which processes have died without a word: the system has closed their connections.

    One that stands still keeps its own, and so does one whose machine has lost power: their leases
    run out. Nothing is concluded while the server itself was away.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._missed: dict[str, float] = {}
        """Since when each process has no connection."""
        self._steady_at: float | None = 0.0
        """From when on deaths are concluded; None: not until the server has answered for a while.

        A frontier that nobody has joined before need not wait for anybody to find it.
        """

    def expect(self, name: str) -> None:
        """Miss a process also if it has no connection from the beginning."""
        self._seen.add(name)
        self._steady_at = None

    def dead(self, names: Iterable[str], connected: set[str] | None, now: float) -> list[str]:
        """Return who has died of those that have joined; None: nobody knows who is connected."""
        if connected is None:
            self._steady_at = None
            return []
        if self._steady_at is None:
            self._steady_at = now + STEADY_AFTER_S
        self._seen |= connected
        self._missed = {
            name: self._missed.get(name, now)
            for name in names
            if name in self._seen and name not in connected
        }
        self._seen &= connected | self._missed.keys()
        gone = [name for name, since in self._missed.items() if now - since >= GONE_AFTER_S]
        return gone if now >= self._steady_at else []
