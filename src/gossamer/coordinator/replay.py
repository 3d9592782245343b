"""The replay of a crawl: modules see every kept page, in order, as the crawl would show them."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import msgspec
import xxhash

from gossamer.coordinator.observer import Observer
from gossamer.coordinator.opening import IdleCrawl, IdleRequest, open_idle
from gossamer.errors import CrawlError
from gossamer.modules import Module, ModuleContext, ModuleReport, ModuleRunner
from gossamer.modules.kept_pages import read_page
from gossamer.plan import Plan
from gossamer.plan.origin import working_directory
from gossamer.plugins.files import absolute_name
from gossamer.stores.atomic_files import write_file
from gossamer.stores.notes import read_note
from gossamer.stores.ownership import IDENTITY_NOTE
from gossamer.stores.reading import CrawlReader, ReadRequest
from gossamer.stores.registry import kind_of, open_for_reading
from gossamer.stores.results import Record, ReplayedPage


class ReplayProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Which kept pages a module has been shown."""

    module: str
    crawl: float
    """When the crawl began: another crawl in the same directory is shown from its start."""
    last: int = 0
    """The largest number of a page that was its turn."""
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


class ProgressFile:
    """The file that keeps how far a module is."""

    def __init__(self, directory: Path, module: str, crawl: float) -> None:
        self._start = ReplayProgress(module=module, crawl=crawl)
        self._directory = directory
        word = re.sub(r"[^A-Za-z0-9]+", "-", module).strip("-")[-40:]
        self._name = f".replay-{word}-{xxhash.xxh3_64_hexdigest(module.encode())[:8]}.json"

    def read(self) -> ReplayProgress:
        """Return how far the module is; at its start if it was not shown any page of this crawl."""
        try:
            found = msgspec.json.decode(
                (self._directory / self._name).read_bytes(), type=ReplayProgress
            )
        except FileNotFoundError:
            return self._start
        except (OSError, msgspec.DecodeError) as error:
            raise CrawlError(
                f"cannot read {self._directory / self._name}, which tells how far the replay is "
                f"({error}): --from-start shows all pages again"
            ) from error
        same = (found.module, found.crawl) == (self._start.module, self._start.crawl)
        return found if same else self._start

    def start_over(self) -> ReplayProgress:
        """Return the start, which is where a replay goes on from now on."""
        self.write(self._start)
        return self._start

    def write(self, progress: ReplayProgress) -> None:
        """Keep how far the module is; this outlasts the process."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            write_file(str(self._directory), self._name, [msgspec.json.encode(progress)])
        except OSError as error:
            raise CrawlError(
                f"cannot write how far the replay is into {self._directory}: {error.strerror}"
            ) from error


class ReplayRecords:
    """Stores the records of one module."""

    def __init__(self, crawl: IdleCrawl, shown: ReplayProgress) -> None:
        """Begin behind the pages that were shown."""
        self._crawl = crawl
        self._progress = shown
        self._note = f"replay:{shown.module}"

    async def start_over(self) -> None:
        """Have the records of all pages stored once more."""
        await self._store(0, ())

    async def go_on(self, reader: CrawlReader) -> None:
        """Begin behind the pages whose records are stored, if those are more."""
        note = await reader.note(self._note)
        stored = read_note(note, ReplayProgress, f"the note {self._note} in the store is")
        if stored is not None and stored.crawl == self._progress.crawl:
            self._progress = max(self._progress, stored, key=lambda one: one.last)

    async def add(self, page_id: int, records: Sequence[Record]) -> None:
        """Store the records of a page, unless they are."""
        if self._progress.is_due(page_id):
            self._progress = self._progress.after(page_id)
            if records:
                await self._store(page_id, records)

    async def _store(self, page_id: int, records: Sequence[Record]) -> None:
        replayed = ReplayedPage(
            page_id=page_id,
            records=tuple(records),
            note=self._note,
            progress=msgspec.json.encode(self._progress),
        )
        await self._crawl.add_replayed(replayed, time.time())


KEEP_EVERY_S = 1.0
TELL_EVERY_S = 5.0


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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plan = plan
        self._modules = modules
        self._observer = observer
        self._from_start = from_start
        self._clock = clock
        self._stopped = False

    def stop(self) -> None:
        """End after the page under way."""
        self._stopped = True

    async def run(self) -> list[ReplayReport]:
        """Show the pages to each module; return what came of it."""
        plan, store = self._plan, self._plan.options.store
        idle = IdleRequest(
            address=store, name=plan.name, directory=plan.directory, say=self._observer.say
        )
        name = plan.name if kind_of(store).shared else None
        request = ReadRequest(address=store, name=name, directory=plan.directory)
        reports = []
        async with open_idle(idle) as crawl, open_for_reading(request) as reader:
            keeping = asyncio.create_task(_keep(crawl))
            try:
                for module in self._modules:
                    reports.append(await self._show_all(module, reader, crawl, keeping))
                    if self._stopped:
                        break
            finally:
                keeping.cancel()
        return reports

    async def _show_all(
        self,
        module: Module,
        reader: CrawlReader,
        crawl: IdleCrawl,
        keeping: "asyncio.Task[None]",
    ) -> ReplayReport:
        """Show a module the pages that it has not been shown, while the crawl is kept for us."""
        plan, counts, started = self._plan, await reader.counts(), self._clock()
        name = absolute_name(module.name, working_directory())
        file = ProgressFile(plan.directory, name, counts.started_at or 0.0)
        progress = file.start_over() if self._from_start else file.read()
        records = ReplayRecords(crawl, progress)
        await (records.start_over() if self._from_start else records.go_on(reader))
        runner = ModuleRunner([module])
        identity = await reader.note(IDENTITY_NOTE) or b""
        context = _context(plan, progress, identity.decode())
        await runner.prepare(context)
        await runner.open(context)
        shown, expired, tell_at = 0, 0, started + TELL_EVERY_S
        try:
            async for record in reader.pages():
                if self._stopped:
                    break
                if not progress.is_due(record.id):
                    continue
                if (page := await read_page(reader, record, plan.analysis_rules())) is None:
                    expired += 1
                else:
                    delivered = await runner.deliver(page)
                    await records.add(record.id, delivered.records)
                    shown += 1
                progress = progress.after(record.id)
                file.write(progress)
                await asyncio.sleep(0)  # signals are heard only in between
                if keeping.done():
                    keeping.result()  # why the crawl is lost
                if self._clock() >= tell_at:
                    tell_at = self._clock() + TELL_EVERY_S
                    words = f"{module.name} has seen page {record.id:,} of {counts.pages:,}"
                    self._observer.say("info", words)
        finally:
            await runner.close()
        (report,) = runner.report()
        return ReplayReport(
            module=report,
            pages=counts.pages,
            shown=shown,
            expired=expired,
            elapsed_s=self._clock() - started,
            stopped=self._stopped,
        )


def _context(plan: Plan, progress: ReplayProgress, identity: str) -> ModuleContext:
    return ModuleContext(
        directory=plan.directory,
        crawl=plan.name,
        identity=identity,
        worker=0,
        resumed_from=progress.last,
        gaps=frozenset(progress.gaps),
        replay=True,
    )


async def _keep(crawl: IdleCrawl) -> None:
    """Keep a crawl to ourselves, until it is lost."""
    while True:
        await asyncio.sleep(KEEP_EVERY_S)
        await crawl.keep()
