"""A crawl inside another program: awaited, or read page by page."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from gossamer.config import CrawlOptions, load
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import Observer, Silence, Summary
from gossamer.errors import PageRefusedError
from gossamer.model import NameTable, Page
from gossamer.modules import Module, ModuleLike, as_module, load_module
from gossamer.plan.plan import Plan

NOBODY_READS = "nobody reads the pages any more"
READER_LIMIT_S = 7 * 24 * 3600.0
"""How long a page waits for a reader: a pause is not a failure, however long it is."""


async def crawl(
    *seeds: str,
    module: ModuleLike | str | Sequence[ModuleLike | str] = (),
    observer: Observer | None = None,
    dns: NameTable | None = None,
    **options: object,
) -> Summary:
    """Crawl from the seeds and return what came of it.

    `module` is a function that takes a `Page`, an object with `open`, `page` or `close`, a name as
    on the command line, or several of these. Functions and objects are called in this process,
    those with a name in the worker processes. The options are those of `gossamer crawl`, with
    underscores: `max_pages=100, delay="0s"`. Without `dir` nothing is written to disk.
    """
    listed = _listed(module)
    plan = Plan(_options(seeds, options, listed))
    return await Crawl(plan, _modules(listed), observer or Silence(), dns=dns).run()


async def pages(
    *seeds: str,
    module: ModuleLike | str | Sequence[ModuleLike | str] = (),
    dns: NameTable | None = None,
    **options: object,
) -> AsyncGenerator[Page, None]:
    """Crawl from the seeds and yield the pages as they come; the options are those of `crawl`.

    A page is done when the next one is asked for. So a slow reader slows the crawl down, and one
    that stops reading (and closes the iterator) ends it: if it is continued, in its `dir`, the page
    at which the reader left comes again, and none is missing.
    """
    handed: asyncio.Queue[tuple[Page, asyncio.Future[None]] | None] = asyncio.Queue()
    unread: set[asyncio.Future[None]] = set()
    has_left = False

    async def hand_over(page: Page) -> None:
        if has_left:
            raise PageRefusedError(NOBODY_READS)
        read = asyncio.get_running_loop().create_future()
        unread.add(read)
        read.add_done_callback(unread.discard)
        handed.put_nowait((page, read))
        await read

    reader = Module(name="reader", page=hand_over, on_loop=True, in_coordinator=True)
    listed = _listed(module)
    plan = Plan(_options(seeds, options, listed))
    one = Crawl(
        plan, [reader, *_modules(listed)], Silence(), dns=dns, module_limit_s=READER_LIMIT_S
    )
    running = asyncio.ensure_future(one.run())
    running.add_done_callback(lambda _: handed.put_nowait(None))
    try:
        while (next_one := await handed.get()) is not None:
            page, read = next_one
            yield page
            if not read.done():
                read.set_result(None)
        await running
    finally:
        has_left = True
        for read in unread:
            if not read.done():
                read.set_exception(PageRefusedError(NOBODY_READS))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _options(
    seeds: Sequence[str], given: dict[str, object], modules: Sequence[ModuleLike | str]
) -> CrawlOptions:
    """Read the options as the command line does; the state is kept in memory without `dir`."""
    if "dir" not in given and "store" not in given:
        given = {**given, "store": "memory:"}
    if names := [one for one in modules if isinstance(one, str)]:
        given = {**given, "module": names}
    named = {name.replace("_", "-"): value for name, value in given.items()}
    return load({"seeds": tuple(seeds), **named}, {}, None).options


def _listed(given: ModuleLike | str | Sequence[ModuleLike | str]) -> list[ModuleLike | str]:
    return [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)


def _modules(listed: Sequence[ModuleLike | str]) -> list[Module]:
    return [load_module(one) if isinstance(one, str) else as_module(one) for one in listed]
