"""What came of the seeds of a crawl."""

from collections.abc import Iterable, Sequence

import msgspec

from gossamer.coordinator.advice import what_went_wrong
from gossamer.coordinator.seed_progress import FileProgress, read_progress
from gossamer.model import Outcome, Url
from gossamer.stores.reading import CrawlReader
from gossamer.stores.url_record import UrlRecord
from gossamer.urls import Scope
from gossamer.worker.links import LinkFilter
from gossamer.worker.sitemaps import sitemap_key

SEEDS_AT_ONCE = 500
FETCHED = frozenset({Outcome.FETCHED, Outcome.DUPLICATE, Outcome.SIMILAR, Outcome.SITEMAP})
"""The outcomes of a URL whose page was had, even if it repeats another."""


class FailedSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that could not be fetched."""

    url: Url
    outcome: Outcome
    """That of the URL to which it redirects, if it does."""
    reason: str
    """What went wrong, and what helps, in words."""


class SeedReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the seeds; one that redirects counts as what it redirects to."""

    fetched: int = 0
    waiting: int = 0
    """How many were neither fetched nor failed when the crawl ended."""
    failed: list[FailedSeed] = []
    files: list[FileProgress] = []
    """How far files of seeds were read. Of their seeds only the first are among the others, and
    only while no page was fetched."""

    @property
    def none_fetched(self) -> bool:
        """Whether seeds failed and none was fetched."""
        return bool(self.failed) and not self.fetched


async def read_seeds(
    reader: CrawlReader, seeds: Sequence[Url], sitemaps: Sequence[Url] = ()
) -> SeedReport:
    """Return what came of the seeds of a crawl, and of named sitemaps, over all its runs."""
    file = LinkFilter(Scope.for_seeds("any", []), str).file
    progress = await read_progress(reader.note)
    if progress is not None and await reader.last_page() == 0:
        seeds = [*seeds, *progress.first]
    by_key = {file(seed).key: seed for seed in seeds}
    by_key |= {sitemap_key(sitemap): sitemap for sitemap in sitemaps}
    keys = list(by_key)
    ends: list[UrlRecord | None] = []
    for first in range(0, len(keys), SEEDS_AT_ONCE):
        ends += await reader.ends(keys[first : first + SEEDS_AT_ONCE])
    report = seed_report(zip(by_key.values(), ends, strict=True))
    return msgspec.structs.replace(report, files=progress.files if progress else [])


def seed_report(ends: Iterable[tuple[Url, UrlRecord | None]]) -> SeedReport:
    """Return what came of the seeds, each given with the URL where its redirects ended."""
    fetched, waiting, failed = 0, 0, []
    for seed, end in ends:
        if end is None or end.outcome is None:
            waiting += 1
        elif end.outcome in FETCHED:
            fetched += 1
        else:
            reason = what_went_wrong(seed, end)
            failed.append(FailedSeed(url=seed, outcome=end.outcome, reason=reason))
    return SeedReport(fetched=fetched, waiting=waiting, failed=failed)
