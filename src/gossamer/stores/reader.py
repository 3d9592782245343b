"""Reading a crawl over its rows, in whichever database they are."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from gossamer.download.body import CodingError
from gossamer.model import HostKey, Outcome, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.bodies import BodyReader, read_content
from gossamer.stores.counting import (
    COUNTS_NAME,
    REASONS_NAME,
    cause_counts,
    count_rows,
    outcome_sums,
    read_reason_counts,
    unpack_counts,
)
from gossamer.stores.reading import (
    ALIAS_OUTCOMES,
    ANY_STATE,
    BUSY_HOSTS_NAME,
    WORKERS_NAME,
    Arrival,
    Counters,
    CrawlCounts,
    DepthCount,
    HostTiming,
    HostView,
    ListedUrl,
    Step,
    StepKind,
    StoredResponse,
    WorkerView,
    read_busy_hosts,
    read_counters,
    read_workers,
)
from gossamer.stores.rows import HostRow, PageRow, ReadableRows, UrlRow, unpack_links
from gossamer.stores.url_record import (
    Attempt,
    PageRecord,
    Result,
    UrlRecord,
    UrlState,
    unpack_records,
)

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
        raise CrawlError(rows.describe_error(error)) from error
    except msgspec.DecodeError as error:
        raise damaged(where, error) from error


def damaged(where: str, error: Exception) -> CrawlError:
    """Return the error of rows that are there and make no sense."""
    return CrawlError(
        f"{where} is damaged: {error}; run 'gossamer verify' for everything that is wrong"
    )


async def read_response(bodies: BodyReader, stored: bytes, number: int) -> StoredResponse:
    """Return what is kept of the answer for a page; CrawlError if it is damaged."""
    try:
        kept = read_content(await bodies.read(stored))
        body = kept.body()
        return StoredResponse(body, kept.wire_body(body), kept.exchange())
    except CodingError as error:
        raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error


class CrawlReader:
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
        self.bodies = BodyReader(self.metadata)
        self._presence = presence
        self._run = run
        self._lookup = RowLookup(rows)

    # -- the crawl -------------------------------------------------------------------------------

    async def metadata(self, name: str) -> bytes | None:
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
        note = await self.metadata(WORKERS_NAME) if presence.running else None
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
        answer = await self.response(number)
        return None if answer is None else answer.body

    async def response(self, number: int) -> StoredResponse | None:
        """Return what is kept of the answer for a page; None if it has expired."""
        stored = await self._run(lambda: self.rows.read_content(number))
        return None if stored is None else await read_response(self.bodies, stored, number)

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

    async def resolve_redirects(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
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
        names = [COUNTS_NAME, REASONS_NAME, *_COUNTERS]
        counts, reasons, *numbers = self.rows.read_metadata(names)
        try:
            stored = unpack_counts(counts)
            figures = read_counters(dict(zip(_COUNTERS, numbers, strict=True)).__getitem__)
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
            **msgspec.structs.asdict(figures),
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


AT_ONCE: Final = 500
"""How many rows are read in one trip."""
KNOWN_AT_ONCE: Final = 8_000
MOST_HOSTS: Final = 100_000
"""How many hosts are remembered."""
_LARGEST: Final = 2**63 - 1


class RowLookup:
    """Finds and joins rows."""

    def __init__(self, rows: ReadableRows) -> None:
        self.rows = rows
        self._hosts: dict[int, HostRow] = {}
        """Of which the names count, which stay."""

    # -- URLs ------------------------------------------------------------------------------------

    def find(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under a key."""
        (url_id,) = self.rows.find_urls([key])
        return self._records(self.rows.read_urls([url_id]))[0] if url_id else None

    def ends(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended."""
        return self._follow(self.rows.find_urls(keys)) if keys else []

    def list_urls(
        self, states: Collection[UrlState], outcome: Outcome | None
    ) -> Iterator[list[ListedUrl]]:
        """Yield the URLs in one of the states, with an outcome only those that ended so."""
        leased = self._leased()
        for ids in _batches(self.rows.last_url()):
            rows = []
            for row in self.rows.read_urls(ids):
                is_wanted = _state(row, leased) in states
                if is_wanted and outcome in {None, row.outcome if _is_done(row) else None}:
                    rows.append(row)
            yield self._listed(rows, leased)

    def aliases(self) -> Iterator[list[tuple[Url, int]]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page."""
        for ids in _batches(self.rows.last_url()):
            rows = [
                row
                for row in self.rows.read_urls(ids)
                if _is_done(row) and row.outcome in ALIAS_OUTCOMES
            ]
            ends = self._follow([row.id for row in rows])
            yield [
                (row.url, end.kept_in)
                for row, end in zip(rows, ends, strict=True)
                if end is not None and end.kept_in is not None
            ]

    def path(self, url_id: int, *, whole: bool = True) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included.

        If not the whole: from the page before the last link.
        """
        passed: dict[int, UrlRow] = {}
        steps: list[Step] = []
        at: int | None = url_id
        while at is not None and at not in passed:
            row = passed[at] = passed.get(at) or self.rows.read_urls([at])[0]
            is_end = not whole and bool(steps) and steps[-1].over in {"link", "sitemap"}
            parent = None
            if row.parent is not None and not is_end:
                parent = passed.get(row.parent) or self.rows.read_urls([row.parent])[0]
            steps.append(Step(row.url, row.depth, _kind_of_step(row, parent)))
            if is_end:
                break
            at = row.parent
        return steps[::-1]

    def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one."""
        rows = self.rows
        if url.state is UrlState.UNSCORED:
            return rows.count_unscored(url.id)
        (host,) = rows.find_hosts([url.host])
        assert url.queue is not None, "a URL with a score is in a queue"
        assert url.score is not None, "it waits with a score"
        item = url.score, url.id
        ahead = rows.count_queued(host, url.queue, item)
        for row in rows.read_urls([*self._leased()]):
            is_counted = row.queue == url.queue and row.score is not None
            if row.host == host and not (is_counted and (row.score, row.id) < item):
                ahead += 1
        return ahead

    # -- pages -----------------------------------------------------------------------------------

    def list_pages(self) -> Iterator[list[PageRecord]]:
        """Yield the kept pages in the order of their numbers."""
        for numbers in _batches(self.rows.last_page()):
            yield self.pages(numbers)

    def pages(self, numbers: Sequence[int]) -> list[PageRecord]:
        """Return those of these pages that are there."""
        pages = self._page_rows(numbers)
        ids = [*dict.fromkeys(page.url for page in pages)]
        urls = {row.id: row for row in self.rows.read_urls(ids)}
        attempts = dict(zip(ids, self.rows.read_histories(ids), strict=True))
        found = []
        for page in pages:
            visits = [one for one in attempts[page.url] if one.outcome is Outcome.FETCHED]
            status = visits[-1].status if visits else None
            found.append(_page_record(page, urls[page.url], len(visits), status))
        return found

    def url_of_page(self, number: int) -> int | None:
        """Return the URL of a page; None if no page has that number."""
        pages = self._page_rows([number])
        return pages[0].url if pages else None

    def depths(self) -> Iterator[list[tuple[int, int]]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""
        known = self.rows.known_urls()
        while urls := [*islice(known, KNOWN_AT_ONCE)]:
            yield [(url.page, url.depth) for url in urls if url.page is not None]

    def _page_rows(self, numbers: Iterable[int]) -> list[PageRow]:
        asked = [number for number in numbers if 0 < number <= _LARGEST]
        return [page for page in self.rows.read_pages(asked) if page is not None] if asked else []

    # -- the log of results ----------------------------------------------------------------------

    def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""
        if limit <= 0:
            return []
        return [
            Result(
                number=row.number,
                url_id=row.url,
                page_id=row.page,
                settled_at=row.settled_at,
                records=unpack_records(row.records),
                row=row.row,
            )
            for row in self.rows.read_results(after, limit)
        ]

    # -- hosts -----------------------------------------------------------------------------------

    def busy_hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do."""
        (packed,) = self.rows.read_metadata([BUSY_HOSTS_NAME])
        busy = sorted(
            read_busy_hosts(packed), key=lambda host: (-host.waiting - host.in_progress, host.key)
        )[:limit]
        ids = self.rows.find_hosts([host.key for host in busy])
        rows = {row.key: row for row in self.rows.read_hosts([one for one in ids if one])}
        return [
            _host_view(rows[host.key], host.waiting, host.in_progress, now)
            for host in busy
            if host.key in rows
        ]

    def timing(self, key: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again; None if the host is not known."""
        (host,) = self.rows.find_hosts([key])
        if not host:
            return None
        (row,) = self.rows.read_hosts([host])
        return HostTiming(
            delay_s=row.delay_s, ready_in_s=max(0.0, row.next_start - now), failures=row.failures
        )

    # -- inside ----------------------------------------------------------------------------------

    def _leased(self) -> set[int]:
        return {lease.url for lease in self.rows.leases()}

    def _records(self, rows: Sequence[UrlRow], leased: set[int] | None = None) -> list[UrlRecord]:
        if leased is None:
            leased = self._leased() if any(row.state == UrlState.QUEUED for row in rows) else set()
        self._learn_hosts({row.host for row in rows})
        return [_url_record(row, self._hosts[row.host], _state(row, leased)) for row in rows]

    def _learn_hosts(self, ids: Collection[int]) -> None:
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.clear()
        if missing := [one for one in ids if one not in self._hosts]:
            self._hosts |= {row.id: row for row in self.rows.read_hosts(missing)}

    def _listed(self, rows: Sequence[UrlRow], leased: set[int]) -> list[ListedUrl]:
        numbers = {number for row in rows for number in (row.page, row.duplicate_of) if number}
        pages = {page.number: page for page in self._page_rows(sorted(numbers))}
        ids = sorted({pages[row.duplicate_of].url for row in rows if row.duplicate_of in pages})
        originals = {row.id: row.url for row in self.rows.read_urls(ids)} if ids else {}
        listed = []
        for row, record in zip(rows, self._records(rows, leased), strict=True):
            own, other = pages.get(row.page or 0), pages.get(row.duplicate_of or 0)
            size = None if own is None else own.size
            original = None if other is None else originals[other.url]
            listed.append(ListedUrl(record, size, original))
        return listed

    def _follow(self, ids: Sequence[int]) -> list[UrlRecord | None]:
        """Return where the redirects from URLs ended; None for an id of 0."""
        found: dict[int, UrlRow] = {}
        leads_to: dict[int, int] = {}
        new = [one for one in dict.fromkeys(ids) if one]
        while new:
            rows = self.rows.read_urls(new)
            found |= {row.id: row for row in rows}
            moved = [row.id for row in rows if _is_done(row) and row.outcome == Outcome.REDIRECTED]
            for one, packed in zip(
                moved, self.rows.read_links(moved) if moved else [], strict=True
            ):
                if packed:
                    leads_to[one] = unpack_links(packed)[0]
            targets = dict.fromkeys(leads_to[one] for one in moved if one in leads_to)
            new = [one for one in targets if one not in found]
        ends = [_end(one, leads_to) for one in ids]
        wanted = [*dict.fromkeys(one for one in ends if one)]
        records = dict(zip(wanted, self._records([found[one] for one in wanted]), strict=True))
        return [records.get(one) for one in ends]


def _batches(last: int) -> Iterator[range]:
    """Yield the numbers from 1 to the last, some at a time."""
    for first in range(1, last + 1, AT_ONCE):
        yield range(first, min(first + AT_ONCE, last + 1))


def _end(url_id: int, leads_to: dict[int, int]) -> int:
    """Return the last URL on the way; in a circle, one of it."""
    passed: set[int] = set()
    while url_id in leads_to and url_id not in passed:
        passed.add(url_id)
        url_id = leads_to[url_id]
    return url_id


def _is_done(row: UrlRow) -> bool:
    return row.state == UrlState.DONE


def _state(row: UrlRow, leased: Collection[int]) -> UrlState:
    is_leased = row.state == UrlState.QUEUED and row.id in leased
    return UrlState.LEASED if is_leased else row.state


def _kind_of_step(row: UrlRow, parent: UrlRow | None) -> StepKind:
    """Return how a URL was reached from its parent."""
    if row.sitemap_of is not None or (parent is not None and parent.sitemap_of is not None):
        return "sitemap"
    if row.parent is None:
        return "seed"
    return "redirect" if parent is not None and parent.redirect else "link"


def _url_record(row: UrlRow, host: HostRow, state: UrlState) -> UrlRecord:
    is_done = _is_done(row)
    values = {
        "id": row.id,
        "url": row.url,
        "host": host.key,
        "domain": host.domain,
        "state": state,
        "depth": row.depth,
        "parent": row.parent,
        "score": row.score,
        "queue": row.queue,
        "outcome": row.outcome if is_done else None,
        "detail": (row.detail if is_done else None) or "",
        "page_id": row.page,
        "found_at": row.found_at,
        "finished_at": row.finished_at,
        "attempts": row.attempts,
        "duplicate_of": row.duplicate_of,
        "similarity": row.similarity,
        "own_similarity": row.own_similarity,
    }
    return msgspec.convert(values, UrlRecord)


def _page_record(page: PageRow, url: UrlRow, visits: int, status: int | None) -> PageRecord:
    values = {
        "id": page.number,
        "url": url.url,
        "depth": url.depth,
        "outcome": Outcome.FETCHED,
        "bytes": page.size,
        "content_type": page.content_type,
        "encoding": page.encoding,
        "title": page.title,
        "fetched_at": page.fetched_at,
        "visits": visits,
        "status": status,
    }
    return msgspec.convert(values, PageRecord)


def _host_view(row: HostRow, waiting: int, in_progress: int, now: float) -> HostView:
    return HostView(
        host=row.key,
        waiting=waiting,
        in_progress=in_progress,
        pages=row.pages,
        failures=row.failed,
        next_in_s=row.next_start - now,
        delay_s=row.delay_s,
        mean_ms=1000 * row.took_s / row.requests if row.requests else 0.0,
    )
