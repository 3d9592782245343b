"""A call into other people's code. Whatever it raises is a value, so that nothing escapes."""

import asyncio
import inspect
import time
from collections.abc import Callable
from enum import Enum, auto

import msgspec


class AnswerError(Exception):
    """A hook returned something that it may not: the message says what, without a line number."""


class CallStatus(Enum):
    """How a call ended."""

    RETURNED = auto()
    RAISED = auto()
    TIMED_OUT = auto()
    """We stopped waiting for it; it may still be running."""
    MISSED = auto()
    """It was never made: an earlier one has not returned."""


class CallResult(msgspec.Struct, frozen=True):
    """What came of a call."""

    status: CallStatus
    took_s: float = 0.0
    error: BaseException | None = None
    """What it raised."""
    value: object = None
    """What it returned."""


MISSED = CallResult(CallStatus.MISSED)


def is_async(call: Callable[..., object]) -> bool:
    """Tell whether the result of a call must be awaited; callable objects count as well."""
    return any(
        inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        for function in (call, type(call).__call__)
    )


def make_call(function: Callable[..., object], arguments: tuple[object, ...]) -> CallResult:
    """Call a plain function; whatever it raises is in the result, SystemExit too.

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
        return CallResult(CallStatus.RAISED, time.perf_counter() - started, error)
    return CallResult(CallStatus.RETURNED, time.perf_counter() - started, value=result)


async def make_async_call(
    function: Callable[..., object], arguments: tuple[object, ...]
) -> CallResult:
    """Call an async function and await it, as a task that may be cancelled.

    SystemExit would end the event loop if it left the task. Any other BaseException ends the task.
    """
    started = time.perf_counter()
    try:
        result = function(*arguments)
        if inspect.isawaitable(result):
            result = await result
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- as above
        return CallResult(CallStatus.RAISED, time.perf_counter() - started, error)
    return CallResult(CallStatus.RETURNED, time.perf_counter() - started, value=result)


def refuse_awaitable(result: object) -> None:
    """Raise `AnswerError`: a plain function gave a coroutine, which nobody would ever await."""
    if inspect.iscoroutine(result):
        result.close()  # Or Python warns that it was never awaited.
    raise AnswerError("it returned something to await: declare it with 'async def'")


def set_result(future: asyncio.Future[CallResult], result: CallResult) -> None:
    """Set the result, unless the future has one already."""
    if not future.done():
        future.set_result(result)
