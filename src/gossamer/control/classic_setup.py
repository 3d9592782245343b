"""The classic crawl, put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from gossamer.control.classic import ClassicCrawl, ClassicPlan, Watch
from gossamer.download import Client, FetchOptions, NameTable, user_agent
from gossamer.modules import PageDirectory
from gossamer.policy import AddressPolicy, Pacing
from gossamer.worker import PacedFetch, Visitor

SAFETY_LIMIT_BYTES = 64_000_000
"""The classic crawler keeps every page whole; only what could fill the memory is refused."""


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


@asynccontextmanager
async def open_classic_crawl(
    plan: ClassicPlan, settings: ClassicSettings, pages: PageDirectory, watch: Watch
) -> AsyncIterator[ClassicCrawl]:
    """Give a crawl that is ready to run, and close its connections at the end."""
    options = FetchOptions(
        user_agent=user_agent(settings.contact or None),
        max_body_bytes=SAFETY_LIMIT_BYTES,
        total_timeout_s=60.0,
        connections=1,
    )
    async with Client(options, settings.addresses, settings.dns) as client:
        pacing = Pacing(settings.delay_s)
        visitor = Visitor(PacedFetch(client, pacing), pacing)
        yield ClassicCrawl(plan, visitor, pages, watch)
