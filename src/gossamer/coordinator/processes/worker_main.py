"""A worker as a process: it is told what to do over its channel, and keeps nothing."""

import asyncio
import ctypes
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Final

import msgspec
import uvloop

from gossamer.channel import Channel, Served
from gossamer.channel.channel import methods_of
from gossamer.channel.contract import Caller
from gossamer.config import keep_seconds, load
from gossamer.content.page_parser import PageParser, ParseRules, RawPage
from gossamer.coordinator.plan import (
    Plan,
    fetch_options,
    may_keep_cookies,
    parse_rules,
    request_rules,
)
from gossamer.coordinator.processes.worker_channel import (
    CONTRACTS,
    CONTROL,
    FEED,
    EventFeed,
    SteadyClock,
    WorkerConfig,
    open_queues,
    printing_to,
)
from gossamer.coordinator.resume import unpack_options
from gossamer.download.address_slots import AddressLocks
from gossamer.download.client import Client
from gossamer.frontier.contract import FRONTIER, FrontierClient
from gossamer.model import Event, NameTable, Url
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.modules.calls import describe
from gossamer.modules.contract import ModuleContext
from gossamer.modules.loading import load_modules
from gossamer.modules.remote import PAGE_MODULES, CoordinatorModules, WorkerModules
from gossamer.modules.runner import ModuleRunner
from gossamer.outputs.registry import kind_of_output
from gossamer.stores.bodies import BODIES_NAME, no_body, read_place
from gossamer.stores.body_writer import (
    BodyWriter,
    SegmentUpkeep,
    SegmentWriter,
    WriterRules,
    take_folder,
)
from gossamer.stores.crawl_views import WorkerReport
from gossamer.stores.files import IDENTITY_NAME, CrawlOwner
from gossamer.worker.context import Modules, WorkerContext
from gossamer.worker.events import report_depths
from gossamer.worker.fetched_page import PageRows, UnusedMemory, give_back_memory
from gossamer.worker.in_flight import CrashNote, InFlightPages
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.requests import CookieJars
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.traps import TrapWatch

if TYPE_CHECKING:
    from gossamer.stores.redis.bodies import RedisBodies
    from gossamer.stores.redis.message_queues import JoinedQueues

EXIT_FAILED: Final = 1
EXIT_OUT_OF_MEMORY: Final = 12
SPARE_MEMORY: Final = 2 * 1024**3
"""How much address space a worker may take beyond what it had when its modules were open: a page
whose tree explodes is an error then, and not the end of the machine."""
M_ARENA_MAX: Final = -8
"""What glibc calls the limit of memory pools (malloc.h)."""
MAX_ARENAS: Final = 4
TURN_S: Final = 0.0005
"""How long the thread that reads a large page may run while the loop waits for its turn. Each piece
of each answer that arrives meanwhile is such a wait, so with Python's 5 ms a few dozen of them held
the loop for 0.2 s."""
HEARTBEATS_AFTER_S: Final = (0.03, 0.05, 0.1, 0.25)
"""How soon whoever started the worker hears of it: at first quickly, as others may be needed."""
JOIN_EVERY_S: Final = 1.0
"""How often the store hears of it, also when all of its slots are in use."""
MEMORY_EVERY_S: Final = 5.0
"""How often it checks whether it holds memory that it does not need."""
LEAVE_WITHIN_S: Final = 1.0
"""How long it may take to give back what it has when its coordinator is gone."""


def warm_up() -> None:
    """Load every library that a page needs."""
    page = RawPage(Url("http://localhost/"), "text/html", b"<p>" + b"word " * 100)
    PageParser(ParseRules(similarity=0.9)).parse(page)


