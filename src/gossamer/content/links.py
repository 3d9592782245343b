"""The links of a page, resolved to URLs."""

from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.content.link_header import header_links
from gossamer.content.relations import kind_of_relation
from gossamer.kinds import LinkKind
from gossamer.model import Headers, Url
from gossamer.urls import MAX_URL_LENGTH, resolve, resolve_plain

MAX_LINKS: Final = 10_000
"""Links to the first so many different pages are kept; an index may repeat them."""

MAX_LINK_BYTES: Final = 2_000_000
"""So long may the URLs of a page be together: with a long base, short links make long URLs."""

MAX_CACHED_LENGTH: Final = 200
MAX_CACHED_URL_LENGTH: Final = 500
"""Hardly any URL is longer, and a hostile base would fill the memory."""

_UNKNOWN: Final = Url("")


class FoundLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link of a page."""

    href: str
    """The link as written, without the white space around it, cut at `MAX_URL_LENGTH`."""
    url: Url | None
    """Where it leads; None if that is not a usable http(s) URL."""
    kind: LinkKind = LinkKind.A


class ResolvedLinks:
    """A cache of resolved links: most links of a page were on the page before, too.

    A relative link depends on the folder of its page and not on the page's name, so the pages of a
    folder share it.
    """

    def __init__(self, max_size: int = 50_000) -> None:
        self._urls: dict[tuple[str, str], Url | None] = {}
        self._max_size = max_size

    def resolve(self, target: str, base: Url, folder: str, encoding: str) -> Url | None:
        """Return where a link without its fragment leads, like `resolve`."""
        key = folder, target
        if (known := self._urls.get(key, _UNKNOWN)) is not _UNKNOWN:
            return known
        if not _depends_on_folder(target):
            return resolve(target, base, encoding)
        url = resolve_plain(target, base) or resolve(target, base)
        if len(url or folder) <= MAX_CACHED_URL_LENGTH:
            if len(self._urls) >= self._max_size:
                self._urls.clear()
            self._urls[key] = url
        return url


def resolve_links(
    hrefs: Iterable[str],
    kinds: Iterable[LinkKind],
    base: Url,
    encoding: str,
    resolved: ResolvedLinks,
) -> tuple[tuple[FoundLink, ...], int]:
    """Return the links of a page in their order, up to the limits, and how many are beyond."""
    folder = base[: base.partition("?")[0].rfind("/")]
    known: dict[str, Url | None] = {}
    links, size, left_out = [], 0, 0
    for href, kind in zip(hrefs, kinds, strict=True):
        # Links that differ only in the fragment lead to the same page.
        target = href.partition("#")[0] if "#" in href else href
        url = known.get(target, _UNKNOWN)
        if url is _UNKNOWN:
            if len(known) >= MAX_LINKS or size >= MAX_LINK_BYTES:
                left_out += 1
                continue
            url = known[target] = resolved.resolve(target, base, folder, encoding)
            size += len(url or "")
        links.append(FoundLink(href[:MAX_URL_LENGTH], url, kind))
    return tuple(links), left_out


def links_in_header(
    headers: Headers, page: Url, follow: frozenset[LinkKind]
) -> tuple[FoundLink, ...]:
    """Return the links of the Link header; they are relative to the page, whatever its base."""
    if LinkKind.HEADER not in follow or not (values := headers.get_all("link")):
        return ()
    found = []
    for link in header_links(values):
        kind = kind_of_relation(link.rel, link.preloaded_as)
        if kind is not None and kind in follow:
            found.append(FoundLink(link.target[:MAX_URL_LENGTH], resolve(link.target, page), kind))
    return tuple(found)


def base_url(page: Url, bases: Iterable[str]) -> Url:
    """Return the URL that links are relative to: the first usable base, or the page's own."""
    return next(filter(None, (resolve(href, page) for href in bases)), page)


def _depends_on_folder(target: str) -> bool:
    """Return whether the link depends on nothing of its page but the folder."""
    return (
        (target[:1].isalnum() or target[:1] in {"/", "."})
        and target.isascii()
        and (":" not in target or target.startswith(("http://", "https://")))
        and len(target) <= MAX_CACHED_LENGTH
    )
