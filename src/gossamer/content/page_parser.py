"""The analysis of a page: everything computed from its bytes, as one serialisable record."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Final

import msgspec
import xxhash

from gossamer.content.links import (
    MAX_REDIRECT_S,
    FoundLink,
    PageLinks,
    Refresh,
    ResolvedLinks,
    base_url,
    links_in_header,
    parse_refresh,
    resolve_links,
)
from gossamer.content.markers import Markers
from gossamer.content.similarity import sketch, wording
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Headers, Url
from gossamer.model.names import ContentKind, LinkKind, Sketch
from gossamer.policy.content_kinds import HYPERLINKS, PAGES
from gossamer.urls import MAX_URL_LENGTH, resolve


class AnalysisRules(msgspec.Struct, frozen=True):
    """The settings of the analysis for one crawl."""

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


# RFC 5646: subtags of letters and digits. An underscore is a common mistake.
_TAG: Final = re.compile(r"\s*([A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,8})\s*(?:,|$)")


def first_language(values: Iterable[str | None]) -> str:
    """Return the first language that is named; empty if none is. Of a list its first counts."""
    for value in values:
        found = _TAG.match(value) if value else None
        if found:
            return found[1].replace("_", "-")
    return ""


def header_language(headers: Headers) -> str:
    """Return the language that the header of an answer names."""
    return first_language(headers.get_all("content-language"))


MAX_READ_BYTES: Final = 10_000_000
"""The rest of a page is ignored: the tree of a hostile page takes forty times its size."""

_USUAL_RULES: Final = AnalysisRules()
_NO_HEADERS: Final = Headers()


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A parsed page."""

    kind: ContentKind
    encoding: str = ""
    """The character encoding, by its name in the Encoding Standard in lower case."""
    title: str = ""
    """The title on one line, cut if it is too long."""
    found: PageLinks = PageLinks()
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
    take_text: Callable[[], str] = str
    """Extracts the text for `text`, on first use."""
    take_run: Callable[[], str] = str
    """Extracts the text for comparing pages: one run of characters, without the tags."""

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """All of them, in their order, repeated ones too."""
        return self.found.all

    @cached_property
    def text(self) -> str:
        """The visible words, with one space between them."""
        from gossamer.content.html_tree import with_single_spaces  # noqa: PLC0415 -- as below

        return with_single_spaces(self.take_text())


def parse(
    body: bytes,
    *,
    url: Url,
    content_type: str | None,
    rules: AnalysisRules = _USUAL_RULES,
    headers: Headers = _NO_HEADERS,
    resolved: ResolvedLinks | None = None,
) -> ParsedPage:
    """Return the parsed page; whatever the bytes are, this never fails.

    `content_type` is the value of the header, and `headers` are those that may have links.
    `resolved` is a cache of links that many pages share.
    """
    label = parse_content_type(content_type)
    kind = kind_of(label, body, rules.accept)
    if not kind.is_page:
        return ParsedPage(kind=kind)
    in_header = () if rules.markers else links_in_header(headers, url, rules.follow)
    # These load the HTML parser, which a process that leaves parsing to another does not need.
    from gossamer.content.html_tree import (  # noqa: PLC0415
        PageReader,
        decode_markup,
    )

    text, encoding = decode_markup(body[:MAX_READ_BYTES], label)
    if kind is ContentKind.TEXT:
        return ParsedPage(
            kind=kind,
            encoding=encoding,
            found=PageLinks(before=in_header),
            take_text=lambda: text,
            take_run=lambda: text,
        )
    reader = PageReader(text, rules.markers, rules.follow)
    base = base_url(url, reader.base)
    resolved = resolved or ResolvedLinks()
    leading_to, left_out = resolve_links(reader.hrefs, base, encoding, resolved)
    refresh, redirect = _judge_refresh(headers, reader.refresh, base, rules)
    return ParsedPage(
        kind=kind,
        encoding=encoding,
        title=reader.title or "",
        found=PageLinks(reader.hrefs, reader.kinds, leading_to, before=in_header, after=refresh),
        links_left_out=left_out,
        redirect=redirect if redirect != url else None,
        language=reader.language,
        metas=tuple(reader.metas),
        markers_missing=reader.markers_missing,
        take_text=reader.take_text,
        take_run=reader.take_run,
    )


def _judge_refresh(
    headers: Headers, in_page: Refresh | None, base: Url, rules: AnalysisRules
) -> tuple[tuple[FoundLink, ...], Url | None]:
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
    found = FoundLink(refresh.target[:MAX_URL_LENGTH], target, LinkKind.REFRESH)
    return () if rules.markers else (found,), None


class RawPage(msgspec.Struct, frozen=True, array_like=True):
    """A page as downloaded."""

    url: Url
    content_type: str | None
    body: bytes
    headers: Headers = Headers()
    """Which may have links."""


class Analysis(msgspec.Struct, frozen=True, array_like=True):
    """What was found in a page."""

    kind: ContentKind
    digest: bytes
    """The hash of the bytes, by which identical content is recognised."""
    encoding: str
    title: str
    found: PageLinks
    """The links of the kinds to follow."""
    redirect: Url | None
    """What the page is to be replaced by at once."""
    metas: tuple[tuple[str, str], ...]
    markers_missing: bool = False
    """Whether only links between markers were asked for, and the page has no markers."""
    language: str = ""
    """As the markup says; empty if it does not."""
    sketch: Sketch | None = None
    """For recognising similar pages; None if only identical content counts."""
    text: str = ""
    """The visible text, if it is wanted."""
    links_left_out: int = 0
    """How many more links there are than a page may have."""
    wording: int = 0
    """For recognising pages that repeat each other in all but numbers."""

    @property
    def links(self) -> tuple[FoundLink, ...]:
        """All links in their order, repeated ones too."""
        return self.found.all


class Analyser:
    """An analyser of pages, with the settings of one crawl."""

    def __init__(self, rules: AnalysisRules) -> None:
        self.rules = rules
        self._resolved = ResolvedLinks()

    def analyse(self, page: RawPage, *, with_wording: bool = False) -> Analysis:
        """Return the analysis of the page; whatever the bytes are, this never fails.

        The wording is found out only if it is wanted: that takes longer than all the rest.
        """
        parsed = parse(
            page.body,
            url=page.url,
            content_type=page.content_type,
            rules=self.rules,
            headers=page.headers,
            resolved=self._resolved,
        )
        is_compared = self._threshold < 1
        run = parsed.take_run() if parsed.kind.is_page and (is_compared or with_wording) else ""
        return Analysis(
            kind=parsed.kind,
            digest=xxhash.xxh3_128_digest(page.body),
            encoding=parsed.encoding,
            title=parsed.title,
            language=parsed.language,
            found=parsed.found,
            links_left_out=parsed.links_left_out,
            redirect=parsed.redirect,
            metas=parsed.metas,
            markers_missing=parsed.markers_missing,
            sketch=sketch(run, self._threshold) if run and is_compared else None,
            text=parsed.text if self.rules.with_text else "",
            wording=wording(run, page.url) if run and with_wording else 0,
        )

    @property
    def _threshold(self) -> float:
        """The threshold of similarity; from 1 on pages are not compared."""
        return 1.0 if self.rules.similarity is None else self.rules.similarity
