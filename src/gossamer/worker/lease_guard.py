"""The guard of a lease: a worker may ask a host only while it surely holds the lease.

A store gives a host to one worker at a time, for the time of a lease. A worker that cannot renew
it in time, or learns that the store does not know it, must be silent before another worker may get
the host: its requests to the host are cut off.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gossamer.frontier.contract import FrontierClient, Task
from gossamer.policy.size_limits import Allowance
from gossamer.worker.crash_note import InFlightPage

T = TypeVar("T")

NEVER = float("-inf")


class LeaseLostError(Exception):
    """The lease is lost: another worker may be asking the host by now."""


class LeaseGuard:
    """The guard of one task: until when its host may be asked, and how much may be received."""

    def __init__(
        self,
        task: Task,
        until: float,
        clock: Callable[[], float],
        on_received: Callable[[int], None] | None = None,
    ) -> None:
        self.task = task
        self.allowance = Allowance(task.max_bytes, is_last=task.is_last, on_received=on_received)
        self.is_delivering = False
        """Whether its page is at the modules, or beyond."""
        self.is_settling = False
        """Whether the store has been told what came of it, and has not answered yet."""
        self.on_settling: Callable[[], None] | None = None
        """Wants to know when that begins."""
        self.page: InFlightPage | None = None
        self._until = until
        self._clock = clock
        self._request: asyncio.Timeout | None = None

    def extend(self, until: float) -> None:
        """Hold the lease until then; the store has renewed it."""
        self._until = until
        if self._request is not None and not self._request.expired():
            self._request.reschedule(self._deadline())

    def lose(self) -> None:
        """Cut off the request that is running; there may be no other."""
        self.extend(NEVER)

    def begin_settling(self, *, is_over: bool = True) -> None:
        """Note that the store is told what came of it, and that its page is not in hand any more.

        The answer comes when that is durable; meanwhile others may be worked on.
        """
        self.is_settling = True
        if is_over and self.page is not None:
            self.page.leave()
        if self.on_settling is not None:
            self.on_settling()

    async def during(self, request: Callable[[], Awaitable[T]]) -> T:
        """Return what came of requests to the host; a `LeaseLostError` if they were cut off."""
        if self._until <= self._clock():
            raise LeaseLostError
        limit = self._request = asyncio.timeout_at(self._deadline())
        try:
            async with limit:
                return await request()
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise LeaseLostError from error
        finally:
            self._request = None

    def _deadline(self) -> float:
        """Return when it ends, by the clock of the event loop."""
        return asyncio.get_running_loop().time() + self._until - self._clock()


async def still_held(
    store: FrontierClient,
    tasks: Sequence[Task],
    asked_at: float,
    clock: Callable[[], float],
    lease_s: float,
) -> Sequence[Task]:
    """Return the tasks whose leases are still ours, which the store said at `asked_at`.

    The process may have stood still since, and others may work on the tasks by now: then asking
    their hosts, or showing the modules a page under a number that is theirs, would be wrong.
    """
    while tasks and clock() - asked_at >= lease_s / 2:
        asked_at = clock()
        lost = await store.renew(tasks, asked_at)
        tasks = [task for task in tasks if task not in lost]
    return tasks
