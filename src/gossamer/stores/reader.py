"""Reading a crawl over its rows, in whichever database they are."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.bodies.places import BodyReader
from gossamer.stores.counting import (
    COUNTS_NAME,
    REASONS_NOTE,
    cause_counts,
    count_rows,
    outcome_sums,
    read_reason_counts,
    unpack_counts,
)
from gossamer.stores.reading import (
    ANY_STATE,
    WORKERS_NOTE,
    Arrival,
    Counters,
    CrawlCounts,
    DepthCount,
    HostTiming,
    HostView,
    KeptAnswer,
    ListedUrl,
    Step,
    WorkerView,
    read_answer,
    read_counters,
    read_workers,
)
from gossamer.stores.row_lookup import RowLookup
from gossamer.stores.rows import ReadableRows
from gossamer.stores.url_record import Attempt, PageRecord, Result, UrlRecord, UrlState

T = TypeVar("T")

_COUNTERS = Counters.__struct_fields__


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """Who works on a crawl."""

    running: bool
    """Whether a process works on it."""
    closed: bool
    """Whether the last process that worked on it ended in order."""
    led_by: str | None = None
    """Which process has the lead of a shared crawl, and since when."""
    standbys: tuple[str, ...] = ()
    """Which processes stand by to take it over."""
    now: float | None = None
    """The time by the clock of the crawl; None: it goes by that of this machine."""
    resting_s: float = 0.0
    """How long no host is asked yet, because the server of the store was restarted or replaced."""


class Run(Protocol):
    """Does what blocks, one thing after the other."""

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Return what comes of it."""


async def run_here(work: Callable[[], T], /) -> T:
    """Do something that blocks for a moment only."""
    return work()


@contextmanager
def explained(rows: ReadableRows, where: str) -> Iterator[None]:
    """Raise a CrawlError for rows that cannot be read."""
    try:
        yield
    except rows.errors as error:
        raise CrawlError(rows.complaint(error)) from error
    except msgspec.DecodeError as error:
        raise damaged(where, error) from error


def damaged(where: str, error: Exception) -> CrawlError:
    """Return the error of rows that are there and make no sense."""
    return CrawlError(
        f"{where} is damaged: {error}; run 'gossamer verify' for everything that is wrong"
    )


