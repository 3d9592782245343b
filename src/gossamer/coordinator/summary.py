"""What came of a crawl: its summary, its seeds, the hosts that were given up, its exit code."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from gossamer.coordinator.seed_files import FileProgress, read_progress
from gossamer.frontier.contract import HOST_FAILED
from gossamer.frontier.scorers.builtin import ScorerReport
from gossamer.model import HostKey, Outcome, Snapshot, Url
from gossamer.model.errors import ExitCode
from gossamer.modules.module_stats import ModuleReport
from gossamer.outputs.contract import OutputReport
from gossamer.stores.crawl_views import HostView
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import UrlRecord
from gossamer.urls import Scope
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import sitemap_key

SEEDS_AT_ONCE = 500
FETCHED = frozenset({Outcome.FETCHED, Outcome.DUPLICATE, Outcome.SIMILAR, Outcome.SITEMAP})
"""The outcomes of a URL whose page was had, even if it repeats another."""
URLS_READ = 10_000
"""How many URLs are searched for hosts that were given up, in the order of discovery."""


class FailedSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that could not be fetched."""

    url: Url
    outcome: Outcome
    """Its outcome, or that of the URL to which it redirects."""
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


class GivenUpHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that has failed so often that it is not asked any more."""

    host: HostKey
    at: float
    """When it was given up."""
    urls: int
    """How many of its URLs were given up with it, among those that were looked at."""
    reason: str
    """What it failed of last, in words; empty if nobody knows."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that has ended, for the last words about it."""

    snapshot: Snapshot
    """The last one. Its rate is shown as that of the whole run."""
    ended_by: str
    """`complete`, `max-pages`, `max-bytes`, `interrupted`, or what else it was, in words."""
    directory: str
    """Where its results are; empty: nothing was kept."""
    pages_before: int = 0
    """How many of the pages were there before this run."""
    was_over: bool = False
    """Whether there was nothing left to do from the beginning."""
    continue_with: str | None = None
    """The command that goes on from here, where something is left to do."""
    list_with: str | None = None
    """The command that lists the pages, where no module has done anything with them."""
    save_with: str | None = None
    """The command that saves all of them as files then."""
    seeds: SeedReport = SeedReport()
    """What came of the seeds, over all runs of the crawl."""
    given_up: Sequence[GivenUpHost] = ()
    """The hosts that failed so often that they are not asked any more, as far as looked for."""
    slowest_hosts: Sequence[HostView] = ()
    modules: Sequence[ModuleReport] = ()
    max_page_bytes: int | None = None
    """The size beyond which a page is too large."""
    outputs: Sequence[OutputReport] = ()
    scorer: ScorerReport | None = None
    """How many URLs the scorer could not rank, and why; None: it has ranked all."""

    @property
    def exit_code(self) -> ExitCode:
        """What the command exits with: of several reasons, the one that explains the others."""
        if self.ended_by == "interrupted":
            return ExitCode.INTERRUPTED
        if self.seeds.none_fetched:
            return ExitCode.NO_SEED
        has_failed = any(module.failure for module in self.modules)
        return ExitCode.MODULE_FAILED if has_failed else ExitCode.DONE

    @property
    def new_pages(self) -> int:
        """How many of the pages came in this run."""
        return self.snapshot.pages - self.pages_before

    def __repr__(self) -> str:
        pages, size = self.snapshot.pages, self.snapshot.bytes
        return f"<Summary {self.ended_by!r}: {pages:,} pages, {size:,} bytes in {self.directory!r}>"


# -- reading it from the store -------------------------------------------------------------------


async def read_seeds(
    reader: CrawlReader, seeds: Sequence[Url], sitemaps: Sequence[Url] = ()
) -> SeedReport:
    """Return what came of the seeds of a crawl, and of named sitemaps, over all its runs."""
    file = LinkFilter(Scope.for_seeds("any", []), str).file
    progress = await read_progress(reader.metadata)
    if progress is not None and await reader.last_page() == 0:
        seeds = [*seeds, *progress.first]
    by_key = {file(seed).key: seed for seed in seeds}
    by_key |= {sitemap_key(sitemap): sitemap for sitemap in sitemaps}
    keys = list(by_key)
    ends: list[UrlRecord | None] = []
    for first in range(0, len(keys), SEEDS_AT_ONCE):
        ends += await reader.resolve_redirects(keys[first : first + SEEDS_AT_ONCE])
    fetched, waiting, failed = 0, 0, []
    for seed, end in zip(by_key.values(), ends, strict=True):
        if end is None or end.outcome is None:
            waiting += 1
        elif end.outcome in FETCHED:
            fetched += 1
        else:
            reason = what_went_wrong(seed, end)
            failed.append(FailedSeed(url=seed, outcome=end.outcome, reason=reason))
    files = progress.files if progress else []
    return SeedReport(fetched=fetched, waiting=waiting, failed=failed, files=files)


async def read_given_up(reader: CrawlReader, outcomes: Mapping[str, int]) -> list[GivenUpHost]:
    """Return the hosts that were given up, those with most URLs first."""
    if not outcomes.get(Outcome.GAVE_UP):
        return []
    records, read = [], 0
    async for url in reader.urls():
        if url.record.outcome is Outcome.GAVE_UP:
            records.append(url.record)
        read += 1
        if read >= URLS_READ:
            break
    return given_up_hosts(records)


