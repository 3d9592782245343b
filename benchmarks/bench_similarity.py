"""What recognising near duplicates costs: the sketch of a page, and comparing two, in CPU time.

Run as a script. Every page with words pays for its sketch; a comparison is paid for each candidate.
"""

import time
from collections.abc import Callable
from pathlib import Path

from gossamer.content.charset import decode
from gossamer.content.html_tree import HtmlTree
from gossamer.content.similarity import SAMPLE_BYTES, banding_for, shingles_of, sketch, words_of
from gossamer.model.names import estimated_similarity

LIMIT_US = 150
THRESHOLD = 0.9
SITE = Path(__file__).resolve().parent.parent / ".cache" / "docs" / "site"
PAGE_BYTES = 15_000


def page_text() -> str:
    """Return the text of the page of the PostgreSQL manual that is nearest to 15 kB."""
    pages = sorted(SITE.glob("*.html"))
    nearest = min(pages, key=lambda path: abs(path.stat().st_size - PAGE_BYTES))
    return HtmlTree(decode(nearest.read_bytes(), "utf-8").text).take_unspaced_text()


def cpu_us(work: Callable[[], object]) -> float:
    """Return the CPU time of one call in microseconds: the best of many."""
    best = float("inf")
    for _ in range(30):
        started = time.process_time()
        for _ in range(50):
            work()
        best = min(best, (time.process_time() - started) / 50)
    return best * 1e6


def main() -> None:
    text = page_text()
    words = words_of(text)
    made = sketch(text, THRESHOLD)
    assert made is not None
    sample = made.sample
    banding = banding_for(THRESHOLD, SAMPLE_BYTES)
    whole = cpu_us(lambda: sketch(text, THRESHOLD))
    print(f"a page of {PAGE_BYTES:,} bytes with {len(words):,} words")
    print(f"  words                     {cpu_us(lambda: words_of(text)):>8,.1f} µs")
    print(f"  their runs of eight       {cpu_us(lambda: shingles_of(words)):>8,.1f} µs")
    compared_us = cpu_us(lambda: estimated_similarity(sample, sample))
    print(f"  comparing two samples     {compared_us:>8,.1f} µs")
    print(f"  kept of a page            {len(sample) + 8 * banding.count:>8,} bytes")
    print(f"sketch: {whole:,.0f} µs CPU (limit {LIMIT_US})")


if __name__ == "__main__":
    main()