class RowsReader:
    """Reads one crawl over its rows; whoever opened them closes them."""

    def __init__(
        self,
        rows: ReadableRows,
        presence: Callable[[], Presence],
        *,
        where: str,
        name: str | None = None,
        directory: Path | None = None,
        run: Run = run_here,
    ) -> None:
        """Take the rows, and who can tell whether a process works on the crawl.

        Both are used in `run` alone.
        """
        self.rows = rows
        self.where = where
        self.name = name
        self.directory = directory
        self.bodies = BodyReader(self.note)
        self._presence = presence
        self._run = run
        self._lookup = RowLookup(rows)

    # -- the crawl -------------------------------------------------------------------------------

    async def note(self, name: str) -> bytes | None:
        """Return a note that is kept with the crawl."""
        return (await self._run(lambda: self.rows.read_metadata([name])))[0]

    async def counts(self) -> CrawlCounts:
        """Return the counters, as they were stored with the last commit."""
        return await self._run(self._counts)

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, as of about a second before the last commit."""
        now = await self._now(now)
        return await self._run(lambda: self._lookup.busy_hosts(limit, now))

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number; none if no process works on the crawl."""
        presence = await self._run(self._presence)
        note = await self.note(WORKERS_NOTE) if presence.running else None
        try:
            return read_workers(note, await self._now(now)) if note is not None else []
        except msgspec.DecodeError as error:
            raise CrawlError(f"the note of the workers in {self.where} is damaged") from error

    # -- lists -----------------------------------------------------------------------------------

    async def urls(
        self, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
    ) -> AsyncIterator[ListedUrl]:
        """Yield the URLs in one of the states, in the order of discovery."""
        async for url in self._each(self._lookup.list_urls(states, outcome)):
            yield url

    async def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        async for page in self._each(self._lookup.list_pages()):
            yield page

    async def depths(self) -> AsyncIterator[tuple[int, int]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""
        async for page in self._each(self._lookup.depths()):
            yield page

    async def aliases(self) -> AsyncIterator[tuple[Url, int]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page."""
        async for alias in self._each(self._lookup.aliases()):
            yield alias

    # -- the log of results ----------------------------------------------------------------------

    async def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""
        return await self._run(lambda: self._lookup.results(after, limit))

    async def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return await self._run(self.rows.last_result)

    # -- one page --------------------------------------------------------------------------------

    async def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return await self._run(self.rows.last_page)

    async def page(self, number: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""
        found = await self._run(lambda: self._lookup.pages([number]))
        return found[0] if found else None

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decoded; None if it has expired."""
        answer = await self.answer(number)
        return None if answer is None else answer.body

    async def answer(self, number: int) -> KeptAnswer | None:
        """Return what is kept of the answer for a page; None if it has expired."""
        stored = await self._run(lambda: self.rows.read_content(number))
        return None if stored is None else await read_answer(self.bodies, stored, number)

    async def arrival(self, number: int) -> Arrival:
        """Return how the crawl came to a page."""
        url_id = await self._run(lambda: self._lookup.url_of_page(number))
        if url_id is None:
            return Arrival()
        return Arrival.over(await self._run(lambda: self._lookup.path(url_id, whole=False)))

    # -- one URL ---------------------------------------------------------------------------------

    async def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""
        return await self._run(lambda: self._lookup.find(key))

    async def ends(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended."""
        return await self._run(lambda: self._lookup.ends(keys))

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return await self._run(lambda: self.rows.read_attempts(url_id))

    async def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""
        return await self._run(lambda: self._lookup.path(url_id))

    async def timing(self, host: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again; None if the host is not known."""
        now = await self._now(now)
        return await self._run(lambda: self._lookup.timing(host, now))

    async def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one."""
        return await self._run(lambda: self._lookup.ahead_of(url))

    # -- inside ----------------------------------------------------------------------------------

    async def _each(self, batches: Iterator[list[T]]) -> AsyncIterator[T]:
        while (batch := await self._run(lambda: next(batches, None))) is not None:
            for one in batch:
                yield one

    async def _now(self, now: float) -> float:
        """Return the time by the clock of the crawl."""
        presence = await self._run(self._presence)
        return now if presence.now is None else presence.now

    def _counts(self) -> CrawlCounts:
        presence = self._presence()
        names = [COUNTS_NAME, REASONS_NOTE, *_COUNTERS]
        counts, reasons, *numbers = self.rows.read_metadata(names)
        try:
            stored = unpack_counts(counts)
            counters = read_counters(dict(zip(_COUNTERS, numbers, strict=True)).__getitem__)
            ended = read_reason_counts(reasons)
        except (ValueError, msgspec.DecodeError) as error:
            raise CrawlError(f"a figure in {self.where} is damaged: {error}") from error
        if counts is None and self.rows.last_url():  # it was brought here from elsewhere
            stored = count_rows(self.rows)
        return CrawlCounts(
            states={state: stored.states.get(state, 0) for state in UrlState},
            outcomes=outcome_sums(ended.items()),
            causes=cause_counts(ended.items()),
            depths=[
                DepthCount(depth=depth, **one._asdict())
                for depth, one in enumerate(stored.depths)
                if one.urls
            ],
            queues=stored.queues,
            pages=stored.pages,
            **msgspec.structs.asdict(counters),
            hosts=stored.hosts,
            started_at=stored.first_attempt_at,
            last_at=stored.last_attempt_at,
            running=presence.running,
            closed=presence.closed,
            led_by=presence.led_by,
            standbys=presence.standbys,
            resting_s=presence.resting_s,
            relaxing=stored.relaxing,
        )
