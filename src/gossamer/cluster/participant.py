"""One process's part in a shared crawl, from joining it to leaving it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Protocol

from gossamer.cluster.membership import Membership, join_crawl
from gossamer.cluster.shared_log import SharedLog, shared_log
from gossamer.cluster.worker_handle import Listener
from gossamer.config import CrawlOptions
from gossamer.errors import CrawlError
from gossamer.modules import ModuleReport
from gossamer.stores.opening import OPTIONS_NOTE

INTERRUPTED = "interrupted"


class Role(Protocol):
    """What a process does in a crawl."""

    async def run(self) -> str:
        """Work until the end of the crawl; return what ended it, or `interrupted`."""

    def stop(self) -> None:
        """Leave soon."""

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules that run here."""


class Participant:
    """Joins a crawl and plays a role in it; it can be stopped at any moment."""

    def __init__(
        self,
        own: CrawlOptions,
        listener: Listener,
        cast: Callable[[Membership, SharedLog], Awaitable[Role]],
    ) -> None:
        self._own = own
        self._listener = listener
        self._cast = cast
        self._stopped = False
        self._joining: asyncio.Task[tuple[Membership, Role]] | None = None
        self._role: Role | None = None

    def stop(self) -> None:
        """Leave soon, or do not join at all."""
        self._stopped = True
        if self._role is not None:
            self._role.stop()
        elif self._joining is not None:
            self._joining.cancel()

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules that ran here."""
        return self._role.report() if self._role is not None else []

    async def run(self) -> str:
        """Take part until the end of the crawl; return what ended it, or `interrupted`."""
        async with AsyncExitStack() as stack:
            self._joining = asyncio.create_task(self._join(stack))
            try:
                member, self._role = await self._joining
            except asyncio.CancelledError:
                if self._stopped:
                    return INTERRUPTED
                raise
            ended_by = await self._role.run()
            # In a crawl that is gone nothing is left to do, either.
            if ended_by != INTERRUPTED and await member.notes.get(OPTIONS_NOTE) is None:
                raise CrawlError(
                    f"the crawl {member.plan.name} is not in the store any more: it was deleted, "
                    "or the server has lost its data"
                )
            return ended_by

    async def _join(self, stack: AsyncExitStack) -> tuple[Membership, Role]:
        say = partial(self._listener.say, "info")
        member = await stack.enter_async_context(join_crawl(self._own, say))
        log = await stack.enter_async_context(shared_log(self._listener, member.notes))
        return member, await self._cast(member, log)
