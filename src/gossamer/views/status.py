"""The state of a crawl in numbers."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from gossamer.frontier.queues import QueueTable
from gossamer.stores.contract import UrlState
from gossamer.stores.embedded.sqlite.reader import BusyHost, StateCount, state_of
from gossamer.views.stored_crawl import CrawlState, StoredCrawl

BUSIEST = 5


class DepthCount(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs of one depth."""

    depth: int
    urls: int
    finished: int
    pages: int


class QueueCount(msgspec.Struct, frozen=True, kw_only=True):
    """A priority queue: the scores that it takes, from `low` up to `high`, and who waits there."""

    queue: int
    low: float
    high: float
    waiting: int


class CrawlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl at one moment."""

    directory: str
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
    url_states: dict[str, int]
    hosts: int
    busiest_hosts: list[BusyHost]
    depths: list[DepthCount]
    queues: list[QueueCount]
    started_at: float | None
    last_at: float | None
    """When the last attempt ended."""


def crawl_status(crawl: StoredCrawl) -> CrawlStatus:
    """Count."""
    reader, options = crawl.reader, crawl.options
    state_counts = reader.state_counts()
    url_states: Counter[UrlState] = Counter()
    for one in state_counts:
        url_states[UrlState(one.state)] += one.urls
    states: Counter[str] = Counter()
    for state, urls in url_states.items():
        states[state_of(state)] += urls
    left = states["waiting"] + states["in_progress"]
    started_at, last_at = reader.active_between() or (None, None)
    return CrawlStatus(
        directory=crawl.name,
        state=crawl.state(left),
        ended_by=crawl.ended_by(left),
        waiting=states["waiting"],
        in_progress=states["in_progress"],
        finished=states["finished"],
        too_deep=states["too_deep"],
        pages=reader.page_count(),
        bytes=crawl.bytes,
        max_pages=options.max_pages if options else None,
        max_bytes=options.max_bytes if options else None,
        outcomes=_outcomes(state_counts),
        url_states={state.name.lower(): url_states[state] for state in UrlState},
        hosts=reader.host_count(),
        busiest_hosts=reader.busiest_hosts(BUSIEST),
        depths=_depths(state_counts),
        queues=_queues(state_counts, options.queues if options else None),
        started_at=started_at,
        last_at=last_at,
    )


def _outcomes(state_counts: Iterable[StateCount]) -> dict[str, int]:
    """Return how the finished URLs ended, most frequent first."""
    found: Counter[str] = Counter()
    for one in state_counts:
        if one.state == UrlState.DONE:
            found[str(one.outcome)] += one.urls
    return dict(found.most_common())


def _depths(state_counts: Iterable[StateCount]) -> list[DepthCount]:
    urls: Counter[int] = Counter()
    finished: Counter[int] = Counter()
    pages: Counter[int] = Counter()
    for one in state_counts:
        urls[one.depth] += one.urls
        if one.state == UrlState.DONE:
            finished[one.depth] += one.urls
            pages[one.depth] += one.urls if one.outcome == "fetched" else 0
    return [
        DepthCount(depth=one, urls=urls[one], finished=finished[one], pages=pages[one])
        for one in sorted(urls)
    ]


def _queues(state_counts: Iterable[StateCount], count: int | None) -> list[QueueCount]:
    """Return the table from score to queue, with how many URLs wait in each."""
    waiting: Counter[int] = Counter()
    for one in state_counts:
        if one.queue is not None and one.state in {UrlState.QUEUED, UrlState.ASSIGNED}:
            waiting[one.queue] += one.urls
    if count is None:
        return []
    return [
        QueueCount(queue=row.queue, low=row.low, high=row.high, waiting=waiting[row.queue])
        for row in QueueTable(count).rows()
    ]
