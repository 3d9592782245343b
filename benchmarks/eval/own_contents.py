"""What a crawl drops of real sites, now that pages are compared by their own content as well.

`make eval-duplicates` prints it, with the targets that must be met, also on sites on which nothing
was tuned.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
from benchmarks.eval.exact import exact_shingles, similarity
from benchmarks.eval.near_copies import EDITS, NEAR_COPIES
from benchmarks.eval.sites import SITES, RealSite, SitePage, page_of, pages_of

from gossamer.content.similarity import MIN_WORDS, sample, sketch, words_of
from gossamer.model.names import Sketch, estimated_similarity

MAX_SITE_PAGES = 600
MAX_WRONG = 0.001
"""Of all pages, how many may be dropped though their own content is less than `DIFFERENT` alike."""
DIFFERENT = 0.8
MIN_CAUGHT = 0.95
COPIED = 20
"""How many near duplicates of each kind are made for each site."""
MIN_OWN_WORDS = 450
"""Of shorter pages a changed sentence is more than a tenth."""


class Dropped(msgspec.Struct, frozen=True):
    """A page that the first test calls similar, or both tests."""

    name: str
    of: str
    own: float
    """The similarity of the own contents, by exact count."""


class SiteTrial(msgspec.Struct, frozen=True):
    """What would come of the pages of a site."""

    site: RealSite
    pages: int
    little: int
    """How many have too little of their own to be compared."""
    by_text: list[Dropped]
    """What would be dropped if only the whole text counted."""
    dropped: list[Dropped]
    copies: dict[str, list[bool]]
    """Whether the near duplicates were caught, by kind."""


class _Judge:
    """Pages of a site as a store compares them."""

    def __init__(self, threshold: float, *, by_own: bool) -> None:
        self._threshold = threshold
        self._by_own = by_own
        self._kept: list[tuple[SitePage, Sketch, bytes]] = []
        self._index: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)

    def original(self, page: SitePage) -> SitePage | None:
        """Return the page that one would be dropped for; keep it if there is none."""
        made = sketch(page.text, self._threshold)
        if made is None:
            return None
        own = sample(page.own)
        for held, its in self._alike(made):
            if not self._by_own:
                return held
            if own and its and estimated_similarity(own, its) >= self._threshold:
                return held
        number = len(self._kept)
        self._kept.append((page, made, own))
        for place in enumerate(made.bands):
            self._index[place].append(number)
        return None

    def _alike(self, made: Sketch) -> list[tuple[SitePage, bytes]]:
        numbers = {number for place in enumerate(made.bands) for number in self._index[place]}
        likeness = {n: estimated_similarity(made.sample, self._kept[n][1].sample) for n in numbers}
        ranked = sorted(
            (n for n, how in likeness.items() if how >= self._threshold),
            key=lambda n: (-likeness[n], n),
        )
        return [(self._kept[n][0], self._kept[n][2]) for n in ranked]


def try_sites(threshold: float, only: str | None = None) -> Iterator[SiteTrial]:
    """Yield what would come of each site that is there, or of that in one folder."""
    for site in SITES:
        pages = pages_of(site, MAX_SITE_PAGES) if only in (None, site.folder) else []
        if not pages:
            continue
        yield SiteTrial(
            site=site,
            pages=len(pages),
            little=sum(len(words_of(page.own)) < MIN_WORDS for page in pages),
            by_text=_drops(pages, _Judge(threshold, by_own=False)),
            dropped=_drops(pages, _Judge(threshold, by_own=True)),
            copies=_copy(pages, threshold),
        )


def _drops(pages: Sequence[SitePage], judge: _Judge) -> list[Dropped]:
    drops = []
    for page in pages:
        original = judge.original(page)
        if original is not None and page.body != original.body:
            drops.append(Dropped(page.name, original.name, _own_similarity(page, original)))
    return drops


def _own_similarity(one: SitePage, other: SitePage) -> float:
    first, second = (
        exact_shingles(page.own) if words_of(page.own) else frozenset() for page in (one, other)
    )
    return similarity(first, second) if first or second else 1.0


def _copy(pages: Sequence[SitePage], threshold: float) -> dict[str, list[bool]]:
    chance = random.Random(1)  # noqa: S311  repeatable, and no secret
    long = [page for page in pages if len(words_of(page.own)) >= MIN_OWN_WORDS]
    chosen = chance.sample(long, min(COPIED, len(long)))
    caught: dict[str, list[bool]] = {kind: [] for kind in NEAR_COPIES}
    for page in chosen:
        source = page.body.decode("utf-8", "replace")
        for kind, make in NEAR_COPIES.items():
            judge = _Judge(threshold, by_own=True)
            before = source if make in EDITS else make(source, chance)
            judge.original(page_of("before", before.encode()))
            after = page_of("after", make(source, chance).encode())
            caught[kind].append(judge.original(after) is not None)
    return caught


def print_sites(trials: Sequence[SiteTrial]) -> list[str]:
    """Print the trials; return the targets that were missed, in words."""
    print("\nWhat a crawl drops of real sites; 'wrong' is less than 80 % alike in its own content")
    print(
        f"  {'site':<14}{'made with':<10}{'pages':>6}{'little':>8}{'by text':>9}{'wrong':>7}"
        f"{'dropped':>9}{'wrong':>7}  copies caught"
    )
    for one in trials:
        print(_row(one.site.name, one.site.generator, [one]))
    missed = []
    for words, unseen in (("tuned on", False), ("never seen", True)):
        some = [one for one in trials if one.site.unseen is unseen]
        if some:
            print(_row(words, "", some))
            missed += _missed(words, some)
    print("  caught:", ", ".join(f"{kind} {_caught(trials, kind):.1%}" for kind in NEAR_COPIES))
    return missed


def _row(name: str, generator: str, trials: Sequence[SiteTrial]) -> str:
    pages, little = sum(one.pages for one in trials), sum(one.little for one in trials)
    by_text = [drop for one in trials for drop in one.by_text]
    dropped = [drop for one in trials for drop in one.dropped]
    copies = [flag for one in trials for flags in one.copies.values() for flag in flags]
    caught = f"{sum(copies)} of {len(copies)}" if copies else "no page is long enough"
    return (
        f"  {name:<14}{generator:<10}{pages:>6,}{little:>8,}{len(by_text):>9,}{_wrong(by_text):>7,}"
        f"{len(dropped):>9,}{_wrong(dropped):>7,}  {caught}"
    )


def _missed(words: str, trials: Sequence[SiteTrial]) -> list[str]:
    pages = sum(one.pages for one in trials)
    wrong = sum(_wrong(one.dropped) for one in trials)
    caught = min((_caught(trials, kind) for kind in NEAR_COPIES), default=1.0)
    checks = {
        f"{wrong} of {pages} pages wrongly dropped ({words})": wrong <= MAX_WRONG * pages,
        f"{caught:.1%} of near copies caught ({words})": caught >= MIN_CAUGHT,
    }
    return [name for name, is_met in checks.items() if not is_met]


def _wrong(drops: Sequence[Dropped]) -> int:
    return sum(drop.own < DIFFERENT for drop in drops)


def _caught(trials: Sequence[SiteTrial], kind: str) -> float:
    flags = [flag for one in trials for flag in one.copies[kind]]
    return sum(flags) / len(flags) if flags else 1.0
