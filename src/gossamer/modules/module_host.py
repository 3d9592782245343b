"""The host of one module: it makes the module's calls, within their time, and counts them."""

import asyncio
from collections.abc import Callable
from functools import partial

from gossamer.modules.contract import Module
from gossamer.modules.module_stats import ModuleStats
from gossamer.plugins.calls import (
    CallResult,
    CallStatus,
    is_async,
    make_async_call,
    make_call,
    set_result,
)
from gossamer.plugins.thread import CallThread


class ModuleHost:
    """Makes a module's calls, on the event loop or in the module's thread."""

    def __init__(self, module: Module, slow_after_s: float) -> None:
        self.module = module
        self.stats = ModuleStats(module.name, module.file, slow_after_s)
        self._thread: CallThread | None = None
        self._tasks: set[asyncio.Task[CallResult]] = set()
        """Kept here, because the event loop holds its tasks only weakly."""

    def begin(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit_s: float | None
    ) -> asyncio.Future[CallResult]:
        """Start a call; the future never raises.

        Cancelling the future cancels the call, where that is still possible.
        """
        loop = asyncio.get_running_loop()
        if not self.module.on_loop:
            if self._thread is None:
                self._thread = CallThread(f"module {self.module.name}", loop)
            return self._thread.begin(function, arguments, limit_s)
        result: asyncio.Future[CallResult] = loop.create_future()
        if not is_async(function):
            result.set_result(make_call(function, arguments))
            return result
        task = loop.create_task(make_async_call(function, arguments))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finish, result))
        result.add_done_callback(lambda _: task.cancel())
        if limit_s is not None:
            timed_out = CallResult(CallStatus.TIMED_OUT, limit_s)
            timer = loop.call_later(limit_s, set_result, result, timed_out)
            result.add_done_callback(lambda _: timer.cancel())
        return result

    @property
    def is_stuck(self) -> bool:
        """Whether a call has exceeded its time and not returned."""
        return self._thread is not None and self._thread.is_stuck

    def stop(self) -> None:
        """Let the thread end; we do not wait for one that is stuck."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    def _finish(self, result: asyncio.Future[CallResult], task: asyncio.Task[CallResult]) -> None:
        """Pass the task's result on, if anybody still waits for it."""
        self._tasks.discard(task)
        if task.cancelled():
            error: BaseException | None = asyncio.CancelledError("it cancelled itself")
        else:
            error = task.exception()
        raised = error is not None
        set_result(result, CallResult(CallStatus.RAISED, error=error) if raised else task.result())
