"""The status of a crawl in numbers."""

import msgspec

from gossamer.frontier.queues import QueueTable
from gossamer.stores.contract import HostView, UrlState
from gossamer.stores.reading import CrawlCounts, DepthCount, state_of
from gossamer.views.stored_crawl import CrawlState, StoredCrawl
from gossamer.views.workers import WorkerEntry, worker_entries

BUSIEST = 5


class QueueCount(msgspec.Struct, frozen=True, kw_only=True):
    """A priority queue: the scores that it takes, from `low` up to `high`, and who waits there."""

    queue: int
    low: float
    high: float
    waiting: int


class CrawlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    where: str
    """Where the crawl is: its directory, its file, or its name and store."""
    state: CrawlState
    ended_by: str | None
    """`complete`, `max-pages`, `max-bytes`, `interrupted`; None while it runs or after a crash."""
    waiting: int
    in_progress: int
    finished: int
    too_deep: int
    """URLs that are known, but farther away than the depth limit."""
    pages: int
    bytes: int
    max_pages: int | None
    max_bytes: int | None
    outcomes: dict[str, int]
    """How the finished URLs ended, most frequent first."""
    url_states: dict[str, int]
    hosts: int
    busiest_hosts: list[HostView]
    workers: list[WorkerEntry]
    """Who takes part, by number; nobody unless the crawl is running."""
    depths: list[DepthCount]
    queues: list[QueueCount]
    started_at: float | None
    """When the first attempt ended."""
    last_at: float | None
    """When the last attempt ended."""


async def crawl_status(crawl: StoredCrawl, now: float) -> CrawlStatus:
    """Return how far a crawl is."""
    options = crawl.options
    counts = await crawl.reader.counts()
    states = dict.fromkeys(("waiting", "in_progress", "finished", "too_deep"), 0)
    for state, urls in counts.states.items():
        states[state_of(state)] += urls
    outcomes = sorted(counts.outcomes.items(), key=lambda one: (-one[1], one[0]))
    return CrawlStatus(
        where=crawl.reader.where,
        state=crawl.state(counts),
        ended_by=crawl.ended_by(counts),
        **states,
        pages=counts.pages,
        bytes=counts.bytes,
        max_pages=options.max_pages if options else None,
        max_bytes=options.max_bytes if options else None,
        outcomes=dict(outcomes),
        url_states={state.name.lower(): counts.states[state] for state in UrlState},
        hosts=counts.hosts,
        busiest_hosts=await crawl.reader.hosts(BUSIEST, now) if counts.unfinished else [],
        # A shared store still knows the workers that a crash has killed.
        workers=worker_entries(await crawl.reader.workers(now)) if counts.running else [],
        depths=counts.depths,
        queues=_queues(counts, options.queues if options else None),
        started_at=counts.started_at,
        last_at=counts.last_at,
    )


def _queues(counts: CrawlCounts, count: int | None) -> list[QueueCount]:
    """Return the table from score to queue, with how many URLs wait in each."""
    if count is None:
        return []
    return [
        QueueCount(
            queue=row.queue, low=row.low, high=row.high, waiting=counts.queues.get(row.queue, 0)
        )
        for row in QueueTable(count).rows()
    ]
