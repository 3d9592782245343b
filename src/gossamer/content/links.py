"""The links of a page, resolved to URLs."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
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
_NOWHERE: Final[Mapping[str, Url | None]] = MappingProxyType({})


class FoundLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A link of a page."""

    href: str
    """The link as written, without the white space around it, cut at `MAX_URL_LENGTH`."""
    url: Url | None
    """Where it leads; None if that is not a usable http(s) URL."""
    kind: LinkKind = LinkKind.A


class PageLinks(msgspec.Struct, frozen=True, dict=True):
    """The links of a page in their order, repeated ones too.

    Most crawls want to know only where they lead, so each link is made when it is asked for.
    """

    hrefs: Sequence[str] = ()
    kinds: Sequence[LinkKind] = ()
    leading_to: Mapping[str, Url | None] = {}
    """Where links without their fragments lead; others are left out."""
    before: tuple[FoundLink, ...] = ()
    """Those of the header."""
    after: tuple[FoundLink, ...] = ()

    @cached_property
    def all(self) -> tuple[FoundLink, ...]:
        """Every link."""
        found = [
            FoundLink(href[:MAX_URL_LENGTH], self.leading_to[target], kind)
            for href, kind in zip(self.hrefs, self.kinds, strict=True)
            if (target := href.partition("#")[0]) in self.leading_to
        ]
        return self.before + tuple(found) + self.after

    def targets(self) -> tuple[Url, ...]:
        """Return where the links lead, in their order, repeated ones too."""
        within = [self.leading_to.get(href.partition("#")[0]) for href in self.hrefs]
        before, after = ([link.url for link in some] for some in (self.before, self.after))
        return tuple(filter(None, (*before, *within, *after)))

    def urls(self) -> list[Url]:
        """Return the URLs that the links lead to, each once."""
        before, after = ((link.url for link in some) for some in (self.before, self.after))
        return [*filter(None, dict.fromkeys((*before, *self.leading_to.values(), *after)))]


class ResolvedLinks:
    """A cache of resolved links: most links of a page were on the page before, too.

    A relative link depends on the folder of its page and not on the page's name, so the pages of a
    folder share it.
    """

    def __init__(self, max_size: int = 50_000) -> None:
        self._folders: dict[str, dict[str, Url | None]] = {}
        self._max_size = max_size
        self._size = 0

    def of_folder(self, folder: str) -> Mapping[str, Url | None]:
        """Return the links that are known of pages in that folder."""
        return self._folders.get(folder, _NOWHERE)

    def resolve(self, target: str, base: Url, folder: str, encoding: str) -> Url | None:
        """Return where a link without its fragment leads, like `resolve`."""
        if not target:
            return base
        if not _depends_on_folder(target):
            return resolve(target, base, encoding)
        url = resolve_plain(target, base) or resolve(target, base)
        if len(url or folder) <= MAX_CACHED_URL_LENGTH:
            if self._size >= self._max_size:
                self._folders.clear()
                self._size = 0
            self._folders.setdefault(folder, {})[target] = url
            self._size += 1
        return url


def resolve_links(
    hrefs: Sequence[str], base: Url, encoding: str, resolved: ResolvedLinks
) -> tuple[dict[str, Url | None], int]:
    """Return where links lead, by what they are without fragments, up to the limits.

    The number is that of the links that are beyond.
    """
    folder = base[: base.partition("?")[0].rfind("/")]
    known = resolved.of_folder(folder)
    leading_to: dict[str, Url | None] = {}
    size = 0
    # Links that differ only in the fragment lead to the same page.
    targets = [href.partition("#")[0] for href in hrefs]
    for target in dict.fromkeys(targets):
        if len(leading_to) >= MAX_LINKS or size >= MAX_LINK_BYTES:
            return leading_to, sum(target not in leading_to for target in targets)
        url = known.get(target, _UNKNOWN)
        if url is _UNKNOWN:
            url = resolved.resolve(target, base, folder, encoding)
        leading_to[target] = url
        size += len(url or "")
    return leading_to, 0


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


def base_url(page: Url, href: str | None) -> Url:
    """Return what links are relative to: the base of a page, or its own URL if that is unusable."""
    return page if href is None else resolve(href, page) or page


def _depends_on_folder(target: str) -> bool:
    """Return whether the link depends on nothing of its page but the folder."""
    return (
        (target[:1].isalnum() or target[:1] in {"/", "."})
        and target.isascii()
        and (":" not in target or target.startswith(("http://", "https://")))
        and len(target) <= MAX_CACHED_LENGTH
    )
