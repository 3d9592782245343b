"""The classic crawl: every internal page within the depth, saved once, the nearest first."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from gossamer.coordinator.in_process import MemoryCrawl
from gossamer.coordinator.summary import why_no_page
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions, user_agent
from gossamer.model import Event, EventKind, NameTable, Outcome, Page, Url
from gossamer.model.errors import CrawlError
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.stores.url_record import UrlState
from gossamer.urls import Scope, merge_slashes
from gossamer.worker.link_filter import LinkFilter

SAFETY_LIMIT_BYTES = 64_000_000
"""The classic crawler keeps every page whole; only what could fill the memory is refused."""

Watch = Callable[[Event], None]


class ClassicPlan(msgspec.Struct, frozen=True):
    """What to crawl."""

    seed: Url
    prefix: Url
    """Only URLs that begin with it are internal."""
    max_depth: int


class ClassicSettings(msgspec.Struct, frozen=True):
    """How to crawl."""

    addresses: AddressPolicy = AddressPolicy()
    """Which private addresses may be contacted."""
    contact: str = ""
    """Sent with every request, for the owners of the site."""
    delay_s: float = 1.0
    """The pause between two fetches. The command has no option for it."""
    dns: NameTable | None = None
    """A table of names to use instead of DNS."""


class ClassicCrawl:
    """Visits every internal page within the depth and saves each once.

    `run` may be cancelled at any moment: pages are saved between two awaits, so every file is whole
    and the counters tell how far it got.
    """

    def __init__(
        self, plan: ClassicPlan, settings: ClassicSettings, pages: PageDirectory, watch: Watch
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._pages = pages
        self._watch = watch
        self._crawl = MemoryCrawl(plan.max_depth, settings.delay_s)

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How the URLs visited so far ended."""
        return Counter(one.outcome for one in self._crawl.records() if one.outcome is not None)

    @property
    def waiting(self) -> int:
        """How many URLs are known and not yet visited."""
        over = {UrlState.DONE, UrlState.TOO_DEEP}
        return sum(one.state not in over for one in self._crawl.records())

    async def run(self) -> None:
        """Crawl to the end; CrawlError if the seed yields no page or a file cannot be written."""
        plan, settings = self._plan, self._settings
        options = FetchOptions(
            user_agent=user_agent(settings.contact or None),
            max_body_bytes=SAFETY_LIMIT_BYTES,
            total_timeout_s=60.0,
            connections=1,
        )
        link_filter = LinkFilter(
            Scope.for_prefix(plan.prefix), str, spelling=merge_slashes, comparing=str
        )
        async with Client(options, settings.addresses, settings.dns) as client:
            context = self._crawl.context(client, link_filter, _Saver(self._pages, self._watch))
            context = msgspec.structs.replace(context, watch=self._watch)
            await self._crawl.run(plan.seed, context)
        # Every later URL was found on a saved page: no page at all means that the seed had none.
        if self._pages.count == 0:
            *_, last = self._crawl.records()
            raise CrawlError(why_no_page(plan.seed, last))


class _Saver:
    """The one module of the classic crawl."""

    hooks = Hooks(pages=True, depths=True)

    def __init__(self, pages: PageDirectory, watch: Watch) -> None:
        self._pages = pages
        self._watch = watch

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Save a page."""
        self._pages.save(page)
        self._watch(Event(EventKind.SAVED, page.depth, page.url))
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Do nothing: nobody asked for this."""
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Write the smaller depth into the page's file."""
        self._pages.set_depth(page_id, depth)
