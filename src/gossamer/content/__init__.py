"""The parsing of pages: from the bytes of a body to links, title, text and sketch.

`kind_of` decides whether a body is HTML, text or neither, `charset` decodes it, and a `PageReader`
extracts links, title, text and robots directives from its tree. `parse` does all of that in one
call. `sketch` summarises the text, so that similar pages can be recognised. An `Analyser` does
everything that a crawl needs.

Nothing here raises, whatever the bytes are, and everything takes time linear in their number.
"""

from gossamer.content.analysis import Analyser, Analysis, AnalysisRules, RawPage
from gossamer.content.kind import ContentKind
from gossamer.content.links import FoundLink
from gossamer.content.markers import Markers
from gossamer.content.page import ParsedPage, parse
from gossamer.content.similarity import Sketch, estimated_similarity, sketch

__all__ = [
    "Analyser",
    "Analysis",
    "AnalysisRules",
    "ContentKind",
    "FoundLink",
    "Markers",
    "ParsedPage",
    "RawPage",
    "Sketch",
    "estimated_similarity",
    "parse",
    "sketch",
]
