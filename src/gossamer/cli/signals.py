"""The handling of signals: the first finishes what is in progress, the second quits.

While nothing is in progress the first one quits: a server that is away is not waited for.
"""

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

    @property
    def is_working(self) -> bool:
        """Whether something is in progress that is to be finished; else `run` may be cancelled."""


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


async def run_until_signalled(work: Stoppable[R_co], say: Callable[[str], None]) -> R_co | None:
    """Run; the first signal stops it, the second cancels it.

    None: the first one came while nothing was in progress.
    """
    running = asyncio.ensure_future(work.run())
    loop = asyncio.get_running_loop()
    meaning = SignalMeaning()
    was_idle = False

    def take() -> None:
        nonlocal was_idle
        match meaning.of(loop.time()):
            case "stop" if work.is_working:
                say("finishing what is in progress; press Ctrl-C again to quit now")
                work.stop()
            case "stop":
                was_idle = True
                say("nothing is in progress: stopping at once")
                running.cancel()
            case "quit":
                running.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, take)
    try:
        return await running
    except asyncio.CancelledError:
        if was_idle:
            return None
        raise
