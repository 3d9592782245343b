"""What the workers of one process work with."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from gossamer.content.page_parser import PageParser, ParseRules
from gossamer.download.client import Client
from gossamer.frontier.contract import FrontierClient
from gossamer.model import Event, Page, Response
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks
from gossamer.policy.failures import RETRIES
from gossamer.stores.bodies import no_body
from gossamer.stores.body_writer import BodyWriter
from gossamer.worker.fetched_page import PageRows
from gossamer.worker.in_flight import InFlightPages
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.requests import CookieJars
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.settlements import HostFailures
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.traps import TrapWatch


class Modules(Protocol):
    """The modules, as the page path sees them."""

    @property
    def hooks(self) -> Hooks:
        """Which hooks any of the modules has."""

    async def deliver(self, page: Page, links: Sequence[FollowedLink] = ()) -> Delivered:
        """Show a page to every module, with the links that are about to be followed."""

    async def finished(self, end: FinishedUrl) -> Delivered:
        """Tell how a URL has ended; return what was extracted."""

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Tell the final depth of a page that was shown with a larger one."""


class WorkerContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all workers of a process work with."""

    store: FrontierClient
    client: Client
    robots: PoliteRobots
    link_filter: LinkFilter
    modules: Modules
    clock: Callable[[], float]
    """Seconds since the epoch."""
    watch: Callable[[Event], None] | None = None
    """Wants to know each step; None: nobody does."""
    on_response: Callable[[Response], None] | None = None
    """Sees each answer to the request for a page; None: nobody does."""
    ignored_robots: frozenset[str] = frozenset()
    sitemaps: SitemapReader | None = None
    """None: there are none."""
    page_parser: PageParser = msgspec.field(default_factory=lambda: PageParser(ParseRules()))
    in_flight: InFlightPages = msgspec.field(default_factory=InFlightPages)
    """The pages that are read and shown to modules just now."""
    failures: HostFailures = msgspec.field(default_factory=HostFailures)
    """Why hosts last failed."""
    cookies: CookieJars | None = None
    """None: no cookies are sent or kept."""
    max_depth: int | None = None
    lease_s: float = 120.0
    """How long a lease holds without being renewed."""
    retries: int = RETRIES
    """How often a failure that may pass is tried again."""
    rows: PageRows = msgspec.field(default_factory=PageRows)
    """Makes the rows that outputs want."""
    similar_links: bool = True
    """Whether the links of a page that is similar to another are followed."""
    bodies: BodyWriter | None = None
    """Writes the bodies of pages; None: they are settled with their pages."""
    fetch_body: Callable[[str], Awaitable[bytes | None]] = no_body
    """Reads one that has a name in the store."""
    traps: TrapWatch | None = None
    """None: nothing is taken for a trap."""
