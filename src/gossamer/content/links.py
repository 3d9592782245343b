"""From what authors write after `href` to URLs."""

from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.model import Url
from gossamer.urls import MAX_URL_LENGTH, resolve

MAX_LINKS: Final = 10_000
"""Links to so many different pages are kept, the first ones; an index may repeat them."""


MAX_REMEMBERED_LENGTH: Final = 200


class FoundLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link of a page."""

    href: str
    """The link as written, without the white space around it, cut at `MAX_URL_LENGTH`."""
    url: Url | None
    """Where it leads; None when that is no usable http(s) URL."""


class ResolvedLinks:
    """Remembers where links lead: most links of a page stood on the one before.

    A link that begins with a name or a path is resolved against the folder of its page, whatever
    the page is called, so the pages of a folder share it.
    """

    def __init__(self, most: int = 50_000) -> None:
        self._urls: dict[tuple[str, str], Url | None] = {}
        self._most = most

    def resolve(self, target: str, base: Url, folder: str, encoding: str) -> Url | None:
        """Return where a link without its fragment leads, as `resolve` does."""
        if not _depends_on_folder(target):
            return resolve(target, base, encoding)
        key = folder, target
        if key in self._urls:
            return self._urls[key]
        if len(self._urls) >= self._most:
            self._urls.clear()
        url = self._urls[key] = resolve(target, base)
        return url


class Links:
    """Resolves the links of one page."""

    def __init__(
        self, page: Url, bases: Iterable[str], encoding: str, resolved: ResolvedLinks | None = None
    ) -> None:
        self.were_cut = False
        self._base = _base_url(page, bases)
        self._folder = self._base[: self._base.partition("?")[0].rfind("/")]
        self._encoding = encoding
        self._resolved = resolved or ResolvedLinks()
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
                known[target] = self._resolved.resolve(
                    target, self._base, self._folder, self._encoding
                )
            links.append(FoundLink(href[:MAX_URL_LENGTH], known[target]))
        return tuple(links)


def _depends_on_folder(target: str) -> bool:
    """Tell whether the rest of the page's URL, and its encoding, are surely of no account."""
    return (
        (target[:1].isalnum() or target[:1] in {"/", "."})
        and target.isascii()
        and (":" not in target or target.startswith(("http://", "https://")))
        and len(target) <= MAX_REMEMBERED_LENGTH
    )


def _base_url(page: Url, bases: Iterable[str]) -> Url:
    """Return the URL that links are relative to: the first usable base, or the page's own."""
    for href in bases:
        base = resolve(href, page)
        if base is not None:
            return base
    return page
