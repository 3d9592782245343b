"""A crawl inside a program that has no event loop: the calls of `api`, to be waited for."""

import asyncio
import atexit
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, suppress
from queue import SimpleQueue
from typing import Unpack

import uvloop

from gossamer.config import CrawlKeywords
from gossamer.coordinator.api import ModulesLike, crawl, pages
from gossamer.coordinator.event_observer import ObserverLike
from gossamer.coordinator.observer import Summary
from gossamer.errors import UsageError
from gossamer.model import NameTable, Page


def crawl_sync(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    **options: Unpack[CrawlKeywords],
) -> Summary:
    """Crawl from the seeds and return what came of it, as `crawl` does.

    Ctrl-C gives back what is in progress and raises KeyboardInterrupt.
    """
    _refuse_inside_a_loop("crawl_sync", "await gossamer.crawl(…)")
    return uvloop.run(crawl(*seeds, module=module, observer=observer, dns=dns, **options))


def pages_sync(
    *seeds: str,
    module: ModulesLike = (),
    observer: ObserverLike | None = None,
    dns: NameTable | None = None,
    **options: Unpack[CrawlKeywords],
) -> Generator[Page, None, None]:
    """Crawl from the seeds and yield the pages as they come, as `pages` does.

    The crawl has a thread of its own, and so lives on while a page is read. Who stops reading, or
    presses Ctrl-C, ends it.
    """
    _refuse_inside_a_loop("pages_sync", "async for page in gossamer.pages(…)")
    return _read(pages(*seeds, module=module, observer=observer, dns=dns, **options))


def _refuse_inside_a_loop(name: str, instead: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise UsageError(
        f"gossamer.{name} would block the event loop that runs here: write '{instead}'"
    )


def _read(found: AsyncGenerator[Page, None]) -> Generator[Page, None, None]:
    reader = _ReadingThread(found)
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

    def __init__(self, found: AsyncGenerator[Page, None]) -> None:
        self.handed: SimpleQueue[Page | None] = SimpleQueue()
        """The next page; None after the last."""
        self.error: BaseException | None = None
        self._found = found
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
        async with aclosing(self._found) as found:
            async for page in found:
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
