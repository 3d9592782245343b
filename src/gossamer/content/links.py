"""From what authors write after `href` to URLs."""

from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.model import Url
from gossamer.urls import MAX_URL_LENGTH, resolve

MAX_LINKS: Final = 10_000
"""Links to so many different pages are kept, the first ones; an index may repeat them."""


class FoundLink(msgspec.Struct, frozen=True):
    """A link of a page."""

    href: str
    """The link as written, without the white space around it, cut at `MAX_URL_LENGTH`."""
    url: Url | None
    """Where it leads; None when that is no usable http(s) URL."""


class Links:
    """Resolves the links of one page."""

    def __init__(self, page: Url, bases: Iterable[str], encoding: str) -> None:
        self.were_cut = False
        self._base = _base_url(page, bases)
        self._encoding = encoding
        self._known: dict[str, Url | None] = {}

    def resolve(self, hrefs: Iterable[str]) -> tuple[FoundLink, ...]:
        """Return the links in their order, without those to too many different pages."""
        known, links = self._known, []
        for href in hrefs:
            # Those that differ in the fragment alone lead to the same page.
            target = href.partition("#")[0]
            if target not in known:
                if len(known) >= MAX_LINKS:
                    self.were_cut = True
                    continue
                known[target] = resolve(target, self._base, self._encoding)
            links.append(FoundLink(href[:MAX_URL_LENGTH], known[target]))
        return tuple(links)


def _base_url(page: Url, bases: Iterable[str]) -> Url:
    """Return the URL that links are relative to: the first usable base, or the page's own."""
    for href in bases:
        base = resolve(href, page)
        if base is not None:
            return base
    return page
