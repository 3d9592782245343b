"""Brings each page to each module, and keeps the modules' troubles away from the crawl.

Why a plain module has a thread: called on the event loop, one `time.sleep` in it would stop every
download. Handing a page over and back costs about 15 µs of CPU when pages come together, and some
100 µs when they come one at a time, where there is time enough.
"""

from collections.abc import Sequence
from typing import NoReturn

from gossamer.errors import CrawlError, GossamerError
from gossamer.model import Page
from gossamer.modules.calls import End, Ended, make_call
from gossamer.modules.contract import Module, ModuleContext
from gossamer.modules.failures import describe
from gossamer.modules.module_host import ModuleHost
from gossamer.modules.module_stats import ModuleReport

TIME_LIMIT_S = 30.0
"""After this a call with a page is given up."""
SLOW_AFTER_S = 0.1
"""A module that takes longer for a page is called slow."""
CLOSE_LIMIT_S = 300.0
"""Closing may mean to write down everything a module has gathered."""


class ModuleRunner:
    """The modules of a crawl: opened together, given every page, closed together.

    `deliver` returns when every module has taken the page, failed at it, or was given up: only then
    may the page be settled, or a crash would keep it from a module for good. So no more pages wait
    for a module than there are calls of `deliver` at work, and a crawl is as fast as its slowest
    module.
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
        self._module_hosts = [ModuleHost(module, slow_after_s) for module in modules]
        takers = [(module_host, module_host.module.page) for module_host in self._module_hosts]
        self._direct = [
            (module_host, call)
            for module_host, call in takers
            if call and module_host.takes_pages_directly
        ]
        self._awaited = [
            (module_host, call)
            for module_host, call in takers
            if call and not module_host.takes_pages_directly
        ]
        self._opened: list[ModuleHost] = []

    async def open(self, context: ModuleContext) -> None:
        """Open every module; GossamerError if one cannot, and then none is left open."""
        try:
            for module_host in self._module_hosts:
                if module_host.module.open is not None:
                    ended = await module_host.begin(module_host.module.open, (context,), None)
                    if ended.error is not None:
                        refuse_to_start(module_host.module, ended.error)
                self._opened.append(module_host)
        except BaseException:
            await self.close()
            raise

    async def deliver(self, page: Page) -> None:
        """Give the page to every module; CrawlError only if one ends the crawl on purpose."""
        begun = [
            (module_host, module_host.begin(call, (page,), self._time_limit_s))
            for module_host, call in self._awaited
        ]
        stop: GossamerError | None = None
        for module_host, call in self._direct:
            ended = make_call(call, (page,))
            module_host.stats.note_page(page, ended)
            stop = stop or on_purpose(ended)
        try:
            for module_host, future in begun:
                ended = await future
                module_host.stats.note_page(page, ended)
                stop = stop or on_purpose(ended)
        finally:
            for _, future in begun:
                future.cancel()  # Only where this is cancelled itself; else all have ended.
        if stop is not None:
            raise stop

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the modules that a page delivered before has a shorter path; as `deliver`."""
        for module_host in self._module_hosts:
            if module_host.module.depth_changed is None:
                continue
            arguments = (page_id, depth)
            ended = await module_host.begin(
                module_host.module.depth_changed, arguments, self._time_limit_s
            )
            if ended.end is not End.RETURNED:
                module_host.stats.note_trouble(f"the new depth of page {page_id}", ended)
            if (stop := on_purpose(ended)) is not None:
                raise stop

    async def close(self) -> None:
        """Close what was opened, the last one first; troubles are told and counted."""
        while self._opened:
            module_host = self._opened.pop()
            if module_host.module.close is not None:
                ended = await module_host.begin(module_host.module.close, (), self._close_limit_s)
                module_host.stats.note_close(ended)
            module_host.stats.summarise()
        for module_host in self._module_hosts:
            module_host.leave()

    def report(self) -> list[ModuleReport]:
        """Return how each module has fared so far, in the order given."""
        return [module_host.stats.report() for module_host in self._module_hosts]


def on_purpose(ended: Ended) -> GossamerError | None:
    """Return the error by which a module ends the crawl, if it does."""
    return ended.error if isinstance(ended.error, GossamerError) else None


def refuse_to_start(module: Module, error: BaseException) -> NoReturn:
    """Raise what a module's `open` raised, as an error of ours."""
    if isinstance(error, GossamerError):
        raise error
    raise CrawlError(
        f"module {module.name} could not open: {describe(error, module.file)}"
    ) from error
