"""What is wanted of Gossamer, as ratios within one run."""

from dataclasses import dataclass

from benchmarks.peers import crawlers as by
from benchmarks.peers.measuring import CrawlRun
from benchmarks.peers.sites import LARGE, MANY, SMALL

CPU_MS_WANTED = 0.75
"""Of a page of the many, on a quiet machine."""
WANTED: dict[str, dict[str, float]] = {
    by.SCRAPY: {SMALL: 14, LARGE: 20, MANY: 32},
    by.CRAWLEE_BY_HAND: {SMALL: 3, LARGE: 2.2, MANY: 2.8},
    by.COLLY: {SMALL: 0.9, LARGE: 1.2, MANY: 1.4},
    by.WGET2: {SMALL: 0.22, LARGE: 0.2, MANY: 0.3},
}
"""By peer and site: how many times as many pages a second."""
WANTED_OF_OURS = {by.GOSSAMER_ON: 0.75, by.GOSSAMER_JSONL: 0.85}
"""Of the rate without."""

Best = dict[str, dict[str, CrawlRun]]
"""The fastest run by site and crawler."""


@dataclass(frozen=True)
class Ratio:
    """How Gossamer stands to somebody on a site."""

    site: str
    whose: str
    ratio: float
    """Of the pages a second."""
    by_cpu: float | None
    """Of the pages for a second of CPU: it changes less with what else the machine does."""
    wanted: float | None

    @property
    def verdict(self) -> str:
        """Whether the target holds; nothing where there is none."""
        if self.wanted is None:
            return ""
        return "holds" if self.ratio >= self.wanted else "MISSED"


def ratios(best: Best) -> list[Ratio]:
    """Return Gossamer's rate by that of each peer, and what its own extras leave of its rate."""
    found = []
    for site, runs in best.items():
        if by.GOSSAMER not in runs:
            continue
        ours = runs[by.GOSSAMER]
        for name, run in runs.items():
            if name in by.PEERS and run.pages:
                found.append(_ratio(site, name, ours, run, WANTED.get(name, {}).get(site)))
            elif name in WANTED_OF_OURS:
                wanted = WANTED_OF_OURS[name] if site == MANY else None
                found.append(_ratio(site, name, run, ours, wanted))
    return found


def _ratio(site: str, whose: str, one: CrawlRun, other: CrawlRun, wanted: float | None) -> Ratio:
    if one.is_cut or other.is_cut:  # the first pages of a site are not like all: the same number
        pages = min(one.pages, other.pages)
        rate = one.rate_until(pages) / other.rate_until(pages)
        return Ratio(site, whose, rate, None, wanted)
    rate, cpu = one.pages_per_s / other.pages_per_s, other.cpu_ms / one.cpu_ms
    return Ratio(site, whose, rate, cpu, wanted)
