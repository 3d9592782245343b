"""One crawl, from its options to its summary."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.content.started_analyst import StartedAnalyst
from gossamer.control.clock import steady_clock
from gossamer.control.directory import CrawlDirectory
from gossamer.control.engine import Engine
from gossamer.control.kit import Surroundings, open_kit
from gossamer.control.observer import Observer, Summary
from gossamer.control.plan import Plan
from gossamer.control.scoring import load_scorer
from gossamer.download import NameTable
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.model import Snapshot
from gossamer.modules import TIME_LIMIT_S, Module, ModuleContext, ModuleRunner
from gossamer.stores.contract import Store
from gossamer.stores.embedded import EmbeddedStore
from gossamer.stores.memory import MemoryShelf
from gossamer.stores.shelf import Shelf
from gossamer.stores.sqlite import SqliteShelf
from gossamer.worker.pipeline import Kit, tell_depths

HOSTS_SHOWN = 5


class Crawl:
    """Sets a crawl up, runs it and takes it down again.

    It may be interrupted at any moment: `stop` ends it with what is in work finished; cancelling
    `run` gives back what is in work. Either way the crawl goes on when it is run again.
    """

    def __init__(  # noqa: PLR0913 -- what only some crawls have comes by name
        self,
        plan: Plan,
        modules: Sequence[Module],
        observer: Observer,
        *,
        dns: NameTable | None = None,
        module_limit_s: float = TIME_LIMIT_S,
        clock: Callable[[], float] | None = None,
        analyst: StartedAnalyst | None = None,
    ) -> None:
        self._plan = plan
        self._runner = ModuleRunner(modules, time_limit_s=module_limit_s)
        self._scorer = load_scorer(plan)
        self._observer = observer
        self._dns = dns
        self._analyst = analyst
        self._clock = clock or steady_clock()
        self._engine: Engine | None = None
        self._stopped = False
        self._started = self._clock()
        self._pages_before = 0

    def stop(self) -> None:
        """End the crawl when what is in work is finished."""
        self._stopped = True
        if self._engine is not None:
            self._engine.stop()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        self._started = self._clock()
        with self._directory() as directory:
            async with self._open_store(directory) as (store, shelf), AsyncExitStack() as stack:
                begun = shelf.get("options") is not None
                has_more = not begun or await store.untold()
                ended_by = None if has_more else await store.ended_by()
                was_over = ended_by is not None
                if ended_by is None:
                    kit = await self._set_up(store, stack, directory.path)
                    if begun:
                        shelf.put("options", self._plan.note())  # budgets may have changed
                    else:
                        await self._plant(kit, shelf)
                    ended_by = await self._crawl(kit)
                snapshot = self._rated(await store.snapshot(self._clock()))
                hosts = await store.hosts(HOSTS_SHOWN, self._clock())
        slowest = sorted(hosts, key=lambda host: -host.mean_ms)[:HOSTS_SHOWN]
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            was_over=was_over,
            directory=str(self._plan.directory),
            slowest_hosts=[host for host in slowest if host.pages],
            modules=[] if was_over else self._runner.report(),
        )

    def _directory(self) -> CrawlDirectory:
        """Return where state and results go: nowhere, if only the memory is asked for."""
        options = self._plan.options
        nowhere = options.dir is None and options.store.scheme == "memory"
        return CrawlDirectory(self._plan.directory, needed=not nowhere)

    @asynccontextmanager
    async def _open_store(
        self, directory: CrawlDirectory
    ) -> AsyncIterator[tuple[EmbeddedStore, Shelf]]:
        """Open the crawl's state, new or as it was left."""
        address = self._plan.options.store
        shelf: Shelf
        if address.scheme == "memory":
            shelf = MemoryShelf()
        else:
            path = address.path or directory.database
            if self._plan.options.fresh:
                directory.clear(path)
            shelf = SqliteShelf(path)
        note = shelf.get("options")
        if note is not None:
            try:
                self._plan.compare(note)
            except BaseException:
                shelf.close()
                raise
        rules = self._plan.store_rules(strict=self._scorer.strict)
        store = EmbeddedStore(shelf, rules, self._clock())
        self._pages_before = (await store.snapshot(self._clock())).pages
        try:
            yield store, shelf
        finally:
            await store.close()

    async def _set_up(self, store: EmbeddedStore, stack: AsyncExitStack, results: Path) -> Kit:
        """Open the client and the modules; the stack closes them again."""
        stack.push_async_callback(self._scorer.close)
        context = ModuleContext(
            directory=results,
            crawl=self._plan.name,
            worker=0,
            resumed_from=store.last_page,
            gaps=store.gaps,
        )
        own = Surroundings(
            runner=self._runner,
            clock=self._clock,
            observer=self._observer,
            dns=self._dns,
            analyst=self._analyst,
        )
        return await open_kit(self._plan, store, own, context, stack)

    async def _plant(self, kit: Kit, shelf: Shelf) -> None:
        """Add the seeds, and note the options with which the crawl has begun, in one step."""
        seeds = [kit.filer.file(seed) for seed in self._plan.seeds]
        await kit.store.plant(seeds, self._clock())
        shelf.put("options", self._plan.note())
        await kit.store.commit()

    async def _crawl(self, kit: Kit) -> str:
        """Tell the modules what a crash kept from them, and let the engine run."""
        plan = self._plan
        if untold := await kit.store.untold():
            await tell_depths(kit.store, kit.modules, untold)
        draw = Draw(
            QueueTable(plan.options.queues), plan.options.random_seed, strict=self._scorer.strict
        )
        self._engine = Engine(
            kit, self._scorer, draw, plan.places(), self._tick, plan.options.url_queue
        )
        if self._stopped:
            self._engine.stop()
        return await self._engine.run()

    async def _tick(self, store: Store) -> None:
        """Show how far the crawl is."""
        now = self._clock()
        hosts = await store.hosts(HOSTS_SHOWN, now)
        self._observer.tick(self._rated(await store.snapshot(now)), hosts)

    def _rated(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with the time and the rate of this run."""
        elapsed_s = max(self._clock() - self._started, 1e-9)
        rate = (snapshot.pages - self._pages_before) / elapsed_s
        return msgspec.structs.replace(snapshot, elapsed_s=elapsed_s, pages_per_s=rate)
