"""The parser of a page: from a body to links, title and text."""

from collections.abc import Callable
from functools import cached_property
from typing import Final

import msgspec

from gossamer.content.kind import kind_of, parse_content_type
from gossamer.content.links import (
    FoundLink,
    PageLinks,
    ResolvedLinks,
    base_url,
    links_in_header,
    resolve_links,
)
from gossamer.content.refresh import MAX_REDIRECT_S, Refresh, parse_refresh
from gossamer.content.rules import AnalysisRules
from gossamer.kinds import ContentKind, LinkKind
from gossamer.model import Headers, Url
from gossamer.urls import MAX_URL_LENGTH, resolve

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
        from gossamer.content.white_space import with_single_spaces  # noqa: PLC0415 -- as below

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
    from gossamer.content.markup import decode_markup  # noqa: PLC0415
    from gossamer.content.reader import PageReader  # noqa: PLC0415

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
