"""The modules of another process: pages travel to it, and are settled when it is done with them."""

import asyncio
from collections import OrderedDict
from typing import Protocol

import msgspec

from gossamer.channel import Contract
from gossamer.content import parse
from gossamer.model import Page, Url
from gossamer.modules.runner import ModuleRunner

DEPTHS_REMEMBERED = 10_000
"""For so many pages the smallest depth that was told is known: more than can be told at a time."""


class PageMessage(msgspec.Struct, frozen=True, array_like=True):
    """A page on its way to another process."""

    id: int
    url: Url
    depth: int
    status: int
    content_type: str
    encoding: str
    title: str
    body: bytes
    links: tuple[Url, ...]
    fetched_at: float

    @classmethod
    def of(cls, page: Page) -> "PageMessage":
        """Return the message of a page."""
        return cls(*(getattr(page, name) for name in cls.__struct_fields__))

    def page(self) -> Page:
        """Return the page, as its module sees it."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return Page(**fields, read_text=self._text)

    def _text(self) -> str:
        return parse(self.body, url=self.url, content_type=self.content_type or None).text


class PageModules(Protocol):
    """What a worker asks of the modules of its coordinator."""

    async def deliver(self, page: PageMessage) -> None:
        """Show a page to the modules; CrawlError if one ends the crawl on purpose."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the modules that a page delivered before is nearer than was known."""


PAGE_MODULES: Contract[PageModules] = Contract(PageModules)


class ServedModules:
    """The modules of this process, for workers in others."""

    def __init__(self, runner: ModuleRunner) -> None:
        self._runner = runner
        self._depths: OrderedDict[int, int] = OrderedDict()
        self._telling = asyncio.Lock()

    async def deliver(self, page: PageMessage) -> None:
        """Show a page to the modules."""
        await self._runner.deliver(page.page())

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell a smaller depth; workers that found one at the same time may come in any order."""
        async with self._telling:
            if depth >= self._depths.get(page_id, depth + 1):
                return
            self._depths[page_id] = depth
            if len(self._depths) > DEPTHS_REMEMBERED:
                self._depths.popitem(last=False)
            await self._runner.depth_changed(page_id, depth)


class WorkerModules:
    """The modules of a worker: its own, and those of its coordinator."""

    def __init__(self, own: ModuleRunner, coordinators: PageModules | None) -> None:
        self._own = own
        self._coordinators = coordinators
        self.takes_pages = own.takes_pages or coordinators is not None
        self.follows_depths = own.follows_depths or coordinators is not None

    async def deliver(self, page: Page) -> None:
        """Show a page to every module."""
        if self._coordinators is None:
            await self._own.deliver(page)
            return
        elsewhere = asyncio.ensure_future(self._coordinators.deliver(PageMessage.of(page)))
        try:
            await self._own.deliver(page)
            await elsewhere
        finally:
            elsewhere.cancel()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell every module that a page delivered before is nearer than was known."""
        await self._own.depth_changed(page_id, depth)
        if self._coordinators is not None:
            await self._coordinators.depth_changed(page_id, depth)
