"""How alike two pages are.

The similarity of two pages is the Jaccard similarity of their sets of shingles: of all runs of
eight words that occur in one of them or in both, the share that occurs in both. `shingles` has the
definition, `sketches` makes of a page of any length a sample of fixed size from which
`estimated_similarity` estimates it, and `bands` says how pages that may be alike find each other
among millions.

Why eight words, which words, and how good the estimate is: docs/duplicates.md.
"""

from gossamer.content.similarity.bands import Banding, banding_for
from gossamer.content.similarity.shingles import (
    MAX_CHARACTERS,
    SHINGLE_WORDS,
    shingles_of,
    words_of,
)
from gossamer.content.similarity.sketches import (
    MIN_WORDS,
    SAMPLE_BYTES,
    Sketch,
    estimated_similarity,
    sketch,
)

__all__ = [
    "MAX_CHARACTERS",
    "MIN_WORDS",
    "SAMPLE_BYTES",
    "SHINGLE_WORDS",
    "Banding",
    "Sketch",
    "banding_for",
    "estimated_similarity",
    "shingles_of",
    "sketch",
    "words_of",
]
