"""The links of a page, resolved to URLs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, Protocol, TypeAlias

import msgspec

from gossamer.content.link_header import header_links, kind_of_relation
from gossamer.model import Headers, Url
from gossamer.model.names import LinkKind
from gossamer.urls import MAX_URL_LENGTH, resolve
from gossamer.urls.normalise import resolve_plain

MAX_REDIRECT_S: Final = 5
"""A page that gives way so soon is not there to be read: it is a redirect. Pages that tell people
that they have moved do so for up to five seconds; a longer pause is for reading."""

MAX_LINKS: Final = 10_000
"""Links to the first so many different pages are kept; an index may repeat them."""

MAX_LINK_BYTES: Final = 2_000_000
"""So long may the URLs of a page be together: with a long base, short links make long URLs."""

MAX_CACHED_LENGTH: Final = 200
MAX_CACHED_URL_LENGTH: Final = 500
"""Hardly any URL is longer, and a hostile base would fill the memory."""

_UNKNOWN: Final = Url("")
_NOWHERE: Final[Mapping[str, Url | None]] = {}

_MAX_REFRESH_LENGTH: Final = 40_000
_MAX_DIGITS: Final = 9

_WHITE_SPACE: Final = "\t\n\f\r "
# Seconds, of which a fraction does not count, and what separates them from the URL.
_SECONDS: Final = re.compile(
    r"[\t\n\f\r ]*(?:([0-9]++)|(?=\.))[0-9.]*+(?:\Z|[\t\n\f\r ]*+[;,]|[\t\n\f\r ])"
)
_URL_IS: Final = re.compile(r"url[\t\n\f\r ]*=", re.IGNORECASE)

_MAX_CANDIDATES: Final = 100
# HTML standard, "parse a srcset attribute": a URL, which a comma at its end ends; or a descriptor,
# in which parentheses may hold commas.
_CANDIDATE: Final = re.compile(r"[\t\n\f\r ,]*([^\t\n\f\r ]++)")
_DESCRIPTOR: Final = re.compile(r"(?:[^,(]++|\([^)]*+\)?+)*+,?")

_RELATED: Final = frozenset(
    {
        *(LinkKind.NEXT, LinkKind.PREV, LinkKind.ALTERNATE, LinkKind.CANONICAL),
        *(LinkKind.STYLESHEET, LinkKind.SCRIPT, LinkKind.FONT, LinkKind.IMAGE, LinkKind.MEDIA),
    }
)
"""What a `link` may lead to."""
_REFERENCES: Final[Mapping[str, tuple[tuple[str, LinkKind], ...]]] = {
    "frame": (("src", LinkKind.FRAME),),
    "iframe": (("src", LinkKind.IFRAME),),
    "img": (("srcset", LinkKind.IMAGE), ("src", LinkKind.IMAGE)),
    "input": (("src", LinkKind.IMAGE),),
    "source": (("srcset", LinkKind.IMAGE), ("src", LinkKind.MEDIA)),
    "audio": (("src", LinkKind.MEDIA),),
    "video": (("poster", LinkKind.IMAGE), ("src", LinkKind.MEDIA)),
    "track": (("src", LinkKind.MEDIA),),
    "embed": (("src", LinkKind.OBJECT),),
    "object": (("data", LinkKind.OBJECT),),
    "script": (("src", LinkKind.SCRIPT),),
}
"""The attributes of other elements that lead somewhere."""


class Refresh(NamedTuple):
    """When a page is to be replaced, and by what."""

    seconds: int
    target: str
    """As written; empty if it is the page itself."""


def parse_refresh(text: str) -> Refresh | None:
    """Return what a refresh says; None if it says nothing that browsers understand."""
    text = text[:_MAX_REFRESH_LENGTH]
    match = _SECONDS.match(text)
    if match is None:
        return None
    target = text[match.end() :].strip(_WHITE_SPACE)
    if (named := _URL_IS.match(target)) is not None:
        target = target[named.end() :].lstrip(_WHITE_SPACE)
    if target[:1] in {"'", '"'}:
        target = target[1:].partition(target[0])[0].strip(_WHITE_SPACE)
    return Refresh(int((match[1] or "0")[:_MAX_DIGITS]), target)


Reference: TypeAlias = tuple[LinkKind, str]
"""The kind of a link, and where it leads as the page has it."""


class Tag(Protocol):
    """An element, as far as it is a tag with attributes."""

    @property
    def tag(self) -> str:
        """Its name, in lower case."""

    @property
    def text(self) -> str:
        """The text in it."""

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute; None if there is none of this name."""


def tags_for(follow: frozenset[LinkKind]) -> list[str]:
    """Return the elements that may have links of these kinds."""
    tags = [
        tag
        for tag, references in _REFERENCES.items()
        if any(kind in follow for _, kind in references)
    ]
    return tags if _RELATED.isdisjoint(follow) else [*tags, "link"]


def references_of(element: Tag) -> Iterator[Reference]:
    """Yield all references of an element that has no `rel`, of whatever kind."""
    tag = element.tag
    if tag == "input" and (element.attr("type") or "").strip().lower() != "image":
        return
    for attribute, kind in _REFERENCES.get(tag, ()):
        value = element.attr(attribute)
        if value and attribute == "srcset":
            yield from ((kind, candidate) for candidate in _candidates(value))
        elif value:
            yield kind, value


def relation_of(element: Tag) -> LinkKind | None:
    """Return the kind of an element with `rel`; None if that says nothing that we know."""
    rel = element.attr("rel")
    if not rel:
        return None
    return kind_of_relation(rel, element.attr("as") if "preload" in rel.lower() else None)


def _candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a srcset attribute, up to a limit."""
    position = 0
    for _ in range(_MAX_CANDIDATES):
        match = _CANDIDATE.match(srcset, position)
        if match is None:
            return
        position = match.end()
        url = match[1]
        if url.endswith(","):
            url = url.rstrip(",")
        elif (descriptor := _DESCRIPTOR.match(srcset, position)) is not None:
            position = descriptor.end()
        if url:
            yield url


class PageLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
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
    before: tuple[PageLink, ...] = ()
    """The links of the Link header."""
    after: tuple[PageLink, ...] = ()

    @cached_property
    def all(self) -> tuple[PageLink, ...]:
        """Every link."""
        in_page = [
            PageLink(href[:MAX_URL_LENGTH], self.leading_to[target], kind)
            for href, kind in zip(self.hrefs, self.kinds, strict=True)
            if (target := href.partition("#")[0]) in self.leading_to
        ]
        return *self.before, *in_page, *self.after

    def targets(self) -> tuple[Url, ...]:
        """Return where the links lead, in their order, repeated ones too."""
        in_page = [self.leading_to.get(href.partition("#")[0]) for href in self.hrefs]
        before, after = ([link.url for link in links] for links in (self.before, self.after))
        return tuple(filter(None, (*before, *in_page, *after)))

    def urls(self) -> list[Url]:
        """Return the URLs that the links lead to, each once."""
        before, after = ([link.url for link in links] for links in (self.before, self.after))
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
) -> tuple[PageLink, ...]:
    """Return the links of the Link header; they are relative to the page, whatever its base."""
    if LinkKind.HEADER not in follow or not (values := headers.get_all("link")):
        return ()
    return tuple(
        PageLink(link.target[:MAX_URL_LENGTH], resolve(link.target, page), kind)
        for link in header_links(values)
        if (kind := kind_of_relation(link.rel, link.preloaded_as)) in follow and kind is not None
    )


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
