"""The parser of pages: from the bytes of a body to one record of all that a crawl asks of it.

Nothing here raises, whatever the bytes are, and the time it takes is linear in their number.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec
import xxhash

from gossamer.content.links import (
    MAX_REDIRECT_S,
    PageLink,
    PageLinks,
    Refresh,
    ResolvedLinks,
    base_url,
    links_in_header,
    parse_refresh,
    resolve_links,
)
from gossamer.content.markers import Markers
from gossamer.content.similarity import sketch, text_template_hash
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Headers, Url
from gossamer.model.names import ContentKind, LinkKind, Sketch
from gossamer.policy.content_kinds import HYPERLINKS, PAGES
from gossamer.urls import MAX_URL_LENGTH, resolve

if TYPE_CHECKING:
    from gossamer.content.html_tree import HtmlTree

MAX_READ_BYTES: Final = 10_000_000
"""The rest of a page is ignored: the tree of a hostile page takes forty times its size."""


class ParseRules(msgspec.Struct, frozen=True):
    """What one crawl wants of its pages."""

    markers: Markers | None = None
    """Only the links between them count."""
    similarity: float | None = None
    """The threshold of similarity; None, or 1: only identical content counts."""
    follow: frozenset[LinkKind] = HYPERLINKS
    """Which kinds of links are read."""
    accept: frozenset[ContentKind] = PAGES
    """Which kinds of content are kept."""
    with_text: bool = False
    """Whether the visible text is wanted."""


_USUAL_RULES: Final = ParseRules()
_NO_HEADERS: Final = Headers()


class RawPage(msgspec.Struct, frozen=True, array_like=True):
    """A page as downloaded."""

    url: Url
    content_type: str | None
    body: bytes
    headers: Headers = _NO_HEADERS
    """Which may have links."""


class ParsedPage(msgspec.Struct, kw_only=True):
    """What was found in a page."""

    kind: ContentKind
    digest: bytes
    """The hash of the bytes, by which identical content is recognised."""
    encoding: str = ""
    """The character encoding, by its name in the Encoding Standard in lower case."""
    title: str = ""
    """The title on one line, cut if it is too long."""
    page_links: PageLinks = PageLinks()
    """The links of the kinds to follow: those of the header, then those of the page."""
    links_left_out: int = 0
    """How many more links there are than a page may have."""
    redirect: Url | None = None
    """What the page is to be replaced by at once."""
    language: str = ""
    """As the markup says; empty if it does not."""
    metas: tuple[tuple[str, str], ...] = ()
    """Name and content of all meta elements that have both."""
    markers_missing: bool = False
    """Whether only links between markers were asked for, and the page has no markers."""
    text: str = ""
    """The visible words with one space between them, if they are wanted."""
    sketch: Sketch | None = None
    """For recognising similar pages; None if only identical content counts."""
    text_template_hash: int = 0
    """For recognising pages that repeat each other in all but numbers; 0 if it is not wanted."""

    @property
    def links(self) -> tuple[PageLink, ...]:
        """All links in their order, repeated ones too."""
        return self.page_links.all


class PageParser:
    """Parses the pages of one crawl, which share a cache of resolved links."""

    def __init__(self, rules: ParseRules) -> None:
        self.rules = rules
        self._resolved = ResolvedLinks()

    def parse(self, page: RawPage, *, with_template_hash: bool = False) -> ParsedPage:
        """Return the parsed page; `with_template_hash` takes longer than all the rest."""
        rules, label = self.rules, parse_content_type(page.content_type)
        kind = kind_of(label, page.body, rules.accept)
        parsed = ParsedPage(kind=kind, digest=xxhash.xxh3_128_digest(page.body))
        if not kind.is_page:
            return parsed
        # It loads the HTML parser, which a process that leaves parsing to another does not need.
        from gossamer.content import html_tree  # noqa: PLC0415

        source, parsed.encoding = html_tree.decode_markup(page.body[:MAX_READ_BYTES], label)
        in_header = () if rules.markers else links_in_header(page.headers, page.url, rules.follow)
        tree = None
        if kind is ContentKind.TEXT:
            parsed.page_links = PageLinks(before=in_header)
        else:
            tree = html_tree.HtmlTree(source, rules.markers, rules.follow)
            self._read(tree, page, in_header, parsed)
        threshold = 1.0 if rules.similarity is None else rules.similarity
        if threshold < 1 or with_template_hash:
            run = tree.take_unspaced_text() if tree else source
            parsed.sketch = sketch(run, threshold) if run and threshold < 1 else None
            parsed.text_template_hash = (
                text_template_hash(run, page.url) if run and with_template_hash else 0
            )
        if rules.with_text:
            parsed.text = html_tree.with_single_spaces(tree.take_text() if tree else source)
        return parsed

    def _read(
        self, tree: "HtmlTree", page: RawPage, in_header: tuple[PageLink, ...], parsed: ParsedPage
    ) -> None:
        """Take from the tree all but the text."""
        base = base_url(page.url, tree.base)
        leading_to, parsed.links_left_out = resolve_links(
            tree.hrefs, base, parsed.encoding, self._resolved
        )
        refresh, redirect = _judge_refresh(page.headers, tree.refresh, base, self.rules)
        parsed.page_links = PageLinks(
            tree.hrefs, tree.kinds, leading_to, before=in_header, after=refresh
        )
        parsed.redirect = redirect if redirect != page.url else None
        parsed.title = tree.title or ""
        parsed.language = first_language(tree.languages)
        parsed.metas = tuple(tree.metas)
        parsed.markers_missing = tree.markers_missing


def parse(
    body: bytes,
    *,
    url: Url,
    content_type: str | None,
    rules: ParseRules = _USUAL_RULES,
    headers: Headers = _NO_HEADERS,
) -> ParsedPage:
    """Return one parsed page; `content_type` is the value of the header."""
    return PageParser(rules).parse(RawPage(url, content_type, body, headers))


def _judge_refresh(
    headers: Headers, in_page: Refresh | None, base: Url, rules: ParseRules
) -> tuple[tuple[PageLink, ...], Url | None]:
    """Return the link of a refresh, or where it leads if it comes at once: then it is a redirect.

    That of the header goes before that of the page, as in browsers. A page that is to be replaced
    by itself is only loaded again.
    """
    if LinkKind.REFRESH not in rules.follow:
        return (), None
    refresh = parse_refresh(headers.get("refresh") or "") or in_page
    target = resolve(refresh.target, base) if refresh is not None and refresh.target else None
    if refresh is None or target is None:
        return (), None
    if refresh.seconds <= MAX_REDIRECT_S:
        return (), target
    # Markers are about the content of a page, and this is about the page.
    link = PageLink(refresh.target[:MAX_URL_LENGTH], target, LinkKind.REFRESH)
    return () if rules.markers else (link,), None


# RFC 5646: subtags of letters and digits. An underscore is a common mistake.
_LANGUAGE_TAG: Final = re.compile(r"\s*([A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,8})\s*(?:,|$)")


def first_language(values: Iterable[str | None]) -> str:
    """Return the first language that is named; empty if none is. Of a list its first counts."""
    matches = (_LANGUAGE_TAG.match(value) for value in values if value)
    return next((match[1].replace("_", "-") for match in matches if match), "")


def header_language(headers: Headers) -> str:
    """Return the language that the header of an answer names."""
    return first_language(headers.get_all("content-language"))
