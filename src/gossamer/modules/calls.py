"""Calls of other people's code: made so that nothing they raise gets out, and described.

A call that does not return cannot be ended from outside; we can only stop waiting for it. So plain
calls of a module or scorer are made in a thread of its own, in their order. The thread is a daemon,
so that it does not keep the process from ending either.
"""

import asyncio
import inspect
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import PurePath
from queue import Empty, SimpleQueue

import msgspec

MAX_LENGTH = 200
"""How long the description of an error may be."""


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


class Job(msgspec.Struct, eq=False):
    """A call to be made, and the future that gets its result."""

    function: Callable[..., object]
    arguments: tuple[object, ...]
    limit_s: float | None
    result: asyncio.Future[CallResult]
    started: float | None = None
    """Set by the thread when the call begins."""


class CallThread:
    """Makes calls in one thread, in the order in which they were asked for.

    A call that exceeds its time limit is TIMED_OUT; those behind it, and new ones until it returns
    after all, are MISSED.
    """

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: deque[tuple[Job, CallResult]] = deque()
        self._waking = False
        self._jobs: deque[Job] = deque()
        """What has no result yet, in order; the first one is in progress or about to be."""
        self._timer: asyncio.TimerHandle | None = None
        self._stuck: Job | None = None
        # The thread touches `_inbox`, `_finished` and `_waking` only; the rest is the loop's.
        threading.Thread(target=self._work, name=f"gossamer {name}", daemon=True).start()

    def begin(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit_s: float | None
    ) -> asyncio.Future[CallResult]:
        """Ask for a call; the future never raises."""
        result: asyncio.Future[CallResult] = self._loop.create_future()
        if self._stuck is not None:
            result.set_result(MISSED)
            return result
        job = Job(function, arguments, limit_s, result)
        self._jobs.append(job)
        self._inbox.put(job)
        if self._timer is None and limit_s is not None:
            self._timer = self._loop.call_later(limit_s, self._check)
        return result

    @property
    def is_stuck(self) -> bool:
        """Whether a call has exceeded its time and not returned."""
        return self._stuck is not None

    def stop(self) -> None:
        """Let the thread end when it has nothing more to do."""
        self._inbox.put(None)
        if self._timer is not None:
            self._timer.cancel()

    def _work(self) -> None:
        """Make the calls; this is what the thread runs."""
        while (job := self._inbox.get()) is not None:
            result = MISSED
            if not job.result.cancelled():
                job.started = time.monotonic()
                try:
                    result = make_call(job.function, job.arguments)
                except KeyboardInterrupt as error:
                    # The user's Ctrl-C only ever reaches the main thread: this is its own.
                    result = CallResult(CallStatus.RAISED, error=error)
            self._finished.append((job, result))
            # One wake-up serves all calls that end before the loop gets round to it. Nothing is
            # forgotten: we append before we read the flag, `_collect` clears it before it reads.
            if not self._waking:
                self._waking = True
                try:
                    self._loop.call_soon_threadsafe(self._collect)
                except RuntimeError:
                    return  # The loop is closed: the crawl ended while the call was stuck.

    def _collect(self) -> None:
        """Pass the results on to those who wait for them."""
        self._waking = False
        while self._finished:
            job, result = self._finished.popleft()
            self._jobs.popleft()
            if job is self._stuck:
                self._stuck = None
            set_result(job.result, result)

    def _check(self) -> None:
        """Give up a call that has exceeded its limit, or check again when it would have."""
        self._timer = None
        self._collect()
        job = self._jobs[0] if self._jobs else None
        if job is None or job.limit_s is None:
            return
        spent_s = time.monotonic() - job.started if job.started is not None else 0.0
        if spent_s < job.limit_s:
            self._timer = self._loop.call_later(job.limit_s - spent_s, self._check)
            return
        self._stuck = job
        set_result(job.result, CallResult(CallStatus.TIMED_OUT, spent_s))
        self._drop_waiting()
        self._timer = self._loop.call_later(job.limit_s, self._check)

    def _drop_waiting(self) -> None:
        """Take back what the thread has not begun; if it just began one, that one goes on."""
        dropped = []
        with suppress(Empty):
            while True:
                dropped.append(self._inbox.get_nowait())
        for job in filter(None, dropped):
            self._jobs.pop()  # They are the last ones, in the same order.
            set_result(job.result, MISSED)


def describe(error: BaseException, file: str | None = None) -> str:
    """Return `ZeroDivisionError: division by zero (mine.py, line 3)`, safe to print.

    The line is the last one of `file` that the error passed through, or else where it was raised.
    """
    where = location(error, file)
    return f"{message(error)} ({where[0]}, line {where[1]})" if where else message(error)


def message(error: BaseException) -> str:
    """Return the type and message in one printable line, whatever `str(error)` does."""
    if isinstance(error, SyntaxError):
        text = f"{type(error).__name__}: {error.msg}"
    else:
        # As the library has it: this survives an exception whose __str__ raises.
        text = traceback.format_exception_only(error)[0]
        text = text.removeprefix(f"{type(error).__module__}.")
    return _printable(text)


def printable_message(error: BaseException) -> str:
    """Return the message of an error of ours in one printable line, without its type."""
    return _printable(str(error))


def _printable(text: str) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 1]}…"
    # Messages quote pages, and pages hold escape sequences.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def location(error: BaseException, file: str | None = None) -> tuple[str, int] | None:
    """Return the file name (without folders) and line where the error came from, if it has one."""
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno is not None:
        return PurePath(file or "?").name, error.lineno
    steps = traceback.walk_tb(error.__traceback__)
    lines = [(frame.f_code.co_filename, number) for frame, number in steps]
    if not lines:
        return None
    name, number = ([line for line in lines if line[0] == file] or lines)[-1]
    return PurePath(name or "?").name, number
