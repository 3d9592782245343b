"""What the workers of one process work with."""

from collections.abc import Callable

import msgspec

from gossamer.content.page_parser import PageParser, ParseRules
from gossamer.download.client import Client
from gossamer.frontier.contract import FrontierClient, Settlement
from gossamer.model import Event, Response
from gossamer.policy.failures import RETRIES
from gossamer.stores.bodies.writer import BodyWriter
from gossamer.worker.cookies import CookieJars
from gossamer.worker.crash_note import PagesInHand
from gossamer.worker.fetched_page import PageRows
from gossamer.worker.hooks import Modules
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.settlements import HostFailures
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.traps import TrapWatch


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
    in_hand: PagesInHand = msgspec.field(default_factory=PagesInHand)
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
    """Writes the bodies of pages; None: the store keeps them."""
    traps: TrapWatch | None = None
    """None: nothing is taken for a trap."""


def with_body_written(settlement: Settlement, writer: BodyWriter | None) -> Settlement:
    """Return a settlement that refers to the body of its page, which is written; only once."""
    page = settlement.page
    if writer is None or page is None or writer.has_written(page.content):
        return settlement
    url_id = settlement.task.url_id
    reference = writer.append(page.content, url_id, page.fetched_at, page.digest)
    return msgspec.structs.replace(
        settlement, page=msgspec.structs.replace(page, content=reference)
    )
