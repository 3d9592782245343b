"""The analysis of a page: everything computed from its bytes, as one serialisable record."""

from typing import Final

import msgspec
import xxhash
import zstandard

from gossamer.content.kind import ContentKind
from gossamer.content.links import FoundLink, ResolvedLinks
from gossamer.content.markers import Markers
from gossamer.content.page import ParsedPage, parse
from gossamer.content.similarity import Sketch, sketch
from gossamer.model import Url

PACKING_LEVEL: Final = 1
"""The fastest level that is worth it: docs/content-storage.md."""


class AnalysisRules(msgspec.Struct, frozen=True):
    """The settings of the analysis for one crawl."""

    markers: Markers | None = None
    similarity: float | None = None
    """The threshold of similarity; None, or 1: only identical content counts."""


class RawPage(msgspec.Struct, frozen=True, array_like=True):
    """A page as downloaded."""

    url: Url
    content_type: str | None
    body: bytes


class Analysis(msgspec.Struct, frozen=True, array_like=True):
    """What was found in a page."""

    kind: ContentKind
    digest: bytes
    """The hash of the bytes, by which identical content is recognised."""
    encoding: str
    title: str
    links: tuple[FoundLink, ...]
    metas: tuple[tuple[str, str], ...]
    packed: bytes = b""
    """The bytes compressed with Zstandard, as they are stored; empty if they are not a page."""
    sketch: Sketch | None = None
    """For recognising similar pages; None if only identical content counts."""


class Analyser:
    """An analyser of pages, with the settings of one crawl."""

    def __init__(self, rules: AnalysisRules) -> None:
        self.rules = rules
        self._resolved = ResolvedLinks()
        self._pack = zstandard.ZstdCompressor(level=PACKING_LEVEL).compress

    def analyse(self, page: RawPage) -> Analysis:
        """Return the analysis of the page; whatever the bytes are, this never fails."""
        parsed = parse(
            page.body,
            url=page.url,
            content_type=page.content_type,
            markers=self.rules.markers,
            resolved=self._resolved,
        )
        return Analysis(
            kind=parsed.kind,
            digest=xxhash.xxh3_128_digest(page.body),
            encoding=parsed.encoding,
            title=parsed.title,
            links=parsed.links,
            metas=parsed.metas,
            packed=b"" if parsed.kind is ContentKind.BINARY else self._pack(page.body),
            sketch=self._sketch(parsed),
        )

    def _sketch(self, parsed: ParsedPage) -> Sketch | None:
        threshold = self.rules.similarity
        if threshold is None or threshold >= 1 or parsed.kind is ContentKind.BINARY:
            return None
        return sketch(parsed.take_run(), threshold)
