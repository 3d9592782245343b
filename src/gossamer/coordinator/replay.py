"""The replay of a crawl: modules see every kept page, in order, as the crawl would show them."""

import asyncio
import time
from collections.abc import Sequence
from typing import Self

import msgspec

from gossamer.coordinator.coordinate import LockedRows, OpenRequest, open_to_replay
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan, parse_rules
from gossamer.coordinator.resume import working_directory
from gossamer.modules.contract import Module, ModuleContext
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.plugins import absolute_name
from gossamer.modules.runner import ModuleRunner
from gossamer.modules.stored_pages import read_page
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.files import IDENTITY_NAME
from gossamer.stores.reader import CrawlReader
from gossamer.stores.registry import open_for_reading
from gossamer.stores.rows import decode_metadata
from gossamer.stores.url_record import Record

RENEW_EVERY_S = 1.0
SHOW_EVERY_S = 5.0


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the replay of one module."""

    module: ModuleReport
    pages: int
    """How many pages the crawl has."""
    shown: int
    """How many of them the module was shown now."""
    expired: int
    """How many could not be shown, because their bodies are not kept any more."""
    elapsed_s: float
    stopped: bool
    """Whether it was stopped before all were shown."""


class Replay:
    """Shows the kept pages of a crawl to modules, one module after another.

    Nobody may work on the crawl meanwhile. `stop` ends it after the page under way.
    """

    def __init__(
        self,
        plan: Plan,
        modules: Sequence[Module],
        observer: Observer,
        *,
        from_start: bool = False,
    ) -> None:
        self._plan = plan
        self._modules = modules
        self._observer = observer
        self._from_start = from_start
        self._stopped = False
        self._is_open = False

    @property
    def is_working(self) -> bool:
        """Whether the crawl is open; until then it waits for its store, or for others to end."""
        return self._is_open

    def stop(self) -> None:
        """End after the page under way."""
        self._stopped = True

    async def run(self) -> list[ReplayReport]:
        """Show the pages to each module; return what came of it."""
        plan, store = self._plan, self._plan.options.store
        to_lock = OpenRequest(
            address=store, name=plan.name, directory=plan.directory, say=self._observer.say
        )
        name = plan.name if store.is_shared else None
        request = ReadRequest(address=store, name=name, directory=plan.directory)
        reports = []
        async with open_to_replay(to_lock) as crawl, open_for_reading(request) as reader:
            self._is_open = True
            renewing = asyncio.create_task(_renew_lead(crawl))
            try:
                for module in self._modules:
                    reports.append(await self._show_all(module, reader, crawl, renewing))
                    if self._stopped:
                        break
            finally:
                renewing.cancel()
        return reports

    async def _show_all(
        self, module: Module, reader: CrawlReader, crawl: LockedRows, renewing: "asyncio.Task[None]"
    ) -> ReplayReport:
        """Show a module the pages that it has not been shown, while the crawl is kept for us."""
        plan, counts, started = self._plan, await reader.counts(), time.monotonic()
        name = absolute_name(module.name, working_directory())
        note = f"replay:{name}"
        progress = ReplayProgress(crawl=counts.started_at or 0.0)
        before = decode_metadata(await reader.metadata(note), ReplayProgress, f"the note {note} is")
        if before is not None and before.crawl == progress.crawl and not self._from_start:
            progress = before
        runner = ModuleRunner([module])
        context = ModuleContext(
            directory=plan.directory,
            crawl=plan.name,
            identity=(await reader.metadata(IDENTITY_NAME) or b"").decode(),
            worker=0,
            resumed_from=progress.last,
            gaps=frozenset(progress.gaps),
            replay=True,
        )
        await runner.prepare(context)
        await runner.open(context)
        shown, expired, show_at = 0, 0, started + SHOW_EVERY_S
        try:
            async for record in reader.pages():
                if self._stopped:
                    break
                if not progress.is_due(record.id):
                    continue
                records: Sequence[Record] = ()
                if (page := await read_page(reader, record, parse_rules(plan.options))) is None:
                    expired += 1
                else:
                    records = (await runner.deliver(page)).records
                    shown += 1
                progress = progress.after(record.id)
                noted = {note: msgspec.json.encode(progress)}
                await crawl.add_replayed(record.id, records, noted, time.time())
                await asyncio.sleep(0)  # signals are heard only in between
                if renewing.done():
                    renewing.result()  # why the crawl is lost
                if time.monotonic() >= show_at:
                    show_at = time.monotonic() + SHOW_EVERY_S
                    message = f"{module.name} has seen page {record.id:,} of {counts.pages:,}"
                    self._observer.say("info", message)
        finally:
            await runner.close()
        (report,) = runner.report()
        return ReplayReport(
            module=report,
            pages=counts.pages,
            shown=shown,
            expired=expired,
            elapsed_s=time.monotonic() - started,
            stopped=self._stopped,
        )


async def _renew_lead(crawl: LockedRows) -> None:
    """Keep a crawl to ourselves, until it is lost."""
    while True:
        await asyncio.sleep(RENEW_EVERY_S)
        await crawl.renew_lead()


class ReplayProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Which kept pages a module has been shown: a note in the store.

    It is stored after each page, with the records that the module has extracted from it, in one
    step. So they are stored once, and a replay that is killed shows at most one page twice.
    """

    crawl: float
    """When the crawl began: one that was started over is shown from its start."""
    last: int = 0
    """The largest number of a page that had its turn."""
    gaps: tuple[int, ...] = ()
    """The smaller numbers that no page had: a crawl that goes on gives them to its next pages."""

    def is_due(self, number: int) -> bool:
        """Tell whether a page has not had its turn yet."""
        return number > self.last or number in self.gaps

    def after(self, number: int) -> Self:
        """Return the progress after the turn of a page that was due."""
        if number <= self.last:
            gaps = tuple(gap for gap in self.gaps if gap != number)
        else:
            gaps = (*self.gaps, *range(self.last + 1, number))
        return msgspec.structs.replace(self, last=max(self.last, number), gaps=gaps)