def run_worker(end: socket.socket, note: CrashNote, locks: AddressLocks) -> int:
    """Work until told to stop, or until whoever started us is gone; return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator, who tells us
    sys.setswitchinterval(TURN_S)
    try:
        return uvloop.run(WorkerProcess(note, locks).run(end))
    except MemoryError:
        # Nothing is given back: the note says whose page it was, and the rest is taken back.
        os._exit(EXIT_OUT_OF_MEMORY)


class WorkerProcess:
    """One worker, at its end of the channel."""

    def __init__(self, note: CrashNote, locks: AddressLocks) -> None:
        self._note = note
        self._locks = locks
        self._config: asyncio.Queue[WorkerConfig] = asyncio.Queue()
        self._worker: Worker | None = None
        self._stopped = False

    # -- what it is told -------------------------------------------------------------------------

    async def begin(self, config: WorkerConfig) -> None:
        """Begin to work."""
        self._config.put_nowait(config)

    async def set_slots(self, slots: int) -> None:
        """Have at most so many requests under way; done when there are no more."""
        if self._worker is not None:
            await self._worker.set_slots(slots)

    async def stop(self) -> None:
        """Finish what is in progress, and end."""
        self._stop()

    async def leave(self) -> None:
        """Give back what is in progress, and end."""
        self._stopped = True
        if self._worker is not None:
            self._worker.leave()

    def _stop(self) -> None:
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()

    # -- what it does ----------------------------------------------------------------------------

    async def run(self, end: socket.socket) -> int:
        """Work to the end; return the exit code."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        control = Served(contract=CONTROL, target=methods_of(CONTROL, self), at_once=None)
        channel = await Channel.open(end, CONTRACTS, [control])
        work = asyncio.create_task(self._work(channel))
        await asyncio.wait([work, channel.closed], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():  # nobody is there any more, to be told of what breaks now either
            work.add_done_callback(lambda done: done.cancelled() or done.exception())
            work.cancel()
            await asyncio.wait([work], timeout=LEAVE_WITHIN_S)
            return EXIT_FAILED
        error = work.exception()
        if isinstance(error, MemoryError):
            raise error
        if error is not None:
            if not isinstance(error, GossamerError):
                # A mistake of ours: the page is not to blame, and the crawl cannot go on.
                error = CrawlError(f"a worker broke: {describe(error)}")
            channel.notify(FEED.methods["failed"], type(error).__name__, str(error))
        await channel.close()
        return 0 if error is None else EXIT_FAILED

    async def _work(self, channel: Channel) -> None:
        config = await self._config.get()
        local = load(config.local_options, {}).options
        plan = Plan(unpack_options(config.options, local))
        runner = ModuleRunner(load_modules(config.modules))
        async with AsyncExitStack() as stack:
            stack.enter_context(printing_to(channel))
            frontier, queues = await self._reach_frontier(config, plan, channel, stack)
            store = FRONTIER.proxy(frontier)
            await runner.open(
                ModuleContext(
                    directory=plan.directory,
                    crawl=plan.name,
                    identity=config.identity,
                    worker=config.number,
                    resumed_from=config.resumed_from,
                    gaps=config.gaps,
                    shared=True,
                )
            )
            stack.push_async_callback(runner.close)
            _limit_memory()
            elsewhere = None
            if (hooks := config.coordinator_hooks) is not None:
                elsewhere = CoordinatorModules(PAGE_MODULES.proxy(frontier), hooks)
            context = ProcessContext(
                modules=WorkerModules(runner, elsewhere),
                clock=SteadyClock(config.clock_offset_s),
                lease_s=config.lease_s,
                watch=EventFeed(channel) if config.wants_events else None,
                dns=config.dns,
                note=self._note,
                address_locks=self._locks,
                number=config.number,
                queues=queues,
            )
            worker_context = await open_worker_context(plan, store, context, stack)
            self._worker = Worker(config.number, worker_context, config.slots, lambda: None)
            if self._stopped:
                self._worker.stop()
            helpers = [
                asyncio.create_task(_send_heartbeats(channel, runner)),
                asyncio.create_task(_join_regularly(store, config)),
                asyncio.create_task(_give_back_regularly()),
            ]
            try:
                await self._worker.run()
                await report_depths(store, context.modules)
            finally:
                for helper in helpers:
                    helper.cancel()
                await asyncio.gather(*helpers, return_exceptions=True)
        channel.notify(FEED.methods["heartbeat"], Heartbeat().report(), runner.report())

    async def _reach_frontier(
        self, config: WorkerConfig, plan: Plan, channel: Channel, stack: AsyncExitStack
    ) -> "tuple[Caller, JoinedQueues | None]":
        """Return the way to the frontier: the process that started us, or queues at a server."""
        if not config.has_joined:
            return channel, None
        # A worker of a crawl in a file does not load the client of a server.
        from gossamer.stores.redis.address import parse_address  # noqa: PLC0415

        address = parse_address(plan.options.store.url)

        def warn(message: str) -> None:
            channel.notify(FEED.methods["say"], "warning", message, {})

        client, queues = open_queues(address, plan.name, config.number, warn)
        stack.push_async_callback(queues.close)
        stack.push_async_callback(client.close, LEAVE_WITHIN_S)
        return client, queues


async def _send_heartbeats(channel: Channel, runner: ModuleRunner) -> None:
    """Say several times a second that we are alive, and how we are."""
    heartbeat = Heartbeat()
    for pause_s in chain(HEARTBEATS_AFTER_S, repeat(HEARTBEATS_AFTER_S[-1])):
        await asyncio.sleep(pause_s)
        channel.notify(FEED.methods["heartbeat"], heartbeat.report(), runner.report())


async def _join_regularly(store: FrontierClient, config: WorkerConfig) -> None:
    """Tell the store that we are alive, also when all slots are in use; it may be away."""
    heartbeat, clock = Heartbeat(), SteadyClock(config.clock_offset_s)
    while True:
        await store.join(config.number, clock(), heartbeat.report())
        await asyncio.sleep(JOIN_EVERY_S)


async def _give_back_regularly() -> None:
    """Give memory back that large pages have left, also after they were settled."""
    watch, loop = UnusedMemory(), asyncio.get_running_loop()
    while True:
        await asyncio.sleep(MEMORY_EVERY_S)
        if watch.is_due(resident_bytes()):
            await loop.run_in_executor(None, give_back_memory)
            watch.given_back(resident_bytes())


# -- what a worker works with ----------------------------------------------------------------------


class ProcessContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a process brings to a crawl of its own."""

    modules: Modules
    """Opened already, and closed by whoever opened them."""
    clock: Callable[[], float]
    lease_s: float
    watch: Callable[[Event], None] | None = None
    """Called with each step; None: nobody watches."""
    dns: NameTable | None = None
    note: CrashNote | None = None
    """The pages in hand, noted for others in case the process dies."""
    address_locks: AddressLocks | None = None
    """The locks that limit requests to one address, shared with other processes."""
    number: int = 0
    """The number of its worker, or of its first one."""
    queues: "JoinedQueues | None" = None
    """Those to the frontier; None: it is reached without a server."""


async def open_worker_context(
    plan: Plan, store: FrontierClient, process: ProcessContext, stack: AsyncExitStack
) -> WorkerContext:
    """Open the client; the stack closes it again."""
    options = plan.options
    cookies = CookieJars(store, plan.domains.registered_domain, plan.keeps_cookies)
    rules = request_rules(options, os.environ)
    carries_readings = not all(kind_of_output(target).is_table for target in options.output)
    settings_for = None if rules is None else rules.settings_for
    client = await stack.enter_async_context(
        Client(
            fetch_options(options), plan.addresses, process.dns, settings_for, process.address_locks
        )
    )
    bodies, fetch_body = await open_bodies(plan, store, process, stack)
    link_filter = LinkFilter(await plan.seeded_scope(store.metadata), plan.domain_of)
    return WorkerContext(
        store=store,
        client=client,
        robots=PoliteRobots(client, store, plan.domain_of, process.clock, process.lease_s),
        link_filter=link_filter,
        sitemaps=SitemapReader(store, link_filter, process.clock, auto="auto" in options.sitemaps),
        modules=process.modules,
        clock=process.clock,
        watch=process.watch,
        ignored_robots=plan.ignored_robots,
        page_parser=PageParser(
            parse_rules(options, options.similarity, with_text="text" in plan.row_fields)
        ),
        rows=PageRows(plan.row_fields, always=bool(options.fields), with_parsed=carries_readings),
        in_flight=InFlightPages(process.note),
        cookies=cookies if may_keep_cookies(options) else None,
        max_depth=options.depth,
        retries=options.retries,
        lease_s=process.lease_s,
        similar_links=options.similar_links == "follow",
        bodies=bodies,
        fetch_body=fetch_body,
        traps=TrapWatch(store) if options.traps == "on" else None,
    )


async def open_bodies(
    plan: Plan, store: FrontierClient, process: ProcessContext, stack: AsyncExitStack
) -> tuple[BodyWriter | None, Callable[[str], Awaitable[bytes | None]]]:
    """Open the writer of bodies, and what reads those in Redis; the stack closes both."""
    segments = await open_segments(plan, store, process.number, stack)
    if not plan.options.store.is_server:
        return segments, no_body

    @cache
    def opened() -> "RedisBodies":
        # Who does not need it does not load the client of a server: that takes a quarter second.
        from gossamer.stores.redis.address import parse_address  # noqa: PLC0415
        from gossamer.stores.redis.bodies import RedisBodies  # noqa: PLC0415
        from gossamer.stores.redis.row_keys import RowKeys  # noqa: PLC0415

        attach = None if process.queues is None else process.queues.attach
        bodies = RedisBodies(parse_address(plan.options.store.url), RowKeys(plan.name), attach)
        stack.push_async_callback(bodies.close)
        return bodies

    async def fetch(name: str) -> bytes | None:
        return await opened().fetch(name)

    return segments or (None if process.queues is None else opened()), fetch


async def open_segments(
    plan: Plan, store: FrontierClient, worker: int, stack: AsyncExitStack
) -> SegmentWriter | None:
    """Open the writer of segments, which the stack closes; None: there is no place for them."""
    place = read_place(await store.metadata(BODIES_NAME))
    if place is None:
        return None
    options = plan.options
    identity = (await store.metadata(IDENTITY_NAME) or b"").decode()
    folder = take_folder(place, CrawlOwner(identity, plan.name), plan.directory, first=False)
    keep_s = keep_seconds(options.keep_s, shared=options.store.is_shared)
    rules = WriterRules(identity=identity, worker=worker, keep_s=keep_s)
    if not place.bucket:
        writer = SegmentWriter(folder, rules)
    else:
        upkeep = SegmentUpkeep(place, folder, identity)
        await asyncio.to_thread(upkeep.finish_left)  # of workers that died on this machine
        writer = SegmentWriter(folder, rules, upkeep.upload)
    stack.push_async_callback(writer.close)
    return writer


# -- how the process is ----------------------------------------------------------------------------


class Heartbeat:
    """Reports on this process; `busy` counts from one report to the next.

    A process is busy while it runs and while it waits for a core: one that shares its core with
    others has no time to spare, however little of it it gets.
    """

    def __init__(self) -> None:
        self._machine = socket.gethostname()
        self._wanted_s = _wanted_s()
        self._wall_s = time.monotonic()

    def report(self) -> WorkerReport:
        """Return how the process is."""
        wanted_s, wall_s = _wanted_s(), time.monotonic()
        busy = (wanted_s - self._wanted_s) / max(wall_s - self._wall_s, 1e-3)
        self._wanted_s, self._wall_s = wanted_s, wall_s
        return WorkerReport(
            pid=os.getpid(), machine=self._machine, memory=resident_bytes(), busy=min(busy, 1.0)
        )


def _wanted_s() -> float:
    """Return how long this process has run, with the time that its main thread waited for a core.

    Only Linux tells the second.
    """
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:  # noqa: PTH123
            waited_ns = int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        waited_ns = 0
    return time.process_time() + waited_ns / 1e9


def resident_bytes() -> int:
    """Return the resident memory of this process; where that is not known, the most it had."""
    if (sizes := _memory_bytes()) is not None:
        return sizes[1]
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _memory_bytes() -> tuple[int, int] | None:
    """Return the address space and the resident memory of this process; None: not Linux."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            total, resident, *_ = (
                int(pages) * resource.getpagesize() for pages in file.read().split()
            )
            return total, resident
    except OSError:
        return None


def _limit_memory() -> None:
    """Let what explodes be an error: a `MemoryError` in this process, which others survive."""
    with suppress(OSError, AttributeError):  # another system, which has no such thing
        # Or every thread would reserve 64 MB of addresses, and names are looked up in a hundred.
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, MAX_ARENAS)
    if (sizes := _memory_bytes()) is None:  # what is in use is not known, and counts little there
        return
    limit = sizes[0] + SPARE_MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or limit < hard:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
