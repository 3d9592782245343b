"""What a running crawl writes beside its state: outputs, and the files of bodies.

Another process writes the outputs (`output_process`), unless the crawl is in memory, where no other
process can read it.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import methods_of
from gossamer.config import keep_seconds
from gossamer.coordinator.coordinate import OpenedCrawl
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan, parse_rules
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.processes.output_process import (
    OUTPUT_CONTRACTS,
    OUTPUT_CONTROL,
    OUTPUT_FEED,
    OutputConfig,
    OutputFollower,
)
from gossamer.coordinator.resume import ORIGIN_NOTE, read_origin
from gossamer.model.errors import CrawlError
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.resumable import state_folder
from gossamer.outputs.targets import OutputWishes, check_endings, check_places
from gossamer.outputs.writer import OutputWriter
from gossamer.stores.bodies import BODIES_NAME, check_change, place_of, read_place
from gossamer.stores.body_writer import SegmentUpkeep, take_folder
from gossamer.stores.files import IDENTITY_NAME, CrawlOwner, ResultDirectory, owner_of
from gossamer.stores.reader import CrawlReader

MOST_DEATHS: Final = 5
"""How often in a row the output process may die without having made anything durable."""
DROP_EVERY_S: Final = 1.0
SHOW_EVERY_S: Final = 1.0
CHECK_BODIES_EVERY_S: Final = 60.0


def check_outputs(plan: Plan, wishes: OutputWishes) -> None:
    """Refuse, before anything is asked for, outputs that cannot be written."""
    check_endings(wishes.targets)
    with ExitStack() as stack:
        check_places(wishes.specs(_state_folder(plan, stack)))


def _state_folder(plan: Plan, stack: ExitStack) -> Path:
    """Return where the states of outputs are: a crawl in memory goes on with none."""
    if plan.options.store.scheme == "memory":
        return Path(stack.enter_context(tempfile.TemporaryDirectory()))
    return state_folder(plan.directory).absolute()


async def output_state_folder(reader: CrawlReader) -> Path | None:
    """Return where the states of a stored crawl's outputs are; None if that is not here."""
    directory = reader.directory
    if directory is None:  # a server does not know; who ran the crawl has left a note
        origin = read_origin(await reader.metadata(ORIGIN_NOTE))
        if origin is None or not origin.is_here:
            return None
        directory = Path(origin.directory)
    owner, identity = owner_of(directory), await reader.metadata(IDENTITY_NAME)
    if owner is None or identity is None or owner.identity != identity.decode():
        return None
    return state_folder(directory).absolute()


@asynccontextmanager
async def open_outputs(
    plan: Plan,
    wishes: OutputWishes,
    crawl: OpenedCrawl,
    launch: Callable[[], Launcher],
    say: Callable[[str], None],
    on_failure: Callable[[], None],
) -> AsyncIterator["CrawlOutputs | None"]:
    """Begin to write the outputs of a crawl, if it has any.

    `on_failure` ends the crawl when they cannot be written.
    """
    if not wishes.targets:
        yield None
        return
    with ExitStack() as stack:
        folder = _state_folder(plan, stack)
        writer: OutputClient | OutputFollower
        if plan.options.store.scheme == "memory":
            memory_writer = OutputWriter(wishes.specs(folder), parse_rules(plan.options))
            writer = OutputFollower(memory_writer, crawl.reader, is_lasting=True)
        else:
            ResultDirectory(plan.directory, CrawlOwner(crawl.identity, plan.name)).mark()
            folder.mkdir(exist_ok=True)
            writer = OutputClient(launch(), OutputConfig.of(plan, wishes, crawl.address), say)
        outputs = CrawlOutputs(crawl, writer, on_failure)
        try:
            yield outputs
        finally:
            await outputs.close()


class CrawlOutputs:
    """The outputs of one run of a crawl, which are being written."""

    def __init__(
        self,
        crawl: OpenedCrawl,
        writer: "OutputClient | OutputFollower",
        on_failure: Callable[[], None],
    ) -> None:
        self._crawl = crawl
        self._writer = writer
        self._writing = asyncio.create_task(writer.run())
        self._dropping = asyncio.create_task(self._drop_regularly())
        for task in (self._writing, self._dropping):
            task.add_done_callback(
                lambda done: None if done.cancelled() or not done.exception() else on_failure()
            )

    async def finish(self, show: Callable[[int], Awaitable[None]]) -> list[OutputReport]:
        """Have the outputs completed; return what they hold, or raise why that cannot be done.

        That may take long: `show` is told now and then how many results are left.
        """
        await self._crawl.frontier.commit()  # so that they have what was settled last
        async with self._crawl.reader() as reader:
            last = await reader.last_result()
        if self._dropping.done():
            self._dropping.result()
        self._writer.finish()
        await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        while not self._writing.done():
            await self._crawl.renew_lead()
            await show(max(0, last - self._writer.number))
            await asyncio.wait([self._writing], timeout=SHOW_EVERY_S)
        reports = self._writing.result()
        await self._crawl.frontier.drop_rows(self._writer.number)
        return reports

    async def close(self) -> None:
        """End the work, whatever its state."""
        for task in (self._writing, self._dropping):
            task.cancel()
        await asyncio.gather(self._writing, self._dropping, return_exceptions=True)

    async def _drop_regularly(self) -> None:
        """Have the store forget the rows of pages that the outputs have."""
        dropped = 0
        while True:
            await asyncio.sleep(DROP_EVERY_S)
            if self._writer.number > dropped:
                dropped = self._writer.number
                await self._crawl.frontier.drop_rows(dropped)


