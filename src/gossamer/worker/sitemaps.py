"""Sitemaps: tasks like pages, of which nothing is stored but the URLs that they list."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import xxhash

from gossamer.frontier.contract import (
    ANY_DOMAIN,
    FrontierClient,
    HostFeedback,
    Link,
    Listing,
    Settlement,
    Task,
)
from gossamer.model import Outcome, Response, Url
from gossamer.urls import fingerprint
from gossamer.worker import settlements
from gossamer.worker.link_filter import LinkFilter

if TYPE_CHECKING:  # most crawls read no sitemap, and need no parser of XML and of mail dates
    from gossamer.content.sitemap import Sitemap, SitemapEntry

MAX_SITEMAP_HOPS = 5
"""How many indexes and redirects in a row lead to a sitemap at most."""
READ_AT_ONCE = 2
"""How many sitemaps a process has in its memory, of which each may be large."""
LISTED_AT_ONCE = 500
"""How many URLs are added in one step of the frontier, which must not take long."""
ASK_AGAIN_S = 0.02
FIRST = 0.0
"""The score of a sitemap: what it lists is known before other URLs are chosen."""


class SitemapReader:
    """Reads the sitemaps that this process has fetched, a few at a time."""

    def __init__(
        self,
        store: FrontierClient,
        link_filter: LinkFilter,
        clock: Callable[[], float],
        *,
        auto: bool,
    ) -> None:
        """Prepare; `auto`: sitemaps that a robots.txt announces are read."""
        self._store = store
        self._link_filter = link_filter
        self._clock = clock
        self._auto = auto
        self.turns = asyncio.Semaphore(READ_AT_ONCE)
        self.on_added: Callable[[], None] = lambda: None
        """Is called when URLs were added that are to be scored: by a frontier in this process."""

    async def announce(self, task: Task, sitemaps: Sequence[Url]) -> None:
        """Add the sitemaps that the robots.txt of a task's host names."""
        if self._auto and sitemaps and not task.sitemap_of:
            domain = self._link_filter.file(task.url).domain
            links = [as_sitemap(self._link_filter, url, domain) for url in sitemaps]
            await self._store.add_seeds(links, self._clock())

    async def settlement(
        self, task: Task, response: Response, feedback: HostFeedback, retries: int
    ) -> Settlement | None:
        """Add what a sitemap lists, and return how its task ended; None: its lease is lost."""
        if response.outcome is Outcome.REDIRECTED and response.target is not None:
            return await self._redirected(task, response, feedback)
        if response.outcome is not Outcome.FETCHED:
            return settlements.failed(task, response, feedback, retries=retries)
        from gossamer.content.sitemap import Sitemap  # noqa: PLC0415

        sitemap = Sitemap(response.body, task.url)
        listed, left_out = 0, 0
        for entries in sitemap.pieces():
            if sitemap.is_index and task.hops >= MAX_SITEMAP_HOPS:
                sitemap.trouble = "it is an index behind too many others"
                break
            links = self._links(task, entries, is_index=sitemap.is_index)
            listed, left_out = listed + len(links), left_out + len(entries) - len(links)
            if not await self._add(task, links):
                return None
        return Settlement(
            task=task,
            outcome=Outcome.NOT_SITEMAP if sitemap.trouble and not listed else Outcome.SITEMAP,
            detail=_detail(listed, left_out, sitemap),
            status=response.status,
            feedback=feedback,
        )

    async def _redirected(
        self, task: Task, response: Response, feedback: HostFeedback
    ) -> Settlement | None:
        assert response.target is not None
        target = as_sitemap(self._link_filter, response.target, task.sitemap_of)
        is_followed = task.hops < MAX_SITEMAP_HOPS
        if is_followed and not await self._add(task, [target]):
            return None
        return Settlement(
            task=task,
            outcome=Outcome.REDIRECTED if is_followed else Outcome.BAD_REDIRECT,
            detail=f"to {response.target}",
            status=response.status,
            feedback=feedback,
        )

    def _links(
        self, task: Task, entries: "Iterable[SitemapEntry]", *, is_index: bool
    ) -> list[Link]:
        """Return the entries that a sitemap may list: those of its site, and in scope."""
        domain = task.sitemap_of
        if is_index:
            return [as_sitemap(self._link_filter, entry.url, domain) for entry in entries]
        links = []
        for entry in entries:
            link = self._link_filter.judge(entry.url, remember=False)  # it is listed once
            if link is None or domain not in (ANY_DOMAIN, link.domain):
                continue
            is_rated = entry.lastmod is not None or entry.priority is not None
            listing = Listing(entry.lastmod, entry.priority) if is_rated else None
            links.append(Link(link.url, link.key, link.host, link.domain, None, listing))
        return links

    async def _add(self, task: Task, links: Sequence[Link]) -> bool:
        """Add links as the URL queue has room for them; False: the lease is lost."""
        await asyncio.sleep(0)  # reading a piece took its time: let others run
        for start in range(0, len(links), LISTED_AT_ONCE):
            while not await self._store.has_room():  # noqa: ASYNC110 -- there is no event
                await asyncio.sleep(ASK_AGAIN_S)
            batch = links[start : start + LISTED_AT_ONCE]
            if await self._store.add_listed(task, batch, self._clock()) is None:
                return False
            self.on_added()
        return True


def as_sitemap(link_filter: LinkFilter, url: Url, domain: str) -> Link:
    """Return the link to a sitemap of that domain, or of `ANY_DOMAIN`.

    It is known by another key than the page of that URL: a page may link to it, or be one.
    """
    link = link_filter.file(url)
    key, listing = sitemap_key(link.url), Listing(sitemap_of=domain)
    return Link(link.url, key, link.host, link.domain, FIRST, listing)


def sitemap_key(url: Url) -> bytes:
    """Return the key under which a sitemap is known."""
    return xxhash.xxh3_128_digest(f"sitemap {fingerprint(url)}".encode())


def _detail(listed: int, left_out: int, sitemap: "Sitemap") -> str:
    parts = []
    if listed:
        unit = "sitemap" if sitemap.is_index else "URL"
        parts.append(f"it lists {listed:,} {unit}{'' if listed == 1 else 's'}")
    if left_out:
        unit = "URL" if left_out == 1 else "URLs"
        parts.append(f"{left_out:,} {unit} of other sites, or out of scope, left out")
    if sitemap.trouble:
        parts.append(sitemap.trouble)
    return "; ".join(parts) or "it lists no URLs"
