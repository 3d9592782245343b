"""One module in a crawl: its calls are made where they belong, within their time, and counted."""

import asyncio
from collections.abc import Callable
from functools import partial

from gossamer.modules.calls import End, Ended, make_async_call, make_call
from gossamer.modules.contract import Module
from gossamer.modules.module_stats import ModuleStats
from gossamer.modules.shape import is_async
from gossamer.modules.thread import CallThread


class ModuleHost:
    """Makes a module's calls, on the event loop or in the module's thread."""

    def __init__(self, module: Module, slow_after_s: float) -> None:
        self.module = module
        self.stats = ModuleStats(module.name, module.file, slow_after_s)
        self._thread: CallThread | None = None
        self._tasks: set[asyncio.Task[Ended]] = set()
        """Kept here, because the event loop holds its tasks only weakly."""

    @property
    def takes_pages_directly(self) -> bool:
        """Whether `page` can be called on the event loop without further ado."""
        page = self.module.page
        return self.module.on_loop and page is not None and not is_async(page)

    def begin(
        self, function: Callable[..., object], arguments: tuple[object, ...], limit_s: float | None
    ) -> asyncio.Future[Ended]:
        """Start a call; the future tells how it ended and never raises.

        Cancelling the future calls the call off, where that is still possible.
        """
        loop = asyncio.get_running_loop()
        if not self.module.on_loop:
            if self._thread is None:
                self._thread = CallThread(self.module.name, loop)
            return self._thread.begin(function, arguments, limit_s)
        ended: asyncio.Future[Ended] = loop.create_future()
        if not is_async(function):
            ended.set_result(make_call(function, arguments))
            return ended
        task = loop.create_task(make_async_call(function, arguments))
        self._tasks.add(task)
        task.add_done_callback(partial(self._finish, ended))
        ended.add_done_callback(lambda _: task.cancel())
        if limit_s is not None:
            timer = loop.call_later(limit_s, settle, ended, Ended(End.TIMED_OUT, limit_s))
            ended.add_done_callback(lambda _: timer.cancel())
        return ended

    def leave(self) -> None:
        """Let the thread end; one that is stuck is left to itself."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    def _finish(self, ended: asyncio.Future[Ended], task: asyncio.Task[Ended]) -> None:
        """Pass on how the task ended, if anybody still waits for it."""
        self._tasks.discard(task)
        if task.cancelled():
            settle(ended, Ended(End.RAISED, error=asyncio.CancelledError("it cancelled itself")))
        elif (error := task.exception()) is not None:
            settle(ended, Ended(End.RAISED, error=error))
        else:
            settle(ended, task.result())


def settle(future: asyncio.Future[Ended], ended: Ended) -> None:
    """Set the result, unless the future has one already."""
    if not future.done():
        future.set_result(ended)
