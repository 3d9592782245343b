"""A crawl inside another program: awaited, or read page by page."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from gossamer.config import CrawlOptions, load
from gossamer.control.crawl import Crawl
from gossamer.control.observer import Observer, Summary
from gossamer.control.plan import Plan
from gossamer.control.silence import Silence
from gossamer.download import NameTable
from gossamer.model import Page
from gossamer.modules import Module, ModuleLike, as_module, load_module

PAGES_AHEAD = 100
"""How many pages wait for a reader before the crawl waits with them."""

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
    on the command line, or several of these. The options are those of `gossamer crawl`, with
    underscores: `max_pages=100, delay="0s"`. Without `dir` nothing is written to disk.
    """
    one = Crawl(Plan(_options(seeds, options)), _modules(module), observer or Silence(), dns=dns)
    return await one.run()


async def pages(
    *seeds: str, dns: NameTable | None = None, **options: object
) -> AsyncIterator[Page]:
    """Crawl from the seeds and yield the pages as they come.

    A slow reader slows the crawl down; one that stops reading (and closes the iterator) ends it.
    """
    queue: asyncio.Queue[Page | None] = asyncio.Queue(PAGES_AHEAD)
    reader = Module(name="reader", page=queue.put, on_loop=True)
    plan = Plan(_options(seeds, options))
    one = Crawl(plan, [reader], Silence(), dns=dns, module_limit_s=READER_LIMIT_S)
    running = asyncio.ensure_future(one.run())

    def ended(_: object) -> None:
        # The queue may be full; the reader finds the crawl ended when it has read everything.
        if not queue.full():
            queue.put_nowait(None)

    running.add_done_callback(ended)
    try:
        while not (running.done() and queue.empty()):
            page = await queue.get()
            if page is not None:
                yield page
        await running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _options(seeds: Sequence[str], given: dict[str, object]) -> CrawlOptions:
    """Read the options as the command line does; the state is kept in memory without `dir`."""
    if "dir" not in given and "store" not in given:
        given = {**given, "store": "memory:"}
    named = {name.replace("_", "-"): value for name, value in given.items()}
    return load({"seeds": tuple(seeds), **named}, {}, None).options


def _modules(given: ModuleLike | str | Sequence[ModuleLike | str]) -> list[Module]:
    listed = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    return [load_module(one) if isinstance(one, str) else as_module(one) for one in listed]
