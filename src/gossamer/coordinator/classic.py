"""The classic crawl: a preset of the engine. One worker, one connection, nearest pages first."""

from collections import Counter
from collections.abc import Callable

import msgspec

from gossamer.coordinator.advice import why_no_page
from gossamer.coordinator.clock import steady_clock
from gossamer.coordinator.engine import Engine
from gossamer.download import Client, FetchOptions, NameTable, user_agent
from gossamer.errors import CrawlError
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import Depth
from gossamer.model import Event, EventKind, Outcome, Page, Url
from gossamer.modules import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.stores.contract import Store, UrlState
from gossamer.stores.embedded.memory import MemoryBackend
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.stores.rules import StoreRules
from gossamer.urls import Scope, merge_slashes
from gossamer.worker.links import LinkFilter
from gossamer.worker.pipeline import WorkerContext
from gossamer.worker.robots import PoliteRobots

SAFETY_LIMIT_BYTES = 64_000_000
"""The classic crawler keeps every page whole; only what could fill the memory is refused."""

UNLIMITED = 10**15
FOR_EVER_S = 1e12

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
        self._backend = MemoryBackend()
        rules = StoreRules(
            scheduler=SchedulerRules(strict=True, delay_s=settings.delay_s),
            max_depth=plan.max_depth,
            max_pages=UNLIMITED,
            max_bytes=UNLIMITED,
            ttl_s=FOR_EVER_S,
            similarity=None,
        )
        self._clock = steady_clock()
        self._store = EmbeddedStore(self._backend, rules, self._clock())

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How the URLs visited so far ended."""
        return Counter(
            record.outcome for record in self._backend.records() if record.outcome is not None
        )

    @property
    def waiting(self) -> int:
        """How many URLs are known and not yet visited."""
        waiting = {UrlState.UNSCORED, UrlState.QUEUED, UrlState.ASSIGNED, UrlState.LEASED}
        return sum(record.state in waiting for record in self._backend.records())

    async def run(self) -> None:
        """Crawl to the end; CrawlError if the seed yields no page or a file cannot be written."""
        settings = self._settings
        options = FetchOptions(
            user_agent=user_agent(settings.contact or None),
            max_body_bytes=SAFETY_LIMIT_BYTES,
            total_timeout_s=60.0,
            connections=1,
        )
        link_filter = LinkFilter(
            Scope.for_prefix(self._plan.prefix), str, spelling=merge_slashes, comparing=str
        )
        async with Client(options, settings.addresses, settings.dns) as client:
            context = WorkerContext(
                store=self._store,
                client=client,
                robots=PoliteRobots(client, self._store, str, self._clock, settings.delay_s),
                link_filter=link_filter,
                modules=_Saver(self._pages, self._watch),
                clock=self._clock,
                watch=self._watch,
                max_depth=self._plan.max_depth,
                retries=False,
            )
            await self._store.add_seeds([link_filter.file(self._plan.seed)], self._clock())
            draw = Draw(QueueTable(SchedulerRules().queues), 0, strict=True)
            await Engine(context, Depth(), draw, [1], _no_tick).run()
        # Every later URL was found on a saved page: no page at all means that the seed had none.
        if self._pages.count == 0:
            *_, last = self._backend.records()
            raise CrawlError(why_no_page(self._plan.seed, last))


class _Saver:
    """The one module of the classic crawl."""

    def __init__(self, pages: PageDirectory, watch: Watch) -> None:
        self._pages = pages
        self._watch = watch
        self._first_id = pages.first_id

    async def deliver(self, page: Page) -> None:
        """Save a page; its number in the crawl and its file's name go together."""
        number = self._pages.save(page.url, page.depth, page.body)
        assert number == page.id - 1 + self._first_id
        self._watch(Event(EventKind.SAVED, page.depth, page.url))

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Write the smaller depth into the page's file."""
        self._pages.set_depth(page_id - 1 + self._first_id, depth)


async def _no_tick(_store: Store) -> None:
    """Show nothing: the progress lines say it all."""
