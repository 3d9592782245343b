"""The handling of signals: the first finishes what is in progress, the second quits."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C, a request to end, and a terminal that was closed."""

R_co = TypeVar("R_co", covariant=True)


class Stoppable(Protocol[R_co]):
    """Something that runs and can be stopped."""

    def run(self) -> Coroutine[Any, Any, R_co]:
        """Run to the end."""

    def stop(self) -> None:
        """Finish soon."""


async def run_until_signalled(one: Stoppable[R_co], say: Callable[[str], None]) -> R_co:
    """Run; the first signal stops it, the second cancels it."""
    running = asyncio.ensure_future(one.run())
    loop = asyncio.get_running_loop()

    def stop() -> None:
        say("finishing what is in progress; press Ctrl-C again to quit now")
        one.stop()
        for number in SIGNALS:
            loop.add_signal_handler(number, running.cancel)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    return await running
