"""All that is computed from the bytes of a page, as one record that can travel."""

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
"""The quickest that still pays: docs/content-storage.md."""


class AnalysisRules(msgspec.Struct, frozen=True):
    """What a crawl wants to know of its pages."""

    markers: Markers | None = None
    similarity: float | None = None
    """From where on pages are alike; None, or 1: only the same content is."""


class RawPage(msgspec.Struct, frozen=True, array_like=True):
    """A page as it came."""

    url: Url
    content_type: str | None
    body: bytes


class Analysis(msgspec.Struct, frozen=True, array_like=True):
    """What was found."""

    kind: ContentKind
    digest: bytes
    """The hash of the bytes, by which the same content is known again."""
    encoding: str
    title: str
    links: tuple[FoundLink, ...]
    metas: tuple[tuple[str, str], ...]
    packed: bytes = b""
    """The bytes as they are kept, in the format of Zstandard; empty if they are no page."""
    sketch: Sketch | None = None
    """What like pages are known by; None if only the same content counts."""


class Analyser:
    """Analyses pages, by the rules of one crawl."""

    def __init__(self, rules: AnalysisRules) -> None:
        self.rules = rules
        self._resolved = ResolvedLinks()
        self._pack = zstandard.ZstdCompressor(level=PACKING_LEVEL).compress

    def analyse(self, page: RawPage) -> Analysis:
        """Return what is on the page; whatever the bytes are, this never fails."""
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
