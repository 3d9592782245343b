"""The state of a crawl in numbers."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from gossamer.control.stored_crawl import CrawlState, StoredCrawl
from gossamer.frontier.queues import QueueTable
from gossamer.stores.contract import Place
from gossamer.stores.sqlite.reader import BusyHost, Tally, state_of

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
    in_work: int
    finished: int
    beyond: int
    """URLs that are known, but farther away than the depth limit."""
    pages: int
    bytes: int
    max_pages: int | None
    max_bytes: int | None
    outcomes: dict[str, int]
    places: dict[str, int]
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
    tallies = reader.tallies()
    places: Counter[Place] = Counter()
    for one in tallies:
        places[Place(one.place)] += one.urls
    states: Counter[str] = Counter()
    for place, urls in places.items():
        states[state_of(place)] += urls
    left = states["waiting"] + states["in_work"]
    started_at, last_at = reader.active_between() or (None, None)
    return CrawlStatus(
        directory=crawl.name,
        state=crawl.state(left),
        ended_by=crawl.ended_by(left),
        waiting=states["waiting"],
        in_work=states["in_work"],
        finished=states["finished"],
        beyond=states["beyond"],
        pages=reader.page_count(),
        bytes=crawl.bytes,
        max_pages=options.max_pages if options else None,
        max_bytes=options.max_bytes if options else None,
        outcomes=_outcomes(tallies),
        places={place.name.lower(): places[place] for place in Place},
        hosts=reader.host_count(),
        busiest_hosts=reader.busiest_hosts(BUSIEST),
        depths=_depths(tallies),
        queues=_queues(tallies, options.queues if options else None),
        started_at=started_at,
        last_at=last_at,
    )


def _outcomes(tallies: Iterable[Tally]) -> dict[str, int]:
    """Return how the finished URLs ended, most frequent first."""
    found: Counter[str] = Counter()
    for one in tallies:
        if one.place == Place.FINISHED:
            found[str(one.outcome)] += one.urls
    return dict(found.most_common())


def _depths(tallies: Iterable[Tally]) -> list[DepthCount]:
    urls: Counter[int] = Counter()
    finished: Counter[int] = Counter()
    pages: Counter[int] = Counter()
    for one in tallies:
        urls[one.depth] += one.urls
        if one.place == Place.FINISHED:
            finished[one.depth] += one.urls
            pages[one.depth] += one.urls if one.outcome == "fetched" else 0
    return [
        DepthCount(depth=one, urls=urls[one], finished=finished[one], pages=pages[one])
        for one in sorted(urls)
    ]


def _queues(tallies: Iterable[Tally], count: int | None) -> list[QueueCount]:
    """Return the table from score to queue, with how many URLs wait in each."""
    waiting: Counter[int] = Counter()
    for one in tallies:
        if one.queue is not None and one.place in {Place.SHELVED, Place.DEALT}:
            waiting[one.queue] += one.urls
    if count is None:
        return []
    return [
        QueueCount(queue=row.queue, low=row.low, high=row.high, waiting=waiting[row.queue])
        for row in QueueTable(count).rows()
    ]
