"""A crawl inside another program: awaited, read page by page, or without an event loop."""

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TypeAlias

import uvloop

from gossamer.config import IN_DIRECTORY, CrawlOptions, StoreAddress, load
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import ObserverLike, as_observer
from gossamer.coordinator.plan import Plan, check_given_fields
from gossamer.coordinator.seed_files import check_seed_files
from gossamer.coordinator.summary import Summary
from gossamer.download.lookups import check_names
from gossamer.model import NameTable, Page
from gossamer.model.errors import NoSeedFetchedError, PageRefusedError, UsageError
from gossamer.modules.contract import Module, ModuleLike
from gossamer.modules.loading import as_module, load_module

NOBODY_READS = "nobody reads the pages any more"

ModulesLike: TypeAlias = ModuleLike | str | Sequence[ModuleLike | str]
"""One module or several, each given as itself or by name."""


async def crawl(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    options: CrawlOptions | None = None,
    **keywords: object,
) -> Summary:
    """Crawl from the seeds and return what came of it.

    `module` is a function that takes a `Page`, an object with hooks such as `page`, a name as on
    the command line, or several of these. Functions and objects are called in this process,
    those with a name in the worker processes. `observer` is a function that takes an `Event`, or an
    `Observer`. The options are those of `gossamer crawl`: keywords with underscores, such as
    `max_pages=100, delay="0s"`, or a `CrawlOptions`. Without `dir` nothing is written to disk.
    Whether it went well is in the summary: `seeds`, `modules`, and `exit_code`, which is 0 then.
    """
    checked = _options(seeds, options, keywords, module)
    check_names(dns or {})
    modules = _modules(module, checked)
    return await Crawl(Plan(checked), modules, as_observer(observer), dns=dns).run()


