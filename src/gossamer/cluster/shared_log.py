"""The log of a process that has joined a crawl: its warnings reach the coordinator as well."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Literal

from gossamer.cluster.contracts import Level
from gossamer.cluster.worker_handle import Listener
from gossamer.errors import CrawlError
from gossamer.model import Event
from gossamer.stores.process_message import ProcessMessage
from gossamer.stores.redis.notes import CrawlNotes

MOST_ON_THEIR_WAY: Final = 100
"""What is said meanwhile is in the log of this process only."""
CLOSE_WITHIN_S: Final = 2.0


class SharedLog:
    """A listener that also sends warnings and errors to the store; who is not there misses them."""

    def __init__(self, listener: Listener, notes: CrawlNotes) -> None:
        self._listener = listener
        self._notes = notes
        self._sending: set[asyncio.Task[None]] = set()
        self.role = "a process"
        """What this process is in the crawl."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""
        self._listener.event(event)

    def say(self, level: Level, message: str, **fields: str | float) -> None:
        """Take a message."""
        self._listener.say(level, message, **fields)
        if level != "info":
            self.send(level, message)

    def send(self, level: Literal["warning", "error"], words: str) -> None:
        """Send a message to the store, unless too many are on their way."""
        if len(self._sending) < MOST_ON_THEIR_WAY:
            who = f"{self.role} on {socket.gethostname()}"
            task = asyncio.create_task(self._send(ProcessMessage(who, level, words)))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        """Wait a moment for what is on its way."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=CLOSE_WITHIN_S)

    async def _send(self, message: ProcessMessage) -> None:
        with suppress(CrawlError):  # the store is away: the log of this process has it
            await self._notes.say(message)


@asynccontextmanager
async def shared_log(listener: Listener, notes: CrawlNotes) -> AsyncIterator[SharedLog]:
    """Open the log of a process; why the process cannot go on is sent as well."""
    log = SharedLog(listener, notes)
    try:
        yield log
    except CrawlError as error:
        log.send("error", str(error))
        raise
    finally:
        await log.close()
