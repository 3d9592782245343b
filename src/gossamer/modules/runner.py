"""The runner of a crawl's modules: it brings each page to each of them.

Why a plain module has a thread: called on the event loop, one `time.sleep` in it would stop every
download. Handing a page over and back costs about 15 µs of CPU when pages come together, and some
100 µs when they come one at a time, where there is time enough.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import msgspec

from gossamer.model import Page
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.calls import (
    MISSED,
    CallResult,
    CallStatus,
    CallThread,
    describe,
    is_async,
    make_async_call,
    make_call,
    set_result,
)
from gossamer.modules.contract import (
    Delivered,
    FinishedUrl,
    FollowedLink,
    Module,
    ModuleContext,
    hooks_of,
)
from gossamer.modules.extraction import Extraction, choosing, extracting
from gossamer.modules.module_stats import ModuleReport, ModuleStats
from gossamer.stores.url_record import Record

TIME_LIMIT_S = 30.0
"""How long we wait for a call with a page."""
SLOW_AFTER_S = 5.0
"""A module that takes longer for a page is called slow: many a good one waits for a service."""
CLOSE_LIMIT_S = 300.0
"""Closing may mean to write down everything a module has gathered."""


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
        if self.is_direct(function):
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

    def is_direct(self, call: Callable[..., object]) -> bool:
        """Tell whether a call is made at once, without a thread or a task."""
        return self.module.on_loop and not is_async(call)

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
        error: BaseException | None = asyncio.CancelledError("it cancelled itself")
        if not task.cancelled() and (error := task.exception()) is None:
            set_result(result, task.result())
        else:
            set_result(result, CallResult(CallStatus.RAISED, error=error))


class ModuleRunner:
    """The modules of a crawl: opened together, given every page, closed together.

    `deliver` returns when every module has taken the page, failed at it, or exceeded its time: only
    then may the page be settled, or a crash would keep it from a module for good. So no more pages
    wait for a module than there are calls of `deliver` at work, and a crawl is as fast as its
    slowest module.
    """

    def __init__(
        self,
        modules: Sequence[Module],
        *,
        time_limit_s: float = TIME_LIMIT_S,
        slow_after_s: float = SLOW_AFTER_S,
        close_limit_s: float = CLOSE_LIMIT_S,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._close_limit_s = close_limit_s
        self._hosts = [
            ModuleHost(module, math.inf if module.may_pause else slow_after_s) for module in modules
        ]
        takers = [(host, extracting(call)) for host, call in self._with("page")]
        self._direct = [(host, call) for host, call in takers if host.is_direct(call)]
        self._awaited = [(host, call) for host, call in takers if not host.is_direct(call)]
        self._choosers = [(host, choosing(call)) for host, call in self._with("links")]
        self._enders = [(host, extracting(call)) for host, call in self._with("finished")]
        self._opened: list[ModuleHost] = []
        self.hooks = hooks_of(modules)

    def _with(self, hook: str) -> list[tuple[ModuleHost, Callable[..., object]]]:
        hooks = [(host, getattr(host.module, hook)) for host in self._hosts]
        return [(host, call) for host, call in hooks if call is not None]

    async def prepare(self, context: ModuleContext) -> None:
        """Have the modules prepare what their instances in all workers need; as `open`."""
        for host in self._hosts:
            await _begin(host, host.module.prepare, context)

    async def conclude(self, context: ModuleContext) -> None:
        """Have the modules finish what their instances in all workers have made."""
        for host in self._hosts:
            await _begin(host, host.module.conclude, context, "could not conclude")
            host.stop()

    async def open(self, context: ModuleContext) -> None:
        """Open every module; GossamerError if one cannot, and then none is left open."""
        try:
            for host in self._hosts:
                await _begin(host, host.module.open, context)
                self._opened.append(host)
        except BaseException:
            await self.close()
            raise

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Give the page to every module, and let them choose among its links.

        Return what they have extracted and chosen; CrawlError only if one ends the crawl on
        purpose.
        """
        begun = [
            (host, host.begin(call, (page,), self._limit_s(host))) for host, call in self._awaited
        ]
        delivered, results = Delivered(), []
        for host, call in self._direct:
            results.append(result := make_call(call, (page,)))
            delivered += _taken(host, host.stats.note_page(page, result))
        try:
            for host, future in begun:
                results.append(result := await future)
                delivered += _taken(host, host.stats.note_page(page, result))
        finally:
            for _, future in begun:
                future.cancel()  # Only where this is cancelled itself; else all have ended.
        for result in results:
            _raise_on_purpose(result)
        if self._choosers:
            delivered += Delivered(links=await self._choose(page, links))
        return delivered

    async def _choose(self, page: Page, links: Sequence[FollowedLink]) -> Sequence[FollowedLink]:
        """Let the modules choose, each among what the one before has left."""
        for host, call in self._choosers:
            result = await host.begin(call, (page, links), self._limit_s(host))
            host.stats.note_choice(page, result)
            _raise_on_purpose(result)
            if result.status is CallStatus.RETURNED:
                links = cast("tuple[FollowedLink, ...]", result.value)
        return links

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Tell the modules how a URL has ended; return what they have extracted, as `deliver`."""
        delivered = Delivered()
        for host, call in self._enders:
            result = await host.begin(call, (end,), self._limit_s(host))
            delivered += _taken(host, host.stats.note_end(end.url, result))
            _raise_on_purpose(result)
        return delivered

    def _limit_s(self, host: ModuleHost) -> float | None:
        return None if host.module.may_pause else self._time_limit_s

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the modules the final depth of a page; as `deliver`."""
        for host in self._hosts:
            if (call := host.module.depth_changed) is None:
                continue
            result = await host.begin(call, (page_id, depth), self._time_limit_s)
            if result.status is not CallStatus.RETURNED:
                host.stats.note_trouble(f"the new depth of page {page_id}", result)
            _raise_on_purpose(result)

    async def close(self) -> None:
        """Close what was opened, the last one first; troubles are logged and counted."""
        while self._opened:
            host = self._opened.pop()
            if host.module.close is not None:
                host.stats.note_close(await host.begin(host.module.close, (), self._close_limit_s))
            elif host.is_stuck:
                host.stats.note_close(MISSED)
            host.stats.summarise()
        for host in self._hosts:
            host.stop()

    def report(self) -> list[ModuleReport]:
        """Return the counts of each module so far, in the order given."""
        return [host.stats.report() for host in self._hosts]


def _taken(host: ModuleHost, extraction: Extraction) -> Delivered:
    records = [Record(host.module.name, record) for record in extraction.records]
    return Delivered(records, refused=extraction.refused is not None)


async def _begin(
    host: ModuleHost,
    call: Callable[[ModuleContext], object] | None,
    context: ModuleContext,
    trouble: str = "could not open",
) -> None:
    """Make a call without which the crawl does not start, or does not end well."""
    if call is not None:
        context = msgspec.structs.replace(context, options=host.module.options)
        result = await host.begin(call, (context,), None)
        _raise_on_purpose(result)
        if result.error is not None:
            module, error = host.module, result.error
            description = describe(error, module.file)
            raise CrawlError(f"module {module.name} {trouble}: {description}") from error


def _raise_on_purpose(result: CallResult) -> None:
    """Raise the error by which a module ends the crawl, if it does."""
    if isinstance(result.error, GossamerError):
        raise result.error