async def pages(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    options: CrawlOptions | None = None,
    **keywords: object,
) -> AsyncGenerator[Page, None]:
    """Crawl from the seeds and yield the pages as they come; the options are those of `crawl`.

    A page is done when the next one is asked for. So a slow reader slows the crawl down, and one
    that stops reading (and closes the iterator) ends it: if it is continued, in its `dir`, the page
    at which the reader left comes again, and none is missing. If no seed could be fetched,
    `NoSeedFetchedError` says why.
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

    reader = Module(
        name="reader", page=hand_over, on_loop=True, in_coordinator=True, may_pause=True
    )
    checked = _options(seeds, options, keywords, module)
    check_names(dns or {})
    modules = [reader, *_modules(module, checked)]
    crawling = Crawl(Plan(checked), modules, as_observer(observer), dns=dns)
    running = asyncio.ensure_future(crawling.run())
    running.add_done_callback(lambda _: handed.put_nowait(None))
    try:
        while (next_page := await handed.get()) is not None:
            page, read = next_page
            yield page
            if not read.done():
                read.set_result(None)
        report = (await running).seeds
        if report.none_fetched:
            raise NoSeedFetchedError({seed.url: seed.reason for seed in report.failed})
    finally:
        has_left = True
        for read in unread:
            if not read.done():
                read.set_exception(PageRefusedError(NOBODY_READS))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _options(
    seeds: Sequence[str],
    options: CrawlOptions | None,
    keywords: Mapping[str, object],
    module: ModulesLike,
) -> CrawlOptions:
    """Check the options as the command line does; the state is kept in memory without `dir`."""
    if options is not None and keywords:
        raise UsageError(
            f"options=… and {next(iter(keywords))}=… exclude each other: use "
            "dataclasses.replace to change a CrawlOptions"
        )
    if seeds and (keywords.get("seeds") or (options and options.seeds)):
        raise UsageError("seeds are given both as arguments and as seeds=…: give all as arguments")
    named = tuple(item for item in _listed(module) if isinstance(item, str))
    if options is not None:
        if options.dir is None and options.store == IN_DIRECTORY:
            options = replace(options, store=StoreAddress("memory"))
        if module:
            options = replace(options, module=named or ("noop",))
        checked = replace(options, seeds=tuple(seeds) or options.seeds)
    else:
        if not isinstance(keywords.get("scorer", ""), str):
            raise UsageError(
                "scorer is given by name, so that whoever goes on with the crawl finds it: write "
                "'./file.py:function' or 'package.module:object'"
            )
        store = {} if {"dir", "store"} & keywords.keys() else {"store": "memory:"}
        modules = {"module": named or None}
        checked = load({"seeds": tuple(seeds), **store, **keywords, **modules}, {}).options
        check_given_fields(keywords, checked)
    check_seed_files(checked.seed_files)
    return checked


def _listed(module: ModulesLike) -> list[ModuleLike | str]:
    if isinstance(module, str) or not isinstance(module, Sequence):
        return [module]
    return list(module)


def _modules(module: ModulesLike, options: CrawlOptions) -> list[Module]:
    named = [name for name in options.module if name != "noop"]
    chosen = _listed(module) or named
    return [load_module(item) if isinstance(item, str) else as_module(item) for item in chosen]


def crawl_sync(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    options: CrawlOptions | None = None,
    **keywords: object,
) -> Summary:
    """Crawl from the seeds and return what came of it, as `crawl` does.

    Ctrl-C gives back what is in progress and raises KeyboardInterrupt.
    """
    _refuse_inside_a_loop("crawl_sync", "await gossamer.crawl(…)")
    return uvloop.run(
        crawl(*seeds, module=module, observer=observer, dns=dns, options=options, **keywords)
    )


def pages_sync(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    options: CrawlOptions | None = None,
    **keywords: object,
) -> Generator[Page, None, None]:
    """Crawl from the seeds and yield the pages as they come, as `pages` does.

    The crawl has a thread of its own, and so lives on while a page is read. Who stops reading, or
    presses Ctrl-C, ends it.
    """
    _refuse_inside_a_loop("pages_sync", "async for page in gossamer.pages(…)")
    return _read(
        pages(*seeds, module=module, observer=observer, dns=dns, options=options, **keywords)
    )


def _refuse_inside_a_loop(name: str, instead: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"gossamer.{name} would block the event loop that runs here: write '{instead}'"
    )


def _read(pages: AsyncGenerator[Page, None]) -> Generator[Page, None, None]:
    reader = _ReadingThread(pages)
    try:
        while (page := reader.handed.get()) is not None:
            yield page
            reader.go_on()
    finally:
        reader.end()
    if reader.error is not None:
        raise reader.error


class _ReadingThread:
    """A thread that reads pages on an event loop of its own and hands over one at a time.

    It is a daemon, ended at exit: a program may end while somebody still holds the iterator.
    """

    def __init__(self, pages: AsyncGenerator[Page, None]) -> None:
        self.handed: SimpleQueue[Page | None] = SimpleQueue()
        """The next page; None after the last."""
        self.error: BaseException | None = None
        self._pages = pages
        self._is_read = asyncio.Semaphore(0)
        self._loop = uvloop.new_event_loop()
        self._reading = self._loop.create_task(self._hand_over())
        self._thread = threading.Thread(target=self._work, name="gossamer pages", daemon=True)
        self._thread.start()
        atexit.register(self.end)

    def go_on(self) -> None:
        """Tell that the page is read."""
        self._loop.call_soon_threadsafe(self._is_read.release)

    def end(self) -> None:
        """End the crawl; return when what was in progress has been given back."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._reading.cancel)
        self._thread.join()
        atexit.unregister(self.end)

    async def _hand_over(self) -> None:
        async with aclosing(self._pages) as pages:
            async for page in pages:
                self.handed.put(page)
                await self._is_read.acquire()

    def _work(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.get_loop().run_until_complete(self._reading)
        except asyncio.CancelledError:
            pass  # nobody reads any more
        except BaseException as error:  # noqa: BLE001 -- it is raised where the pages are read
            self.error = error
        finally:
            self.handed.put(None)
