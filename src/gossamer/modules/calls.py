"""One call into other people's code, and how it ended: as a value, so that nothing escapes."""

import inspect
import time
from collections.abc import Callable
from enum import Enum, auto

import msgspec


class End(Enum):
    """How a call ended."""

    RETURNED = auto()
    RAISED = auto()
    TIMED_OUT = auto()
    """It was given up; it may still be running."""
    MISSED = auto()
    """It was never made, because an earlier one does not come back."""


class Ended(msgspec.Struct, frozen=True):
    """What came of a call."""

    end: End
    took_s: float = 0.0
    error: BaseException | None = None
    """What it raised."""


MISSED = Ended(End.MISSED)


def make_call(function: Callable[..., object], arguments: tuple[object, ...]) -> Ended:
    """Call a plain function; whatever it raises is returned, SystemExit too.

    Only KeyboardInterrupt goes through: it is the user's, not the function's.
    """
    started = time.perf_counter()
    try:
        result = function(*arguments)
        if result is not None and inspect.isawaitable(result):
            refuse_awaitable(result)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- containing it is what this is for
        return Ended(End.RAISED, time.perf_counter() - started, error)
    return Ended(End.RETURNED, time.perf_counter() - started)


async def make_async_call(function: Callable[..., object], arguments: tuple[object, ...]) -> Ended:
    """Call an async function and await it, as a task that may be cancelled.

    SystemExit would end the event loop itself if it left the task; what is stranger ends the task.
    """
    started = time.perf_counter()
    try:
        result = function(*arguments)
        if inspect.isawaitable(result):
            await result
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- as above
        return Ended(End.RAISED, time.perf_counter() - started, error)
    return Ended(End.RETURNED, time.perf_counter() - started)


def refuse_awaitable(result: object) -> None:
    """Raise TypeError: a plain function gave a coroutine, which nobody would ever await."""
    if inspect.iscoroutine(result):
        result.close()  # Or Python warns that it was never awaited.
    raise TypeError("it returned something to await: declare it with 'async def'")
