"""The outputs of a crawl that runs: written beside it, in another process where that can be."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from gossamer.cluster.crawl_outputs import CrawlOutputs, OutputsAtWork
from gossamer.cluster.launcher import Launcher
from gossamer.cluster.output_process import FOLLOW_EVERY_S, OutputOrder
from gossamer.coordinator.opening import LedCrawl
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.state import state_folder
from gossamer.outputs.targets import OutputWishes, check_endings, check_places
from gossamer.outputs.writer import OutputWriter
from gossamer.plan import Plan
from gossamer.plan.origin import ORIGIN_NOTE, read_origin
from gossamer.stores.ownership import IDENTITY_NOTE, CrawlOwner, ResultDirectory, owner_of
from gossamer.stores.reading import CrawlReader


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
        return InProcessOutputs(opened, OutputWriter(wishes.specs(folder), plan.analysis_rules()))
    from gossamer.cluster.output_handle import OutputHandle  # noqa: PLC0415

    ResultDirectory(plan.directory, CrawlOwner(opened.identity, plan.name)).mark()
    folder.mkdir(exist_ok=True)
    order = OutputOrder.of(plan, wishes, opened.address)
    return OutputHandle(site.launch(), order, site.say)
