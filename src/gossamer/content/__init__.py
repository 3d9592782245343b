"""The parsing of pages: from the bytes of a body to links, title, text and sketch.

`kind_of` decides whether a body is HTML, text or a file of some kind, `charset` decodes it, and a
`PageReader` extracts links, title, text and robots directives from its tree. `parse` does all of
that in one call. `sketch` summarises the text, so that similar pages can be recognised,
`own_sample` what is a page's own. An `Analyser` does everything that a crawl needs; a
`LazyDocument` answers whatever else modules and outputs ask of a page, when they ask.

Nothing here raises, whatever the bytes are, and everything takes time linear in their number.
"""

from gossamer.content.analysis import Analyser, Analysis, RawPage
from gossamer.content.document import LazyDocument
from gossamer.content.language import header_language
from gossamer.content.links import FoundLink
from gossamer.content.markers import Markers
from gossamer.content.own_content import MAX_OWN_BYTES, own_sample
from gossamer.content.page import ParsedPage, parse
from gossamer.content.rules import AnalysisRules
from gossamer.content.similarity import sketch
from gossamer.policy.similarity import Sketch, estimated_similarity

__all__ = [
    "MAX_OWN_BYTES",
    "Analyser",
    "Analysis",
    "AnalysisRules",
    "FoundLink",
    "LazyDocument",
    "Markers",
    "ParsedPage",
    "RawPage",
    "Sketch",
    "estimated_similarity",
    "header_language",
    "own_sample",
    "parse",
    "sketch",
]
