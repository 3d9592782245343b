"""The modules of another process: pages travel to it, and are settled when it is done with them."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from gossamer.channel import Contract
from gossamer.content.lazy_document import LazyDocument
from gossamer.model import Exchange, Headers, Page, Url
from gossamer.model.names import ContentKind
from gossamer.model.page import PageAttributes
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.modules.runner import ModuleRunner


class PageMessage(PageAttributes, frozen=True, kw_only=True):
    """A page on its way to another process."""

    id: int
    url: Url
    depth: int
    status: int
    kind: ContentKind
    body: bytes
    links: tuple[Url, ...]
    fetched_at: float
    is_revisit: bool
    found_on: Url | None
    redirected_from: tuple[Url, ...]
    exchange: Exchange | None
    coded_body: bytes | None
    language: str

    @classmethod
    def of(cls, page: Page) -> "PageMessage":
        """Return the message of a page."""
        return cls(**{name: getattr(page, name) for name in cls.__struct_fields__})

    def page(self) -> Page:
        """Return the page, as its module sees it."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        headers = Headers.read(self.exchange.head) if self.exchange else Headers()
        document = LazyDocument(self.body, self.url, self.content_type or None, self.kind)
        return Page(**fields, headers=headers, document=document)


class PageModules(Protocol):
    """What a worker asks of the modules of its coordinator."""

    async def deliver(self, page: PageMessage, links: Sequence[FollowedLink]) -> Delivered:
        """Show a page to the modules; CrawlError if one ends the crawl on purpose."""

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Tell the modules how a URL has ended."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the modules the final depth of a page that they saw with a larger one."""


PAGE_MODULES: Contract[PageModules] = Contract(PageModules)


class ServedModules:
    """The modules of this process, for workers in others."""

    def __init__(self, runner: ModuleRunner) -> None:
        self._runner = runner
        self.finished = runner.finished
        self.depth_changed = runner.depth_changed

    async def deliver(self, page: PageMessage, links: Sequence[FollowedLink]) -> Delivered:
        """Show a page to the modules."""
        return await self._runner.deliver(page.page(), links)


class CoordinatorModules(msgspec.Struct, frozen=True):
    """The modules of a worker's coordinator, as the worker has them."""

    modules: PageModules
    hooks: Hooks


class WorkerModules:
    """The modules of a worker: its own, and those of its coordinator."""

    def __init__(self, own: ModuleRunner, elsewhere: CoordinatorModules | None) -> None:
        self._own = own
        self._elsewhere = elsewhere
        self._others = Hooks() if elsewhere is None else elsewhere.hooks
        self.hooks = own.hooks | self._others

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Show a page to every module; where both choose links, our own choose first."""
        if self._elsewhere is None or not self._others.pages:
            return await self._own.deliver(page, links)
        theirs, message = self._elsewhere.modules, PageMessage.of(page)
        if self._own.hooks.links and self._others.links:
            here = await self._own.deliver(page, links)
            there = await theirs.deliver(message, here.links or ())
            return here + there
        waiting = asyncio.ensure_future(theirs.deliver(message, links))
        try:
            return await self._own.deliver(page, links) + await waiting
        finally:
            waiting.cancel()

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Tell every module how a URL has ended."""
        delivered = await self._own.finished(end)
        if self._elsewhere is not None and self._others.ends:
            delivered += await self._elsewhere.modules.finished(end)
        return delivered

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell every module the final depth of a page that it saw with a larger one."""
        await self._own.depth_changed(page_id, depth)
        if self._elsewhere is not None and self._others.depths:
            await self._elsewhere.modules.depth_changed(page_id, depth)
