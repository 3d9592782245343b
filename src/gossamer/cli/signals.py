"""The first Ctrl-C or SIGTERM ends what runs softly, the second at once."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)

R_co = TypeVar("R_co", covariant=True)


class Stoppable(Protocol[R_co]):
    """Something that runs, and can be asked to come to its end."""

    def run(self) -> Coroutine[Any, Any, R_co]:
        """Run to the end."""

    def stop(self) -> None:
        """Come to the end soon."""


async def run_until_signalled(
    one: Stoppable[R_co], say: Callable[[str], None], *, attached: bool = False
) -> R_co:
    """Run; the first signal stops it, the second cancels it.

    What is attached stops as well when standard input ends: whoever holds the other side is gone.
    """
    running = asyncio.ensure_future(one.run())
    loop = asyncio.get_running_loop()

    def stop() -> None:
        say("finishing what is in progress; once more to stop at once")
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
