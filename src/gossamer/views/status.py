"""The status of a crawl: who works on it, and its URLs, queues, hosts and outputs in numbers."""

from pathlib import Path
from typing import Any

import msgspec

from gossamer.coordinator.outputs import output_state_folder
from gossamer.coordinator.plan import named_sitemaps
from gossamer.coordinator.scoring import SCORER_NOTE, unpack_report
from gossamer.coordinator.summary import GivenUpHost, SeedReport, read_given_up, read_seeds
from gossamer.frontier.router import QueueTable
from gossamer.frontier.scorers.builtin import ScorerReport
from gossamer.model import CauseCount
from gossamer.outputs.contract import OutputSpec
from gossamer.outputs.resumable import OutputState, key_of, read_states
from gossamer.stores.crawl_views import CrawlCounts, DepthCount, HostView, WorkerView, state_of
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import UrlState
from gossamer.urls import parse_seed
from gossamer.views.crawls import CrawlState, StoredCrawl, fields_of

BUSIEST = 5
_OF_THE_COUNTS = (
    *("led_by", "standbys", "pages", "visits", "bytes", "received", "causes", "hosts", "depths"),
    *("relaxing", "url_queue_peak", "listed", "started_at", "last_at"),
)
_OF_THE_OPTIONS = ("max_pages", "max_bytes", "max_page_bytes", "url_queue")


class QueueCount(msgspec.Struct, frozen=True, kw_only=True):
    """A priority queue: the scores that it takes, from `low` up to `high`, and who waits there."""

    queue: int
    low: float
    high: float
    waiting: int


class OutputStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a crawl has written, or is writing."""

    target: str
    """Where it is: a path or an address."""
    finished: bool
    """Whether it is complete under its name; if not, its name has `.part` at the end."""
    written: int
    """Up to which result it is written for good."""
    results: int
    """The number of the last result of the crawl."""


class CrawlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    where: str
    """Where the crawl is: its directory, its file, or its name and store."""
    state: CrawlState
    led_by: str | None = None
    """Which process has the lead of a shared crawl, and since when; None: nobody, or it is not
    shared."""
    standbys: tuple[str, ...] = ()
    """Which processes stand by to take the lead over, and since when."""
    ended_by: str | None
    """`complete`, `max-pages`, `max-bytes`, `interrupted`; None while it runs or after a crash."""
    waiting: int
    in_progress: int
    finished: int
    too_deep: int
    """URLs that are known, but farther away than the depth limit."""
    pages: int
    """URLs with a kept page."""
    visits: int
    """How often a page was fetched and kept."""
    bytes: int
    """The size of the pages that were read, decoded."""
    received: int
    """How many bytes of bodies were received, as they were sent: what `max_bytes` limits."""
    max_pages: int | None
    max_bytes: int | None
    scorer: ScorerReport | None = None
    """How many URLs the scorer could not rank, and why; None: it has ranked all so far."""
    outcomes: dict[str, int]
    """How the finished URLs ended at their last visit, most frequent first."""
    causes: list[CauseCount]
    """Why downloads failed, most frequent first."""
    seeds: SeedReport
    """What came of the seeds."""
    given_up: list[GivenUpHost] = []
    """The hosts that failed so often that they are not asked any more, as far as looked for."""
    retry_with: str | None = None
    """The command that asks again, if URLs were given up and nobody works on the crawl."""
    max_page_bytes: int | None
    outputs: list[OutputStatus] = []
    """What the crawl writes or has written, as far as its directory is here."""
    url_states: dict[str, int]
    hosts: int
    busiest_hosts: list[HostView]
    workers: list[WorkerView]
    """The workers that take part, by number; none unless the crawl is running."""
    resting_s: float
    """How long no host is asked yet, because the server of the store was restarted or replaced."""
    depths: list[DepthCount]
    relaxing: bool = False
    """Whether depths may still decrease: a shorter path was found, and is being followed."""
    queues: list[QueueCount]
    url_queue: int | None
    """How many URLs may wait for their score before workers wait for that, too."""
    url_queue_peak: int
    """How many have waited for their score at most."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    started_at: float | None
    """When the first attempt ended."""
    last_at: float | None
    """When the last attempt ended."""


async def crawl_status(crawl: StoredCrawl, now: float) -> CrawlStatus:
    """Return how far a crawl is."""
    options = crawl.options
    counts = await crawl.reader.counts()
    states: dict[str, Any] = dict.fromkeys(("waiting", "in_progress", "finished", "too_deep"), 0)
    for state, urls in counts.states.items():
        states[state_of(state)] += urls
    outcomes = sorted(counts.outcomes.items(), key=lambda item: (-item[1], item[0]))
    busiest = await crawl.reader.hosts(BUSIEST, now) if counts.unfinished else []
    # A shared store still knows the workers that a crash has killed.
    workers = await crawl.reader.workers(now) if counts.running else []
    return CrawlStatus(
        where=crawl.reader.where,
        state=crawl.state(counts),
        ended_by=crawl.ended_by(counts),
        **states,
        **fields_of(counts, _OF_THE_COUNTS),
        **fields_of(options, _OF_THE_OPTIONS),
        scorer=unpack_report(await crawl.reader.metadata(SCORER_NOTE)),
        outcomes=dict(outcomes),
        seeds=await _seeds(crawl),
        given_up=await read_given_up(crawl.reader, counts.outcomes),
        outputs=await output_statuses(crawl.reader),
        url_states={state.name.lower(): counts.states[state] for state in UrlState},
        busiest_hosts=busiest,
        workers=workers,
        resting_s=counts.resting_s if counts.running else 0.0,
        queues=_queues(counts, options.queues) if options and options.queues else [],
    )


async def _seeds(crawl: StoredCrawl) -> SeedReport:
    options = crawl.options
    seeds = [parse_seed(seed) for seed in options.seeds] if options else []
    return await read_seeds(crawl.reader, seeds, named_sitemaps(options) if options else [])


def _queues(counts: CrawlCounts, count: int) -> list[QueueCount]:
    """Return the table from score to queue, with how many URLs wait in each."""
    return [
        QueueCount(
            **fields_of(row, ("queue", "low", "high")), waiting=counts.queues.get(row.queue, 0)
        )
        for row in QueueTable(count).rows()
    ]


async def output_statuses(reader: CrawlReader) -> list[OutputStatus]:
    """Return the outputs of a crawl whose directory is on this machine, those of exports too."""
    folder = await output_state_folder(reader)
    if folder is None:
        return []
    results = await reader.last_result()
    return [
        OutputStatus(
            target=output.target,
            finished=_is_finished(output, folder),
            written=output.written,
            results=max(results, output.written),  # the states may be newer than what we read
        )
        for output in read_states(folder)
    ]


def _is_finished(state: OutputState, folder: Path) -> bool:
    """Tell whether it has its name. A directory has no stamp; it is renamed while it goes on."""
    spec = OutputSpec(target=state.target, folder=folder, key=key_of(state.target))
    return state.is_placed and (state.stamp is not None or spec.path.is_dir())
