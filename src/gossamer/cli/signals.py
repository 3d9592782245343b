"""The handling of signals: the first finishes what is in progress, the second quits."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, Literal, Protocol, TypeVar

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


class SignalMeaning:
    """Tells what a signal is meant to do, by when the first one came."""

    def __init__(self) -> None:
        self._first_at: float | None = None

    def of(self, now: float) -> Literal["stop", "nothing", "quit"]:
        """Return what a signal means that comes now, in seconds by any clock that only goes on."""
        if self._first_at is None:
            self._first_at = now
            return "stop"
        return "nothing" if now - self._first_at < ECHO_S else "quit"


async def run_until_signalled(work: Stoppable[R_co], say: Callable[[str], None]) -> R_co:
    """Run; the first signal stops it, the second cancels it."""
    running = asyncio.ensure_future(work.run())
    loop = asyncio.get_running_loop()
    meaning = SignalMeaning()

    def take() -> None:
        match meaning.of(loop.time()):
            case "stop":
                say("finishing what is in progress; press Ctrl-C again to quit now")
                work.stop()
            case "quit":
                running.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, take)
    return await running
