"""Pairs of pages, how alike they are, and what the sketches make of it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from benchmarks.eval.corpus import ManualPage
from benchmarks.eval.exact import exact_shingles, similarity

from gossamer.content.similarity import sketch
from gossamer.model.names import Sketch, estimated_similarity


class Trial(msgspec.Struct, frozen=True):
    """What came of one pair of pages."""

    kind: str
    true: float
    """Their similarity by definition."""
    estimate: float
    met: bool
    """Whether they share a band."""
    threshold: float

    @property
    def found(self) -> bool:
        """Whether a store would take one for a copy of the other."""
        return self.met and self.estimate >= self.threshold


class Drop(msgspec.Struct, frozen=True):
    """A page of a site that would not be kept."""

    name: str
    of: str
    true: float


def trials(pairs: Iterable[tuple[str, str, str]], threshold: float) -> list[Trial]:
    """Return a trial for each pair of texts that are long enough to be compared."""
    found = []
    for kind, one, other in pairs:
        first, second = sketch(one, threshold), sketch(other, threshold)
        if first is not None and second is not None:
            found.append(
                Trial(
                    kind=kind,
                    true=similarity(exact_shingles(one), exact_shingles(other)),
                    estimate=estimated_similarity(first.sample, second.sample),
                    met=any(map(bytes.__eq__, first.bands, second.bands)),
                    threshold=threshold,
                )
            )
    return found


def dropped(pages: Sequence[ManualPage], threshold: float) -> list[Drop]:
    """Return the pages that a crawl of these in this order would not keep."""
    index: defaultdict[tuple[int, bytes], list[tuple[ManualPage, Sketch]]] = defaultdict(list)
    drops = []
    for page in pages:
        made = sketch(page.text, threshold)
        if made is None:
            continue
        places = list(enumerate(made.bands))
        candidates = {held.name: (held, of) for place in places for held, of in index[place]}
        likeness = {
            name: estimated_similarity(made.sample, of.sample)
            for name, (_, of) in candidates.items()
        }
        best = max(likeness, key=likeness.__getitem__, default="")
        if likeness.get(best, 0.0) >= threshold:
            held = candidates[best][0]
            true = similarity(exact_shingles(page.text), exact_shingles(held.text))
            drops.append(Drop(page.name, best, true))
        else:
            for place in places:
                index[place].append((page, made))
    return drops
