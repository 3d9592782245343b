"""The outputs of a crawl that runs: written beside it, in another process where that can be."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol, Self

import msgspec

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import ERRORS, methods_of
from gossamer.config import keep_seconds
from gossamer.coordinator.continuing import ORIGIN_NOTE, read_origin
from gossamer.coordinator.coordinate import LedCrawl
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.output_process import (
    FOLLOW_EVERY_S,
    OUTPUT_CONTRACTS,
    OUTPUT_CONTROL,
    OUTPUT_FEED,
    OutputOrder,
)
from gossamer.frontier.contract import FrontierClient
from gossamer.model.errors import CrawlError, GossamerError
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.resumable import state_folder
from gossamer.outputs.targets import OutputWishes, check_endings, check_places
from gossamer.outputs.writer import OutputWriter
from gossamer.stores.bodies.places import BODIES_NOTE, check_change, place_of, read_place
from gossamer.stores.bodies.writer import SegmentUpkeep, take_folder
from gossamer.stores.files import IDENTITY_NOTE, CrawlOwner, ResultDirectory, owner_of
from gossamer.stores.reading import CrawlReader

CHECK_EVERY_S: Final = 60.0


class CrawlBodies:
    """The segments of one crawl, while it is worked on."""

    def __init__(
        self, upkeep: SegmentUpkeep | None, store: FrontierClient, keep_s: float, observer: Observer
    ) -> None:
        self._upkeep = upkeep
        self._store = store
        self._keep_s = keep_s
        self._observer = observer
        self._check_at = float("-inf")
        self._failed = False

    @classmethod
    async def open(cls, plan: Plan, opened: LedCrawl, observer: Observer) -> Self:
        """Take the place for the bodies, and tell all processes of the crawl where it is."""
        options, store = plan.options, opened.frontier
        keep_s = keep_seconds(options.keep_s, shared=options.store.is_shared)
        place = place_of(options.bodies, plan.directory)
        check_change(read_place(await store.note(BODIES_NOTE)), place, opened.identity)
        if place is None:
            return cls(None, store, keep_s, observer)
        owner = CrawlOwner(opened.identity, plan.name)
        folder = take_folder(place, owner, plan.directory, first=True)
        upkeep = SegmentUpkeep(place, folder, opened.identity)
        await asyncio.to_thread(upkeep.claim_prefix)
        if options.fresh:
            await asyncio.to_thread(upkeep.clear)
        await asyncio.to_thread(upkeep.finish_left)
        await store.put_note(BODIES_NOTE, place.pack())
        await store.commit()
        return cls(upkeep, store, keep_s, observer)

    async def tick(self, now: float) -> None:
        """Look after the segments, now and then."""
        if self._upkeep is None or now < self._check_at:
            return
        self._check_at = now + CHECK_EVERY_S
        try:
            await asyncio.to_thread(self._upkeep.finish_left)
            await self._expire(self._upkeep, now)
        except (CrawlError, OSError) as error:
            if not self._failed:
                self._observer.say("warning", f"bodies: {error}")
            self._failed = True

    async def finish(self, now: float) -> None:
        """Finish the segments that dead workers have left; CrawlError if they cannot be uploaded.

        They are here still, and the next start tries again.
        """
        if self._upkeep is not None:
            try:
                await asyncio.to_thread(self._upkeep.finish_left)
                await self._expire(self._upkeep, now)
            except OSError as error:
                raise CrawlError(f"the files of bodies cannot be finished: {error}") from error

    async def _expire(self, upkeep: SegmentUpkeep, now: float) -> None:
        """Remove segments to which the store does not refer any more, also not after a crash."""
        if await self._store.expire(now) == 0:
            await self._store.commit()
            await asyncio.to_thread(upkeep.expire, now, self._keep_s)


MOST_DEATHS: Final = 5
"""How often in a row it may die without having made anything durable."""


class OutputHandle:
    """The process that writes the outputs of a crawl; who dies is replaced."""

    def __init__(self, launcher: Launcher, order: OutputOrder, say: Callable[[str], None]) -> None:
        self._launcher = launcher
        self._order = order
        self._say = say
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._finishing = asyncio.Event()
        self._deaths = 0
        self._served = Served(contract=OUTPUT_FEED, target=methods_of(OUTPUT_FEED, self))
        self.number = 0
        """Up to which result all outputs are durable."""

    def finish(self) -> None:
        """Have everything written that is in the log; `run` returns then."""
        self._finishing.set()

    async def run(self) -> list[OutputReport]:
        """Have the outputs written, until they are finished; raise why they cannot be written."""
        while True:
            pid, end = await self._launcher.start_writer()
            channel = await Channel.open(end, OUTPUT_CONTRACTS, [self._served])
            try:
                return await self._write(channel)
            except ChannelClosedError:
                if self._launcher.has_orphaned(pid):
                    continue  # it was ended for no fault of its own, and the launcher has told so
                self._deaths += 1
                if self._deaths > MOST_DEATHS:
                    words = "the process that writes the outputs keeps dying: see what it said"
                    raise CrawlError(words) from None
                self._say("the process that writes the outputs died and is replaced")
            finally:
                channel.abort()
                self._launcher.kill(pid)  # its successor waits for the locks of the outputs

    async def _write(self, channel: Channel) -> list[OutputReport]:
        control = OUTPUT_CONTROL.proxy(channel)
        await control.begin(self._order)
        finishing = asyncio.create_task(self._finishing.wait())
        try:
            events: list[asyncio.Future[Any]] = [finishing, self._failed, channel.closed]
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
        finally:
            finishing.cancel()
        if self._failed.done():
            self._failed.result()
        return await control.finish()

    # -- what it tells ---------------------------------------------------------------------------

    async def kept(self, number: int) -> None:
        """Note up to which result all outputs are durable."""
        if number > self.number:  # a successor begins with what was durable already
            self._deaths = 0
        self.number = number

    async def waits(self, words: str) -> None:
        """Say that the store is waited for."""
        self._say(words)

    async def failed(self, kind: str, words: str) -> None:
        """Note why the outputs cannot be written."""
        error: GossamerError = ERRORS.get(kind, CrawlError)(words)
        if not self._failed.done():
            self._failed.set_exception(error)


DROP_EVERY_S = 1.0
SHOW_EVERY_S = 1.0


class OutputsAtWork(Protocol):
    """Whoever writes the outputs."""

    @property
    def number(self) -> int:
        """Up to which result all of them are durable."""

    async def run(self) -> list[OutputReport]:
        """Write until finished; raise why that cannot be done."""

    def finish(self) -> None:
        """Write what is left in the log, and complete the outputs: `run` returns then."""


class CrawlOutputs:
    """The outputs of one process of a crawl."""

    def __init__(
        self,
        work: OutputsAtWork,
        drop: Callable[[int], Awaitable[None]],
        on_failure: Callable[[], None],
    ) -> None:
        """Begin; `drop` has the store forget the rows up to a result, which the outputs have."""
        self._work = work
        self._drop = drop
        self._writing = asyncio.create_task(work.run())
        self._dropping = asyncio.create_task(self._drop_regularly())
        for one in (self._writing, self._dropping):
            one.add_done_callback(
                lambda done: None if done.cancelled() or not done.exception() else on_failure()
            )

    async def finish(self, meanwhile: Callable[[int], Awaitable[None]]) -> list[OutputReport]:
        """Have the outputs completed; return what they hold, or raise why that cannot be done.

        That may take long: `meanwhile` is told now and then up to which result they are written.
        """
        if self._dropping.done():
            self._dropping.result()
        self._work.finish()
        await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        while not self._writing.done():
            await meanwhile(self._work.number)
            await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        written = self._writing.result()
        await self._drop(self._work.number)
        return written

    async def close(self) -> None:
        """End the work, whatever its state."""
        for one in (self._writing, self._dropping):
            one.cancel()
        await asyncio.gather(self._writing, self._dropping, return_exceptions=True)

    async def _drop_regularly(self) -> None:
        dropped = 0
        while True:
            await asyncio.sleep(DROP_EVERY_S)
            if self._work.number > dropped:
                dropped = self._work.number
                await self._drop(dropped)


class OutputSite(msgspec.Struct, frozen=True, kw_only=True):
    """What the outputs of a crawl find where it runs."""

    launch: Callable[[], Launcher]
    """Returns the launcher of the crawl's processes."""
    say: Callable[[str], None]
    on_failure: Callable[[], None]
    """Ends the crawl, whose outputs cannot be written."""


