"""The handling of signals: the first finishes what is in progress, the second quits.

While nothing is in progress the first one quits: a server that is away is not waited for.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar

import uvloop

from gossamer.coordinator.observer import Observer

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a request to end, and a terminal that was closed."""
ECHO_S = 0.5
"""How long after the first signal others are taken for the same one: `timeout`, some shells and
supervisors send it to a process and then to its whole group."""

R_co = TypeVar("R_co", covariant=True)


class Stoppable(Protocol[R_co]):
    """Something that runs and can be stopped."""

    def run(self) -> Coroutine[Any, Any, R_co]:
        """Run to the end."""

    def stop(self) -> None:
        """Finish soon."""

    @property
    def is_working(self) -> bool:
        """Whether something is in progress that is to be finished; else `run` may be cancelled."""


def run_stoppable(make: Callable[[], Stoppable[R_co]], observer: Observer) -> R_co | None:
    """Make something and run it, in an event loop of its own; None: a signal cut it off."""

    async def run() -> R_co | None:
        return await run_until_signalled(make(), partial(observer.say, "info"))

    try:
        return uvloop.run(run())
    except asyncio.CancelledError:
        return None


async def run_until_signalled(work: Stoppable[R_co], say: Callable[[str], None]) -> R_co | None:
    """Run; the first signal stops it, the second cancels it.

    None: the first one came while nothing was in progress.
    """
    running = asyncio.ensure_future(work.run())
    loop = asyncio.get_running_loop()
    first_at: float | None = None
    was_idle = False

    def take() -> None:
        nonlocal first_at, was_idle
        if first_at is not None:
            if loop.time() - first_at >= ECHO_S:
                running.cancel()
            return
        first_at = loop.time()
        if work.is_working:
            say("finishing what is in progress; press Ctrl-C again to quit now")
            work.stop()
        else:
            was_idle = True
            say("nothing is in progress: stopping at once")
            running.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, take)
    try:
        return await running
    except asyncio.CancelledError:
        if was_idle:
            return None
        raise
