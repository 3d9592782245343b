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
from gossamer.modules.seat import Seat
from gossamer.modules.tally import ModuleReport

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
        self._seats = [Seat(module, slow_after_s) for module in modules]
        takers = [(seat, seat.module.page) for seat in self._seats]
        self._direct = [(seat, call) for seat, call in takers if call and seat.takes_pages_directly]
        self._awaited = [
            (seat, call) for seat, call in takers if call and not seat.takes_pages_directly
        ]
        self._opened: list[Seat] = []

    async def open(self, context: ModuleContext) -> None:
        """Open every module; GossamerError if one cannot, and then none is left open."""
        try:
            for seat in self._seats:
                if seat.module.open is not None:
                    ended = await seat.begin(seat.module.open, (context,), None)
                    if ended.error is not None:
                        refuse_to_start(seat.module, ended.error)
                self._opened.append(seat)
        except BaseException:
            await self.close()
            raise

    async def deliver(self, page: Page) -> None:
        """Give the page to every module; CrawlError only if one ends the crawl on purpose."""
        begun = [
            (seat, seat.begin(call, (page,), self._time_limit_s)) for seat, call in self._awaited
        ]
        stop: GossamerError | None = None
        for seat, call in self._direct:
            ended = make_call(call, (page,))
            seat.tally.note_page(page, ended)
            stop = stop or on_purpose(ended)
        try:
            for seat, future in begun:
                ended = await future
                seat.tally.note_page(page, ended)
                stop = stop or on_purpose(ended)
        finally:
            for _, future in begun:
                future.cancel()  # Only where this is cancelled itself; else all have ended.
        if stop is not None:
            raise stop

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the modules that a page delivered before has a shorter path; as `deliver`."""
        for seat in self._seats:
            if seat.module.depth_changed is None:
                continue
            arguments = (page_id, depth)
            ended = await seat.begin(seat.module.depth_changed, arguments, self._time_limit_s)
            if ended.end is not End.RETURNED:
                seat.tally.note_trouble(f"the new depth of page {page_id}", ended)
            if (stop := on_purpose(ended)) is not None:
                raise stop

    async def close(self) -> None:
        """Close what was opened, the last one first; troubles are told and counted."""
        while self._opened:
            seat = self._opened.pop()
            if seat.module.close is not None:
                ended = await seat.begin(seat.module.close, (), self._close_limit_s)
                seat.tally.note_close(ended)
            seat.tally.summarise()
        for seat in self._seats:
            seat.leave()

    def report(self) -> list[ModuleReport]:
        """Return how each module has fared so far, in the order given."""
        return [seat.tally.report() for seat in self._seats]


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
