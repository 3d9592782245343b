"""Bytes to page.

A body comes with a label. `kind_of` says whether it is HTML, text or neither, `charset` makes text
of it, and a `PageReader` reads off its tree what a crawler wants: links, title, words, and what the
author says to robots. `parse` is all of that in one call. `sketch` makes of its text what pages
like it are recognised by. An `Analyser` does all that a crawl wants, here or in a process of its
own (`parser`).

Nothing here raises whatever the bytes are, and everything takes time linear in their number.
"""

from gossamer.content.analysis import Analyser, Analysis, AnalysisRules, RawPage
from gossamer.content.kind import ContentKind, ContentType, kind_of, parse_content_type
from gossamer.content.links import MAX_LINKS, FoundLink
from gossamer.content.markers import Markers
from gossamer.content.page import MAX_READ_BYTES, ParsedPage, parse
from gossamer.content.similarity import Sketch, estimated_similarity, sketch

__all__ = [
    "MAX_LINKS",
    "MAX_READ_BYTES",
    "Analyser",
    "Analysis",
    "AnalysisRules",
    "ContentKind",
    "ContentType",
    "FoundLink",
    "Markers",
    "ParsedPage",
    "RawPage",
    "Sketch",
    "estimated_similarity",
    "kind_of",
    "parse",
    "parse_content_type",
    "sketch",
]
