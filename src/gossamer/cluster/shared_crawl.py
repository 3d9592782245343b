"""One crawl over a shared store, from its options to its summary."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec

from gossamer.cluster.membership import OPTIONS_NOTE, require_crawl, shared_address
from gossamer.cluster.shared_options import pack_options
from gossamer.cluster.supervisor import ProcessSpec, Supervisor
from gossamer.coordinator.clock import steady_clock
from gossamer.coordinator.observer import Level, Observer, Summary
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.scoring import load_scorer
from gossamer.errors import CrawlError
from gossamer.model import Snapshot
from gossamer.stores.redis import RedisStore, open_redis
from gossamer.stores.redis.notes import CrawlNotes
from gossamer.stores.redis.open import Opening, delete_crawl
from gossamer.worker.links import LinkFilter

ROLE = "controller"
HOLDS_FOR_S = 5.0
"""How long nobody else may run the crawl after the last word of the one that does."""
TICK_EVERY_S = 1.0
CHECK_EVERY_S = 0.1
SILENT_S = 5.0
"""A worker that is alive is heard of at least this often, many times over."""
HOSTS_SHOWN = 5


class SharedCrawl:
    """Sets a shared crawl up, has a supervisor work on it and watches.

    `stop` lets the supervisor finish what it has in progress; cancelling `run` ends it at once.
    Either way the crawl goes on when it is run again, or when others work on it.
    """

    def __init__(self, plan: Plan, observer: Observer) -> None:
        self._plan = plan
        self._observer = observer
        self._address = shared_address(plan.options)
        self._clock = steady_clock()
        self._started = self._clock()
        self._pages_before = 0
        self._stopped = asyncio.Event()
        self._me = secrets.token_hex(8)

    def stop(self) -> None:
        """End the crawl when what is in progress is finished."""
        self._stopped.set()

    async def run(self) -> Summary:
        """Crawl to the end, a budget or a stop, and return what came of it."""
        async with CrawlNotes(self._address, self._plan.name) as notes:
            await self._take_the_lead(notes)
            try:
                return await self._run(notes)
            finally:
                with suppress(CrawlError):  # it ends by itself
                    await notes.resign(ROLE, self._me)

    async def _take_the_lead(self, notes: CrawlNotes) -> None:
        """Be the one that runs the crawl; one that was killed is waited out."""
        give_up_at = self._clock() + HOLDS_FOR_S + CHECK_EVERY_S
        told = False
        while not await notes.lead(ROLE, self._me, HOLDS_FOR_S):
            if self._clock() >= give_up_at:
                raise CrawlError(
                    f"another process runs the crawl {self._plan.name} in {self._address}: more "
                    f"workers join it with gossamer worker --name {self._plan.name}"
                )
            if not told:
                told = True
                self._observer.say("info", "looking whether another process runs this crawl")
            await asyncio.sleep(CHECK_EVERY_S)

    async def _keep_the_lead(self, notes: CrawlNotes) -> None:
        try:
            leads = await notes.lead(ROLE, self._me, HOLDS_FOR_S)
        except CrawlError:
            return  # a store that is away for a moment is waited for by its own calls
        if not leads:
            raise CrawlError(
                f"another process has taken the crawl {self._plan.name} over, while this one stood "
                "still: it goes on there"
            )

    async def _run(self, notes: CrawlNotes) -> Summary:
        plan = self._plan
        if plan.options.fresh:
            await delete_crawl(self._address, plan.name)
            await notes.lead(ROLE, self._me, HOLDS_FOR_S)
        note = await notes.get(OPTIONS_NOTE)
        if note is not None:
            plan.compare(note)
        async with self._open_store(notes) as store:
            before = await store.snapshot(self._clock())
            self._pages_before = before.pages
            begun = note is not None
            ended_by = before.ended_by if begun else None
            was_over = ended_by is not None
            if ended_by is None:
                if not begun:
                    link_filter = LinkFilter(plan.scope, plan.domain_of)
                    await store.add_seeds(
                        [link_filter.file(seed) for seed in plan.seeds], self._clock()
                    )
                await notes.put(OPTIONS_NOTE, pack_options(plan.options))
                ended_by = await self._crawl(store, notes)
            snapshot = self._rated(await store.snapshot(self._clock()))
            hosts = await store.hosts(HOSTS_SHOWN, self._clock())
        slowest = sorted(hosts, key=lambda host: -host.mean_ms)[:HOSTS_SHOWN]
        return Summary(
            snapshot=snapshot,
            ended_by=ended_by,
            was_over=was_over,
            directory=f"the crawl {plan.name} in {self._address}",
            slowest_hosts=[host for host in slowest if host.pages],
        )

    @asynccontextmanager
    async def _open_store(self, notes: CrawlNotes) -> AsyncIterator[RedisStore]:
        """Open the crawl; take it over if nobody is at work any more."""
        alone = await self._is_alone(notes)
        scorer = load_scorer(self._plan)
        rules = self._plan.store_rules(strict=scorer.strict, lease_s=self._plan.options.lease_s)
        await scorer.close()
        how = Opening(
            take_over=alone,
            allow_insecure=self._plan.options.insecure_store,
            tell=lambda words: self._observer.say("warning", words),
        )
        store = await open_redis(self._address.url(), self._plan.name, rules, how)
        try:
            yield store
        finally:
            await store.close()

    async def _is_alone(self, notes: CrawlNotes) -> bool:
        """Tell whether no worker is alive; one that was heard of lately gets time for a sign."""
        first = await notes.silence_s()
        quiet_s = min(first.values(), default=SILENT_S)
        if quiet_s < SILENT_S:
            self._observer.say("info", "looking whether workers of this crawl are alive")
            await asyncio.sleep(SILENT_S - quiet_s)
        now = await notes.silence_s()
        return all(silence >= SILENT_S for silence in now.values())

    async def _crawl(self, store: RedisStore, notes: CrawlNotes) -> str:
        """Have the supervisor work until the crawl is over; return what ended it."""
        if self._stopped.is_set():
            return "interrupted"
        supervisor = Supervisor({"GOSSAMER_STORE": self._address.url()}, self._tell)
        try:
            await self._start_processes(supervisor, store, notes)
            ended_by = await self._watch(store, notes, supervisor)
            if ended_by is None:
                supervisor.stop()
            await supervisor.see_off()
        except BaseException:
            supervisor.stop()
            await supervisor.see_off(grace_s=5.0)
            raise
        ended_by = ended_by or await store.ended_by()
        await require_crawl(notes, self._plan.name)
        return ended_by or "interrupted"

    async def _start_processes(
        self, supervisor: Supervisor, store: RedisStore, notes: CrawlNotes
    ) -> None:
        """Start everybody.

        Workers count from now on: the first to come up would get all domains otherwise, and keep
        them.
        """
        options = self._plan.options
        shared = ["--name", self._plan.name, "--quiet"]
        if options.insecure_store:
            shared.append("--insecure-store")

        async def a_frontier() -> ProcessSpec:
            return ProcessSpec("the frontier", ["frontier", *shared])

        async def a_worker() -> ProcessSpec:
            # Also in another's place: whoever is dead has a number that is not heard of again.
            number = await notes.new_worker()
            await store.join(number, self._clock())
            own = ["--id", str(number), "--dir", str(self._plan.directory)]
            alone = ["--alone"] if options.workers > 1 else []
            return ProcessSpec(f"worker {number}", ["worker", *shared, *own, *alone])

        for _ in range(options.workers):
            await supervisor.add(a_worker)
        await supervisor.add(a_frontier, needed=True)

    async def _watch(
        self, store: RedisStore, notes: CrawlNotes, supervisor: Supervisor
    ) -> str | None:
        """Show how far the crawl is, until it is over or stopped; return what ended it."""
        tick_at = 0.0
        while not self._stopped.is_set():
            now = self._clock()
            snapshot = await store.snapshot(now)
            if snapshot.ended_by is not None:
                return snapshot.ended_by
            if now >= tick_at:
                tick_at = now + TICK_EVERY_S
                self._observer.tick(self._rated(snapshot), await store.hosts(HOSTS_SHOWN, now))
                await self._keep_the_lead(notes)
                await supervisor.check()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), CHECK_EVERY_S)
        return None

    def _tell(self, level: Level, words: str) -> None:
        self._observer.say(level, words)

    def _rated(self, snapshot: Snapshot) -> Snapshot:
        elapsed_s = self._clock() - self._started
        rate = (snapshot.pages - self._pages_before) / elapsed_s if elapsed_s > 0 else 0.0
        return msgspec.structs.replace(snapshot, elapsed_s=elapsed_s, pages_per_s=rate)
