"""The fuzz run of the scan: its contents of real and of damaged pages against those of the tree.

Run as `python -m tests.fuzz.scan [FOLDER…]`: the pages of each folder, without one those of all
manuals in .cache/docs, and so many damaged ones in all. Prints the share of pages that are left to
the tree, and ends with 1 if there is a difference.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest.mock import patch

from tests.fuzz.scan_cases import FOLLOWED, damaged, difference, tree_tests, written

from gossamer.content import limits
from gossamer.content.charset import decode

DOCS = Path(__file__).parents[2] / ".cache" / "docs"
_MAX_DAMAGED_LENGTH = 60_000
_MAX_SHOWN = 20


def main() -> int:
    """Compare, print and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--damaged", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311 -- the same pages every time
    differing = 0
    sample: list[str] = []
    for folder in given.folders or sorted(path for path in DOCS.iterdir() if path.is_dir()):
        paths = sorted(path for path in folder.rglob("*.html") if path.is_file())
        differing += _compare(folder.name, map(_text, paths), chance)
        few = chance.sample(paths, min(40, len(paths)))
        sample += [text for text in map(_text, few) if len(text) <= _MAX_DAMAGED_LENGTH]
    tests = tree_tests()
    differing += _compare("tree construction tests", tests, chance)
    half = given.damaged // 2
    differing += _compare("damaged pages", _damaged(sample, half // 2, chance), chance)
    differing += _compare("damaged tests", _damaged(tests, half - half // 2, chance), chance)
    random_pages = (written(chance) for _ in range(given.damaged - half))
    differing += _compare("random pages", random_pages, chance)
    return 1 if differing else 0


def _text(path: Path) -> str:
    return decode(path.read_bytes()).text


def _damaged(texts: list[str], count: int, chance: random.Random) -> Iterator[str]:
    return (damaged(chance.choice(texts), chance) for _ in range(count if texts else 0))


def _compare(name: str, texts: Iterable[str], chance: random.Random) -> int:
    """Compare scan and tree on these pages, print and return how many differ."""
    pages = left = differing = 0
    for text in texts:
        pages += 1
        # The trees of large pages are limited; half of the small ones count as large, too.
        with patch.object(limits, "HARMLESS", chance.choice((0, limits.HARMLESS))):
            found = difference(text, chance.choice(FOLLOWED))
        left += found is None
        if found:
            differing += 1
            if differing <= _MAX_SHOWN:
                print(f"  {found}\n    {text!r:.600}")
    share = left / pages if pages else 0
    print(f"{name:<28}{pages:>8,} pages {share:>8.1%} left to the tree {differing:>6,} differ")
    return differing


if __name__ == "__main__":
    sys.exit(main())
