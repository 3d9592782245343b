"""The analysis of a page: everything computed from its bytes, as one serialisable record."""

import msgspec
import xxhash

from gossamer.content.links import FoundLink, PageLinks, ResolvedLinks
from gossamer.content.page import parse
from gossamer.content.rules import AnalysisRules
from gossamer.content.similarity import sketch
from gossamer.content.wording import wording
from gossamer.kinds import ContentKind
from gossamer.model import Headers, Url
from gossamer.policy.similarity import Sketch


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