class InProcessOutputs:
    """Outputs of a crawl in memory, which no other process can read."""

    def __init__(self, opened: LedCrawl, writer: OutputWriter) -> None:
        self._opened = opened
        self._writer = writer
        self._finishing = False

    @property
    def number(self) -> int:
        """Up to which result all of them are durable."""
        return self._writer.kept

    def finish(self) -> None:
        """Write what is left in the log, and complete the outputs."""
        self._finishing = True

    async def run(self) -> list[OutputReport]:
        """Follow the log until finished."""
        try:
            self._writer.lock()
            async with self._opened.reader() as reader:
                await self._writer.open(reader)
                while not self._finishing:
                    await self._writer.follow(reader)
                    await asyncio.sleep(FOLLOW_EVERY_S)
                await self._writer.follow(reader)
                return await self._writer.finish(reader)
        finally:
            self._writer.close()


async def own_state_folder(reader: CrawlReader) -> Path | None:
    """Return where the states of a stored crawl's outputs are; None if that is not here."""
    directory = reader.directory
    if directory is None:  # a server does not know; who ran the crawl has left a note
        origin = read_origin(await reader.note(ORIGIN_NOTE))
        if origin is None or not origin.is_here:
            return None
        directory = Path(origin.directory)
    owner, identity = owner_of(directory), await reader.note(IDENTITY_NOTE)
    if owner is None or identity is None or owner.identity != identity.decode():
        return None
    return state_folder(directory).absolute()


