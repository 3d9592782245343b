"""A crawl that has ended: what came of it, for the last words and the exit code."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from gossamer.coordinator.seed_report import SeedReport
from gossamer.errors import ExitCode
from gossamer.frontier.contract import HOST_FAILED
from gossamer.frontier.scorers.contract import ScorerReport
from gossamer.model import HostKey, Outcome, Snapshot
from gossamer.modules import ModuleReport
from gossamer.outputs.contract import OutputReport
from gossamer.stores.reading import CrawlReader
from gossamer.stores.url_record import UrlRecord
from gossamer.stores.views import HostView

URLS_READ = 10_000
"""Among how many URLs such hosts are looked for: the first that were found, of however many."""


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
        """What the command exits with: 0 if the crawl did what was asked for."""
        return exit_code(self.ended_by, self.seeds, self.modules)

    @property
    def new_pages(self) -> int:
        """How many of the pages came in this run."""
        return self.snapshot.pages - self.pages_before

    def __repr__(self) -> str:
        pages, size = self.snapshot.pages, self.snapshot.bytes
        return f"<Summary {self.ended_by!r}: {pages:,} pages, {size:,} bytes in {self.directory!r}>"


def exit_code(ended_by: str, seeds: SeedReport, modules: Iterable[ModuleReport]) -> ExitCode:
    """Return the exit code of a crawl: of several reasons, the one that explains the others."""
    if ended_by == "interrupted":
        return ExitCode.INTERRUPTED
    if seeds.none_fetched:
        return ExitCode.NO_SEED
    if any(module.failure for module in modules):
        return ExitCode.MODULE_FAILED
    return ExitCode.DONE


async def read_given_up(reader: CrawlReader, outcomes: Mapping[str, int]) -> list[GivenUpHost]:
    """Return the hosts that were given up, those with most URLs first."""
    if not outcomes.get(Outcome.GAVE_UP):
        return []
    found, read = [], 0
    async for one in reader.urls():
        if one.record.outcome is Outcome.GAVE_UP:
            found.append(one.record)
        read += 1
        if read >= URLS_READ:
            break
    return given_up_hosts(found)


def given_up_hosts(urls: Iterable[UrlRecord]) -> list[GivenUpHost]:
    """Return the hosts of URLs that were given up, unless that was not for their host."""
    for_host = [one for one in urls if one.detail.startswith(HOST_FAILED)]
    for_host.sort(key=lambda one: (one.host, one.finished_at or 0.0))
    hosts = []
    for host, group in groupby(for_host, attrgetter("host")):
        own = list(group)
        # A process that has never asked the host does not know what it failed of.
        reasons = [one.detail.removeprefix(HOST_FAILED).removeprefix(": ") for one in own]
        known = [reason for reason in reasons if reason]
        hosts.append(
            GivenUpHost(
                host=host,
                at=own[0].finished_at or 0.0,
                urls=len(own),
                reason=known[-1] if known else "",
            )
        )
    return sorted(hosts, key=lambda one: (-one.urls, one.host))
