"""The links of a page that are in scope, each with the key, host and domain of its URL."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache

import xxhash

from gossamer.frontier.contract import Link
from gossamer.model import HostKey, Url
from gossamer.urls import Scope, fingerprint, host_key

JUDGED_AT_ONCE = 500
"""How many links of a page are judged before others have their turn."""
MAX_REMEMBERED_LENGTH = 500
"""Hardly any URL is longer; hostile pages are full of such, and would fill the memory."""
MAX_SHARED_HOSTS = 10_000
"""Of how many hosts the links share one text for the name."""
REMEMBERED_OF_PAGE = 5_000
"""How many links of one page are remembered: a hostile one has 100,000 that no other page has."""


class LinkFilter:
    """Files URLs, and remembers the recent ones: most links of a page stood on the one before.

    `domain_of` gives the registered domain of a host, `comparing` the text by which URLs are known
    again; `spelling` may put a URL into a stronger form before it is fetched.
    """

    def __init__(
        self,
        scope: Scope,
        domain_of: Callable[[str], str],
        *,
        spelling: Callable[[Url], Url] | None = None,
        comparing: Callable[[Url], str] = fingerprint,
        remembered: int = 100_000,
    ) -> None:
        self._scope = scope
        self._domain_of = domain_of
        self._spelling = spelling
        self._comparing = comparing
        self._remembered = remembered
        self._one_text = lru_cache(MAX_SHARED_HOSTS)(HostKey)
        """Returns the same text for all links to a host, which would have one each."""
        # Not a plain dict: that takes longer to find its first entry the more were deleted there.
        self._links: OrderedDict[Url, Link | None] = OrderedDict()

    async def of_page(self, urls: Sequence[Url]) -> list[Link]:
        """Return the links of a page that belong to the crawl, each once, in order.

        Others have their turn after every few hundred.
        """
        links: dict[bytes, Link] = {}
        known = self._links
        for start in range(0, len(urls), JUDGED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            remember = start < REMEMBERED_OF_PAGE
            for url in urls[start : start + JUDGED_AT_ONCE]:
                link = known[url] if url in known else self._judge(url, remember=remember)
                if link is not None and link.key not in links:
                    links[link.key] = link
        return list(links.values())

    def targets(self, url: Url | None, *, of_seed: bool) -> list[Link]:
        """Return where a redirect leads, if that belongs to the crawl: of a seed, as one would."""
        if url is None:
            return []
        if of_seed:
            link = self.file(url)
            return [link] if self._scope.judge(link.url, is_seed=True) else []
        return [target] if (target := self.judge(url)) is not None else []

    def judge(self, url: Url, *, remember: bool = True) -> Link | None:
        """Return what the URL is filed under; None if it is out of scope."""
        return self._links[url] if url in self._links else self._judge(url, remember=remember)

    def is_same(self, url: Url, other: Url) -> bool:
        """Tell whether two URLs are spellings of one, so that the frontier knows them as one."""
        return self.file(url).key == self.file(other).key

    def file(self, url: Url) -> Link:
        """Return what the URL is filed under, whether it is in scope or not."""
        if self._spelling is not None:
            url = self._spelling(url)
        host = self._one_text(host_key(url))
        key = xxhash.xxh3_128_digest(self._comparing(url).encode())
        return Link(url, key, host, self._domain_of(host))

    def _judge(self, url: Url, *, remember: bool) -> Link | None:
        spelt = url if self._spelling is None else self._spelling(url)
        link = self.file(spelt) if self._scope.judge(spelt) else None
        if remember and len(url) <= MAX_REMEMBERED_LENGTH:
            self._links[url] = link
            if len(self._links) > self._remembered:
                self._links.popitem(last=False)
        return link
