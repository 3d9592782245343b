"""The handling of Ctrl-C and SIGTERM: the first finishes what is in progress, the second quits."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)

R_co = TypeVar("R_co", covariant=True)


class Stoppable(Protocol[R_co]):
    """Something that runs and can be stopped."""

    def run(self) -> Coroutine[Any, Any, R_co]:
        """Run to the end."""

    def stop(self) -> None:
        """Finish soon."""


async def run_until_signalled(
    one: Stoppable[R_co], say: Callable[[str], None], *, attached: bool = False
) -> R_co:
    """Run; the first signal stops it, the second cancels it.

    If attached, it also stops when standard input ends: then the parent process is gone.
    """
    running = asyncio.ensure_future(one.run())
    loop = asyncio.get_running_loop()

    def stop() -> None:
        say("finishing what is in progress; press Ctrl-C again to quit now")
        one.stop()
        for number in SIGNALS:
            loop.add_signal_handler(number, running.cancel)

    for number in SIGNALS:
        loop.add_signal_handler(number, stop)
    if attached:
        _on_end_of_input(loop, stop)
    return await running


def _on_end_of_input(loop: asyncio.AbstractEventLoop, then: Callable[[], None]) -> None:
    source = sys.stdin.fileno()

    def read() -> None:
        if not os.read(source, 4096):
            loop.remove_reader(source)
            then()

    loop.add_reader(source, read)
