"""Changes to real pages, of the kinds in which copies on the web differ, of any strength."""

import random
from collections.abc import Callable, Sequence

Words = list[str]
Edit = Callable[[Words, Words, float, random.Random], Words]
"""Of a page, the words of another page, the share of shingles to change, and chance, the result."""

_AROUND = 7
"""A cut or a seam changes the shingles that reach over it."""


def replace_words(words: Words, others: Words, share: float, chance: random.Random) -> Words:
    """Names, dates and numbers differ here and there."""
    edited = list(words)
    for position in chance.sample(range(len(words)), _times(words, share, _AROUND + 1)):
        edited[position] = chance.choice(others)
    return edited


def insert_sentences(words: Words, others: Words, share: float, chance: random.Random) -> Words:
    """A longer version."""
    edited = list(words)
    length = chance.randint(5, 25)
    # What is inserted changes the union alone, so it takes twice as much of it.
    for _ in range(_times(words, 2 * share, length + 2 * _AROUND)):
        start = chance.randrange(len(others))
        position = chance.randrange(len(edited))
        edited[position:position] = others[start : start + length]
    return edited


def remove_sentences(words: Words, _others: Words, share: float, chance: random.Random) -> Words:
    """A shorter version."""
    edited = list(words)
    length = min(chance.randint(5, 25), len(words) // 4)
    for _ in range(_times(words, 2 * share, length + 2 * _AROUND)):
        if len(edited) > len(words) // 3:
            position = chance.randrange(len(edited))
            del edited[position : position + length]
    return edited


def move_blocks(words: Words, _others: Words, share: float, chance: random.Random) -> Words:
    """Paragraphs in another order."""
    edited = list(words)
    for _ in range(_times(words, share, 3 * _AROUND)):
        start = chance.randrange(len(edited))
        length = chance.randint(20, 80)
        block = edited[start : start + length]
        del edited[start : start + length]
        position = chance.randrange(len(edited) + 1)
        edited[position:position] = block
    return edited


def change_frame(words: Words, others: Words, share: float, chance: random.Random) -> Words:
    """Another menu above, another footer below."""
    changed = max(1, round(share * len(words)))
    above = chance.randint(0, changed)
    below = changed - above
    kept = words[above : len(words) - below]
    return [*others[:above], *kept, *others[len(others) - below :]]


EDITS: dict[str, Edit] = {
    "words replaced": replace_words,
    "sentences inserted": insert_sentences,
    "sentences removed": remove_sentences,
    "blocks moved": move_blocks,
    "frame changed": change_frame,
}


def edited_copies(texts: Sequence[str], count: int, seed: int) -> list[tuple[str, str, str]]:
    """Return kind of edit, text and edited text, evenly over kinds.

    Similarities are from 0.5 to 1, half of them above 0.8.
    """
    chance = random.Random(seed)  # noqa: S311  repeatable, and no secret
    kinds = list(EDITS)
    copies = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        words, others = chance.choice(texts).split(), chance.choice(texts).split()
        aim = chance.uniform(chance.choice([0.5, 0.8]), 1)
        edited = EDITS[kind](words, others, (1 - aim) / (1 + aim), chance)
        copies.append((kind, " ".join(words), " ".join(edited)))
    return copies


def _times(words: Words, share: float, shingles_per_edit: int) -> int:
    return max(1, round(share * len(words) / shingles_per_edit))