def given_up_hosts(urls: Iterable[UrlRecord]) -> list[GivenUpHost]:
    """Return the hosts of URLs that were given up, unless that was not for their host."""
    given_up = [url for url in urls if url.detail.startswith(HOST_FAILED)]
    given_up.sort(key=lambda url: (url.host, url.finished_at or 0.0))
    hosts = []
    for host, group in groupby(given_up, attrgetter("host")):
        records = list(group)
        # A process that has never asked the host does not know what it failed of.
        reasons = [url.detail.removeprefix(HOST_FAILED).removeprefix(": ") for url in records]
        reason = next(filter(None, reversed(reasons)), "")
        at = records[0].finished_at or 0.0
        hosts.append(GivenUpHost(host=host, at=at, urls=len(records), reason=reason))
    return sorted(hosts, key=lambda host: (-host.urls, host.host))


# -- what went wrong with a seed, and what helps -------------------------------------------------


def why_no_page(seed: Url, last: UrlRecord) -> str:
    """Return one sentence: which seed, what went wrong with it or its redirects, what to do."""
    outcome, where, what = _failure(seed, last)
    return f"cannot fetch the seed {seed}{where and f' ({where})'}: {what}; {ADVICE[outcome]}"


def what_went_wrong(seed: Url, last: UrlRecord) -> str:
    """Return what went wrong with one of several seeds, and the option that helps."""
    outcome, where, what = _failure(seed, last)
    return f"{where and f'{where}: '}{what}; {HELPFUL_OPTIONS.get(outcome) or ADVICE[outcome]}"


def _failure(seed: Url, last: UrlRecord) -> tuple[Outcome, str, str]:
    """Return how a seed ended, where its redirects led, and what went wrong."""
    outcome = last.outcome or Outcome.GAVE_UP
    where = "" if last.url == seed else f"redirected to {last.url}"
    if outcome is Outcome.REDIRECTED:
        return Outcome.BAD_REDIRECT, where, f"it redirects {last.detail}, in a circle"
    return outcome, where, last.detail or outcome.replace("_", " ")


ADVICE: Mapping[Outcome, str] = {
    Outcome.NOT_FOUND: "check the path",
    Outcome.GONE: "begin at another page",
    Outcome.CLIENT_ERROR: "the page may need a login; begin at another",
    Outcome.SERVER_ERROR: "try again later",
    Outcome.RATE_LIMITED: "try again later",
    Outcome.ROBOTS_DENIED: "begin at a page that the site lets crawlers have",
    Outcome.ROBOTS_UNREACHABLE: "nothing may be fetched until it answers: try again later",
    Outcome.OUT_OF_SCOPE: "begin at the page it leads to, or widen the scope",
    Outcome.UNWANTED_TYPE: "begin at an HTML page",
    Outcome.SITEMAP: "begin at a page that it lists",
    Outcome.NOT_SITEMAP: "check what --sitemaps names, or begin at a page",
    Outcome.TOO_LARGE: "begin at a smaller page",
    Outcome.TIMED_OUT: "check the address, or try again later",
    Outcome.DNS_FAILED: "check the spelling of the host name and the network",
    Outcome.CONNECTION_FAILED: "check the host, the port and that the server is running",
    Outcome.TLS_FAILED: "check the server's certificate",
    Outcome.BAD_HTTP: "check that the port speaks HTTP",
    Outcome.BAD_REDIRECT: "begin at another page",
    Outcome.DUPLICATE: "begin at another page",
    Outcome.SIMILAR: "begin at another page",
    Outcome.GAVE_UP: "try again later",
    Outcome.HOST_OVER_BUDGET: "raise --max-host-pages, or the budget in the rules for the host",
    Outcome.TRAP: "begin at another page, or crawl with --traps off",
    Outcome.ADDRESS_REFUSED: (
        "if the host is yours, allow its address with --allow-network or GOSSAMER_ALLOW_NETWORK"
    ),
}
"""One piece of advice for every way the first page can fail."""
HELPFUL_OPTIONS: Mapping[Outcome, str] = {
    Outcome.TOO_LARGE: "raise --max-page-bytes, or --max-file-bytes for files",
    Outcome.TIMED_OUT: "raise --timeout, or try again later",
    Outcome.RATE_LIMITED: "raise --delay, or try again later",
    Outcome.SERVER_ERROR: "try again later, with a longer --delay if it is overloaded",
    Outcome.ROBOTS_DENIED: "if the host is yours, --ignore-robots HOST",
    Outcome.ROBOTS_UNREACHABLE: "try again later; if the host is yours, --ignore-robots HOST",
    Outcome.ADDRESS_REFUSED: "if the host is yours, --allow-network ADDRESS",
    Outcome.OUT_OF_SCOPE: "widen --scope, or give the target as a seed",
    Outcome.HOST_OVER_BUDGET: "raise --max-host-pages, or max-pages and max-bytes in the "
    "rules for the host, then gossamer retry",
    Outcome.TRAP: "if they are wanted, --traps off, then gossamer retry",
    Outcome.GAVE_UP: "gossamer retry asks again",
    Outcome.UNWANTED_TYPE: "--accept keeps other types, and --exclude spares the requests",
}
"""The option of a crawl that helps, for the outcomes that depend on one."""
