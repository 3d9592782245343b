"""The similarity of pages.

The similarity of two pages is the Jaccard similarity of their sets of shingles: of all runs of
eight words that occur in one of them or in both, the share that occurs in both. `shingles` has the
definition, `sketches` reduces a page of any length to a sample of fixed size from which
`estimated_similarity` estimates it, and `bands` are the keys of an LSH index that finds similar
pages among millions.

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
