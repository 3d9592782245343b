"""The similarity of two pages by its definition, without sketches: what estimates are held to."""

from collections.abc import Sequence

from gossamer.content.similarity import SHINGLE_WORDS, words_of

Shingles = frozenset[tuple[bytes, ...]]


def exact_shingles(text: str, length: int = SHINGLE_WORDS) -> Shingles:
    """Return the set of all runs of so many words of the text, which is a ring."""
    return shingles_of_words(words_of(text), length)


def shingles_of_words(words: Sequence[bytes], length: int) -> Shingles:
    ring = [words[position % len(words)] for position in range(len(words) + length - 1)]
    return frozenset(zip(*(ring[start:] for start in range(length)), strict=False))


def similarity(one: Shingles, other: Shingles) -> float:
    """Return the Jaccard similarity of two sets that are not both empty."""
    common = len(one & other)
    return common / (len(one) + len(other) - common)