class OutputClient:
    """The process that writes the outputs of a crawl; one that dies is replaced."""

    def __init__(
        self, launcher: Launcher, config: OutputConfig, say: Callable[[str], None]
    ) -> None:
        self._launcher = launcher
        self._config = config
        self._say = say
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
                    message = "the process that writes the outputs keeps dying: see what it said"
                    raise CrawlError(message) from None
                self._say("the process that writes the outputs died and is replaced")
            finally:
                channel.abort()
                self._launcher.kill(pid)  # its successor waits for the locks of the outputs

    async def _write(self, channel: Channel) -> list[OutputReport]:
        async def finish() -> None:
            await self._finishing.wait()
            channel.notify(OUTPUT_CONTROL.methods["finish"])

        finishing = asyncio.create_task(finish())
        try:
            return await OUTPUT_CONTROL.proxy(channel).write(self._config)
        finally:
            finishing.cancel()

    # -- what it tells (`OutputFeed`) ------------------------------------------------------------

    async def kept(self, number: int) -> None:
        """Note up to which result all outputs are durable."""
        if number > self.number:  # a successor begins with what was durable already
            self._deaths = 0
        self.number = number

    async def waits(self, message: str) -> None:
        """Say that the store is waited for."""
        self._say(message)


class CrawlBodies:
    """The files of bodies of one crawl, while it is worked on; none if they are in the store."""

    def __init__(self, plan: Plan, crawl: OpenedCrawl, observer: Observer) -> None:
        self._plan = plan
        self._crawl = crawl
        self._observer = observer
        self._upkeep: SegmentUpkeep | None = None
        self._check_at = float("-inf")
        self._has_failed = False

    async def open(self) -> None:
        """Take the place for the bodies, and tell all processes of the crawl where it is."""
        options, store, identity = self._plan.options, self._crawl.frontier, self._crawl.identity
        place = place_of(options.bodies, self._plan.directory)
        check_change(read_place(await store.metadata(BODIES_NAME)), place, identity)
        if place is None:
            return
        owner = CrawlOwner(identity, self._plan.name)
        folder = take_folder(place, owner, self._plan.directory, first=True)
        self._upkeep = upkeep = SegmentUpkeep(place, folder, identity)
        await asyncio.to_thread(upkeep.claim_prefix)
        if options.fresh:
            await asyncio.to_thread(upkeep.clear)
        await asyncio.to_thread(upkeep.finish_left)
        await store.put_metadata(BODIES_NAME, place.pack())
        await store.commit()

    async def tick(self, now: float) -> None:
        """Look after the segments, now and then."""
        if self._upkeep is None or now < self._check_at:
            return
        self._check_at = now + CHECK_BODIES_EVERY_S
        try:
            await self._clean(self._upkeep, now)
        except (CrawlError, OSError) as error:
            if not self._has_failed:
                self._observer.say("warning", f"bodies: {error}")
            self._has_failed = True

    async def finish(self, now: float) -> None:
        """Finish the segments that dead workers have left; CrawlError if they cannot be uploaded.

        They are here still, and the next start tries again.
        """
        if self._upkeep is not None:
            try:
                await self._clean(self._upkeep, now)
            except OSError as error:
                raise CrawlError(f"the files of bodies cannot be finished: {error}") from error

    async def _clean(self, upkeep: SegmentUpkeep, now: float) -> None:
        """Finish what dead workers left; remove segments to which the store refers no more."""
        await asyncio.to_thread(upkeep.finish_left)
        if await self._crawl.frontier.expire(now) == 0:
            await self._crawl.frontier.commit()  # a crash must not bring the references back
            options = self._plan.options
            keep_s = keep_seconds(options.keep_s, shared=options.store.is_shared)
            await asyncio.to_thread(upkeep.expire, now, keep_s)
