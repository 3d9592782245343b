"""The parser of a page: from a body to links, title and text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gossamer.content.kind import ContentKind, kind_of, parse_content_type
from gossamer.content.links import FoundLink, ResolvedLinks, base_url, resolve_links
from gossamer.content.markers import Markers
from gossamer.model import Url

MAX_READ_BYTES: Final = 10_000_000
"""The rest of a page is ignored: the tree of a hostile page takes forty times its size."""


@dataclass(frozen=True, kw_only=True)
class ParsedPage:
    """A parsed page."""

    kind: ContentKind
    encoding: str = ""
    """The character encoding, by its name in the Encoding Standard in lower case."""
    title: str = ""
    """The title on one line, cut if it is too long."""
    links: tuple[FoundLink, ...] = ()
    """The links of all `<a>` and `<area>` elements, in their order, repeated ones too."""
    metas: tuple[tuple[str, str], ...] = ()
    """Name and content of all meta elements that have both."""
    markers_missing: bool = False
    """Whether only links between markers were asked for, and the page has no markers."""
    take_text: Callable[[], str] = field(default=str, repr=False, compare=False)
    """Extracts the text for `text`, on first use."""
    take_run: Callable[[], str] = field(default=str, repr=False, compare=False)
    """Extracts the text for comparing pages: one run of characters, without the tags."""

    @cached_property
    def text(self) -> str:
        """The visible words, with one space between them."""
        return " ".join(self.take_text().split())


def parse(
    body: bytes,
    *,
    url: Url,
    content_type: str | None,
    markers: Markers | None = None,
    resolved: ResolvedLinks | None = None,
) -> ParsedPage:
    """Return the parsed page; whatever the bytes are, this never fails.

    `content_type` is the value of the header. With `markers`, only the links between them count.
    `resolved` is a cache of links that many pages share.
    """
    label = parse_content_type(content_type)
    kind = kind_of(label, body)
    if kind is ContentKind.BINARY:
        return ParsedPage(kind=kind)
    # These load the HTML parser, which a process that leaves parsing to another does not need.
    from gossamer.content.charset import decode  # noqa: PLC0415
    from gossamer.content.reader import PageReader  # noqa: PLC0415

    text, encoding = decode(body[:MAX_READ_BYTES], label.charset)
    if kind is ContentKind.TEXT:
        return ParsedPage(
            kind=kind, encoding=encoding, take_text=lambda: text, take_run=lambda: text
        )
    reader = PageReader(text, markers)
    base = base_url(url, reader.bases)
    return ParsedPage(
        kind=kind,
        encoding=encoding,
        title=reader.title or "",
        links=resolve_links(reader.hrefs, base, encoding, resolved or ResolvedLinks()),
        metas=tuple(reader.metas),
        markers_missing=reader.markers_missing,
        take_text=reader.take_text,
        take_run=reader.take_run,
    )
