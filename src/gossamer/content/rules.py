"""The rules by which the pages of a crawl are read."""

import msgspec

from gossamer.content.markers import Markers
from gossamer.kinds import ContentKind, LinkKind
from gossamer.policy.link_kinds import HYPERLINKS
from gossamer.policy.media_types import PAGES


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