def check_outputs(plan: Plan, wishes: OutputWishes) -> None:
    """Refuse, before anything is asked for, outputs that cannot be written."""
    check_endings(wishes.targets)
    with ExitStack() as stack:
        check_places(wishes.specs(_folder(plan, stack)))


def _folder(plan: Plan, stack: ExitStack) -> Path:
    """Return where the states of outputs are: a crawl in memory goes on with none."""
    if plan.options.store.scheme == "memory":
        return Path(stack.enter_context(tempfile.TemporaryDirectory()))
    return state_folder(plan.directory).absolute()


@asynccontextmanager
async def open_outputs(
    plan: Plan,
    wishes: OutputWishes,
    opened: LedCrawl,
    site: OutputSite,
) -> AsyncIterator[CrawlOutputs]:
    """Begin to write the outputs of a crawl."""
    with ExitStack() as stack:
        work = _begin(plan, wishes, opened, site, stack)
        outputs = CrawlOutputs(work, opened.frontier.drop_rows, site.on_failure)
        try:
            yield outputs
        finally:
            await outputs.close()


async def finish_outputs(
    outputs: CrawlOutputs, opened: LedCrawl, show: Callable[[int], Awaitable[None]]
) -> list[OutputReport]:
    """Have the outputs completed; `show` is told now and then how many results are left."""
    await opened.frontier.commit()  # so that they have what was settled last
    async with opened.reader() as reader:
        last = await reader.last_result()

    async def meanwhile(written: int) -> None:
        await opened.keep()
        await show(max(0, last - written))

    return await outputs.finish(meanwhile)


def _begin(
    plan: Plan,
    wishes: OutputWishes,
    opened: LedCrawl,
    site: OutputSite,
    stack: ExitStack,
) -> OutputsAtWork:
    folder = _folder(plan, stack)
    if plan.options.store.scheme == "memory":
        return InProcessOutputs(opened, OutputWriter(wishes.specs(folder), plan.parse_rules()))

    ResultDirectory(plan.directory, CrawlOwner(opened.identity, plan.name)).mark()
    folder.mkdir(exist_ok=True)
    order = OutputOrder.of(plan, wishes, opened.address)
    return OutputHandle(site.launch(), order, site.say)
