"""How well near duplicates are recognised on real pages; fails when that is not well enough.

Run from the root of the project: `make eval-duplicates`, or `python -m benchmarks.eval.duplicates`.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from benchmarks.eval.corpus import ManualPage, manuals
from benchmarks.eval.definitions import DEFINITIONS, lost_pages
from benchmarks.eval.edits import edited_copies
from benchmarks.eval.own_contents import print_sites, try_sites
from benchmarks.eval.trials import Trial, dropped, trials

from gossamer.content.similarity import MIN_WORDS, SAMPLE_BYTES, banding_for, words_of

THRESHOLD = 0.9
CLEARLY_ALIKE, MIN_RECALL = 0.95, 0.995
CLEARLY_DIFFERENT, MAX_FALSE = 0.85, 0.001
NEARLY, MAX_NEAR = 0.01, 0.05
"""Of pairs that are as different as that, give or take, so many may be dropped."""
MAX_ERROR = 0.03

OLDER, NEWER = "libglibmm-2.4-doc", "libglibmm-2.68-doc"
"""One manual in two versions."""
LISTED = 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Print all there is to know; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="edited copies to make")
    parser.add_argument("--only", help="the folder of the one manual to use")
    chosen = parser.parse_args(arguments)
    corpus = manuals(chosen.only)
    texts = [
        page.text
        for pages in corpus.values()
        for page in pages
        if MIN_WORDS <= len(words_of(page.text)) <= 10_000
    ]
    print(f"{len(texts):,} pages of {', '.join(corpus)}; threshold {THRESHOLD}")
    measured = trials(edited_copies(texts, chosen.pairs, seed=1), THRESHOLD)
    print(f"\nEdited copies of real pages: {len(measured):,} pairs")
    print_curve(measured)
    print_kinds(measured)
    missed = missed_targets(measured)
    missed += compare_versions(corpus)
    missed += crawl_sites(corpus)
    missed += print_sites([*try_sites(THRESHOLD, chosen.only)])
    print_repeats(corpus)
    compare_definitions(corpus)
    for line in missed:
        print(f"MISSED: {line}")
    print("\n" + ("targets missed" if missed else "all targets met"))
    return 1 if missed else 0


def missed_targets(measured: Sequence[Trial]) -> list[str]:
    """Print the numbers that have targets; return those that miss them, in words."""
    alike = [one for one in measured if one.true >= CLEARLY_ALIKE]
    different = [one for one in measured if one.true <= CLEARLY_DIFFERENT]
    between = [one for one in measured if CLEARLY_DIFFERENT < one.true < CLEARLY_ALIKE]
    found = [one for one in measured if one.found]
    recall = _share([one.found for one in alike])
    false = _share([one.found for one in different], otherwise=0.0)
    near = [one for one in measured if abs(one.true - CLEARLY_DIFFERENT) <= NEARLY]
    dropped_near = _share([one.found for one in near], otherwise=0.0)
    error = fmean(abs(one.estimate - one.true) for one in between) if between else 0.0
    precision = _share([one.true >= THRESHOLD - 0.02 for one in found])
    print(f"  recall at >= {CLEARLY_ALIKE}: {recall:.4f} of {len(alike):,} (>= {MIN_RECALL})")
    print(
        f"  false at <= {CLEARLY_DIFFERENT}: {false:.4%} of {len(different):,} (<= {MAX_FALSE:.1%})"
    )
    print(
        f"  dropped at {CLEARLY_DIFFERENT} alike: {dropped_near:.2%} of {len(near):,} "
        f"(<= {MAX_NEAR:.0%})"
    )
    print(f"  mean error between: {error:.4f} over {len(between):,} (<= {MAX_ERROR})")
    print(f"  of {len(found):,} found, {precision:.2%} are at least {THRESHOLD - 0.02} alike")
    checks = {
        f"recall {recall:.4f}": recall >= MIN_RECALL,
        f"false {false:.4%}": false <= MAX_FALSE,
        f"dropped at {CLEARLY_DIFFERENT}: {dropped_near:.2%}": dropped_near <= MAX_NEAR,
        f"mean error {error:.4f}": error <= MAX_ERROR,
    }
    return [name for name, is_met in checks.items() if not is_met]


def print_curve(measured: Sequence[Trial]) -> None:
    """Print, by true similarity, what was estimated and found, beside what theory says."""
    banding = banding_for(THRESHOLD, SAMPLE_BYTES)
    print("  similarity   pairs  estimate  mean error  met (theory)   found")
    for edge in [0.5, 0.6, 0.7, 0.8, *(round(0.85 + step / 100, 2) for step in range(16))]:
        width = 0.1 if edge < 0.8 else 0.05 if edge < 0.85 else 0.01
        inside = [one for one in measured if edge <= one.true < edge + width]
        if not inside:
            continue
        found = _share([one.found for one in inside])
        theory = fmean(banding.meeting(one.true) for one in inside)
        print(
            f"  {edge:.2f} .. {edge + width:.2f}{len(inside):>7,}"
            f"{fmean(one.estimate for one in inside):>10.3f}"
            f"{fmean(abs(one.estimate - one.true) for one in inside):>12.4f}"
            f"{_share([one.met for one in inside]):>7.3f} ({theory:.3f}){found:>8.3f}"
            f"  {'#' * round(40 * found)}"
        )


def print_kinds(measured: Sequence[Trial]) -> None:
    """Print the bias of the estimate for each kind of edit: there should be none."""
    for kind in sorted({one.kind for one in measured}):
        errors = [one.estimate - one.true for one in measured if one.kind == kind]
        print(f"  {kind:<20}{len(errors):>6,} pairs, mean of estimate - true {fmean(errors):+.4f}")


def compare_versions(corpus: dict[str, list[ManualPage]]) -> list[str]:
    """Compare the pages of one manual with those of the same names in its next version."""
    if OLDER not in corpus or NEWER not in corpus:
        return []
    newer = {page.name.rpartition("/")[2]: page.text for page in corpus[NEWER]}
    pairs = [
        ("version", page.text, newer[name])
        for page in corpus[OLDER]
        if (name := page.name.rpartition("/")[2]) in newer
    ]
    measured = trials(pairs, THRESHOLD)
    print(f"\nThe same page in two versions, {OLDER} and {NEWER}: {len(measured):,} pairs")
    print_curve(measured)
    return missed_targets(measured)


def crawl_sites(corpus: dict[str, list[ManualPage]]) -> list[str]:
    """Print which pages of real sites have a text that is similar to that of another."""
    print(f"\nPages whose text is similar to that of another, at {THRESHOLD}")
    missed = []
    for name, pages in corpus.items():
        drops = dropped(pages, THRESHOLD)
        short = sum(len(words_of(page.text)) < MIN_WORDS for page in pages)
        print(f"  {name}: {len(drops)} of {len(pages):,} ({short} too short to compare)")
        for drop in sorted(drops, key=lambda one: one.true)[:LISTED]:
            print(f"    {drop.true:.3f}  {_last(drop.name)}  like  {_last(drop.of)}")
            if drop.true <= CLEARLY_DIFFERENT:
                missed.append(f"{drop.name} dropped at {drop.true:.3f}")
    return missed


def compare_definitions(corpus: dict[str, list[ManualPage]]) -> None:
    """Print how many pages with words of their own each definition would cost."""
    print("\nPages that differ in words and would be dropped, by definition of similarity:")
    print(f"at {THRESHOLD}, and at {CLEARLY_DIFFERENT}")
    print(f"  {'':<26}" + "".join(f"{name[-14:]:>16}" for name in corpus))
    for definition in DEFINITIONS:
        lost = (
            "{} ({})".format(*lost_pages(pages, definition, (THRESHOLD, CLEARLY_DIFFERENT)))
            for pages in corpus.values()
        )
        print(f"  {definition!s:<26}" + "".join(f"{counts:>16}" for counts in lost), flush=True)


def print_repeats(corpus: dict[str, list[ManualPage]]) -> None:
    """Print how long pages are that have exactly the words of another: why there is a minimum."""
    counts = Counter(
        (name, tuple(words_of(page.text))) for name, pages in corpus.items() for page in pages
    )
    print("\nDifferent pages with the same words, by number of words")
    for bottom, top in pairwise((0, MIN_WORDS, 152, sys.maxsize)):
        inside = [(key, count) for key, count in counts.items() if bottom <= len(key[1]) < top]
        repeated = sorted(len(key[1]) for key, count in inside if count > 1)
        pages = sum(count for _, count in inside)
        print(f"  from {bottom:>3}: {pages:,} pages, repeated ones have {repeated or 'none'}")


def _share(flags: Sequence[bool], otherwise: float = 1.0) -> float:
    return sum(flags) / len(flags) if flags else otherwise


def _last(name: str) -> str:
    return name.rpartition("/")[2]


if __name__ == "__main__":
    sys.exit(main())
