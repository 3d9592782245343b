"""The reader of a crawl: what `status`, `pages`, `explain`, `verify` and outputs ask of its rows.

It reads a crawl that is running, has ended or was killed; nothing is changed, and nobody waits for
it. What it reads of a file is one consistent snapshot. In a shared store others go on meanwhile:
there the counters are one, and each batch of a list.
"""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import asdict

from gossamer.download.body import CodingError
from gossamer.model import HostKey, Outcome, Url
from gossamer.model.errors import CrawlError
from gossamer.model.page import PageAttributes, unpack_attributes
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
from gossamer.stores.crawl_views import (
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
    Presence,
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

AT_ONCE: Final = 500
"""How many rows are read in one trip."""
KNOWN_AT_ONCE: Final = 8_000
MOST_HOSTS: Final = 100_000
"""How many hosts are remembered."""
_LARGEST: Final = 2**63 - 1
_COUNTERS: Final = Counters.__struct_fields__

P = ParamSpec("P")
T = TypeVar("T")


Run: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Does what blocks, one thing after the other, and returns what comes of it."""


async def run_here(work: Callable[[], T], /) -> T:
    """Do something that blocks for a moment only."""
    return work()


def _awaited(
    method: Callable[Concatenate["CrawlReader", P], T],
) -> Callable[Concatenate["CrawlReader", P], Coroutine[Any, Any, T]]:
    """Make a method that blocks one to be awaited: it is carried out in the reader's `run`."""

    @wraps(method)
    async def call(reader: "CrawlReader", /, *args: P.args, **named: P.kwargs) -> T:
        return cast("T", await reader.run(lambda: method(reader, *args, **named)))

    return call


def _listed(
    method: Callable[Concatenate["CrawlReader", P], Iterator[list[T]]],
) -> Callable[Concatenate["CrawlReader", P], AsyncIterator[T]]:
    """Make a method that yields batches one that yields what is in them, each read in `run`."""

    @wraps(method)
    async def call(reader: "CrawlReader", /, *args: P.args, **named: P.kwargs) -> AsyncIterator[T]:
        batches = method(reader, *args, **named)
        while (batch := await reader.run(lambda: next(batches, None))) is not None:
            for entry in batch:
                yield entry

    return call


@contextmanager
def explained(rows: ReadableRows, where: str) -> Iterator[None]:
    """Raise a CrawlError for rows that cannot be read."""
    try:
        yield
    except rows.errors as error:
        raise CrawlError(rows.describe_error(error)) from error
    except msgspec.DecodeError as error:
        raise CrawlError(
            f"{where} is damaged: {error}; run 'gossamer verify' for everything that is wrong"
        ) from error


async def read_response(bodies: BodyReader, stored: bytes, number: int) -> StoredResponse:
    """Return what is stored of the response for a page; CrawlError if it is damaged."""
    try:
        content = read_content(await bodies.read(stored))
        body = content.body()
        return StoredResponse(body, content.wire_body(body), content.exchange())
    except CodingError as error:
        raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error


class CrawlReader:
    """Reads one crawl over its rows; whoever opened them closes them."""

    def __init__(
        self,
        rows: ReadableRows,
        presence: Callable[[], Presence] = Presence,
        *,
        where: str = "",
        name: str | None = None,
        directory: Path | None = None,
        run: Run = run_here,
    ) -> None:
        """Take the rows, and who can tell whether a process works on the crawl.

        Both are used in `run` alone.
        """
        self.rows = rows
        self.where = where
        """What the crawl is called where it is shown."""
        self.name = name
        """The name of the crawl in a shared store; None: it is the only one of its file."""
        self.directory = directory
        """Where modules have written, as far as that is known."""
        self.run = run
        self.bodies = BodyReader(self.metadata, self._read_body)
        self._presence = presence
        self._hosts: dict[int, HostRow] = {}
        """Of which the names count, which stay."""

    @_awaited
    def _read_body(self, name: str) -> bytes | None:
        return self.rows.read_body(name)

    # -- the crawl -------------------------------------------------------------------------------

    @_awaited
    def metadata(self, name: str) -> bytes | None:
        """Return what is stored of the crawl as a whole under a name."""
        return self.rows.read_metadata([name])[0]

    @_awaited
    def counts(self) -> CrawlCounts:
        """Return the counters, as they were stored with the last commit."""
        presence = self._presence()
        names = [COUNTS_NAME, REASONS_NAME, *_COUNTERS]
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
                DepthCount(depth=depth, **of_depth._asdict())
                for depth, of_depth in enumerate(stored.depths)
                if of_depth.urls
            ],
            queues=stored.queues,
            pages=stored.pages,
            **msgspec.structs.asdict(counters),
            hosts=stored.hosts,
            started_at=stored.first_attempt_at,
            last_at=stored.last_attempt_at,
            relaxing=stored.relaxing,
            running=presence.running,
            closed=presence.closed,
            led_by=presence.led_by,
            standbys=presence.standbys,
            resting_s=presence.resting_s,
        )

    @_awaited
    def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, as of about a second before the last commit."""
        now = self._now(now)
        (packed,) = self.rows.read_metadata([BUSY_HOSTS_NAME])
        busy = sorted(
            read_busy_hosts(packed), key=lambda host: (-host.waiting - host.in_progress, host.key)
        )[:limit]
        ids = [host for host in self.rows.find_hosts([host.key for host in busy]) if host]
        rows = {row.key: row for row in self.rows.read_hosts(ids)}
        return [
            HostView(
                host=row.key,
                waiting=host.waiting,
                in_progress=host.in_progress,
                pages=row.pages,
                failures=row.failed,
                next_in_s=row.next_start - now,
                delay_s=row.delay_s,
                mean_ms=1000 * row.took_s / row.requests if row.requests else 0.0,
            )
            for host in busy
            if (row := rows.get(host.key)) is not None
        ]

    @_awaited
    def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number; none if no process works on the crawl."""
        if not self._presence().running:
            return []
        (stored,) = self.rows.read_metadata([WORKERS_NAME])
        try:
            return [] if stored is None else read_workers(stored, self._now(now))
        except msgspec.DecodeError as error:
            raise CrawlError(f"the note of the workers in {self.where} is damaged") from error

    # -- lists -----------------------------------------------------------------------------------

    @_listed
    def urls(
        self, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
    ) -> Iterator[list[ListedUrl]]:
        """Yield the URLs in one of the states, in the order of discovery.

        With an outcome only those that ended so.
        """
        leased = self._leased()
        for ids in _batches(self.rows.last_url()):
            rows = [
                row
                for row in self.rows.read_urls(ids)
                if _state(row, leased) in states
                and outcome in {None, row.outcome if _is_done(row) else None}
            ]
            yield self._list(rows, leased)

    @_listed
    def pages(self) -> Iterator[list[PageRecord]]:
        """Yield the kept pages in the order of their numbers."""
        for numbers in _batches(self.rows.last_page()):
            yield self._page_records(numbers)

    @_listed
    def depths(self) -> Iterator[list[tuple[int, int]]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""
        known = self.rows.known_urls()
        while urls := [*islice(known, KNOWN_AT_ONCE)]:
            yield [(url.page, url.depth) for url in urls if url.page is not None]

    @_listed
    def aliases(self) -> Iterator[list[tuple[Url, int]]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page.

        They redirect to it, or to what repeats it, or repeat it themselves.
        """
        for ids in _batches(self.rows.last_url()):
            rows = [
                row
                for row in self.rows.read_urls(ids)
                if _is_done(row) and row.outcome in ALIAS_OUTCOMES
            ]
            targets = self._follow([row.id for row in rows])
            yield [
                (row.url, target.kept_in)
                for row, target in zip(rows, targets, strict=True)
                if target is not None and target.kept_in is not None
            ]

    # -- the log of results ----------------------------------------------------------------------

    @_awaited
    def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""
        return [
            Result(
                number=row.number,
                url_id=row.url,
                page_id=row.page,
                settled_at=row.settled_at,
                records=unpack_records(row.records),
                row=row.row,
            )
            for row in (self.rows.read_results(after, limit) if limit > 0 else ())
        ]

    @_awaited
    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return self.rows.last_result()

    # -- one page --------------------------------------------------------------------------------

    @_awaited
    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return self.rows.last_page()

    @_awaited
    def page(self, number: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""
        return next(iter(self._page_records([number])), None)

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decoded; None if it has expired."""
        response = await self.response(number)
        return None if response is None else response.body

    async def response(self, number: int) -> StoredResponse | None:
        """Return what is stored of the response for a page; None if it has expired."""
        stored = await self.run(lambda: self.rows.read_content(number))
        return None if stored is None else await read_response(self.bodies, stored, number)

    @_awaited
    def arrival(self, number: int) -> Arrival:
        """Return how the crawl came to a page."""
        pages = self._page_rows([number])
        return Arrival.over(self._path(pages[0].url, whole=False)) if pages else Arrival()

    # -- one URL ---------------------------------------------------------------------------------

    @_awaited
    def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""
        (url_id,) = self.rows.find_urls([key])
        return self._url_records(self.rows.read_urls([url_id]))[0] if url_id else None

    @_awaited
    def resolve_redirects(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended.

        If they lead in a circle, that is one of them. None: the URL is not known.
        """
        return self._follow(self.rows.find_urls(keys)) if keys else []

    @_awaited
    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return self.rows.read_attempts(url_id)

    @_awaited
    def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""
        return self._path(url_id)

    @_awaited
    def timing(self, host: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again; None if the host is not known."""
        now = self._now(now)
        (host_id,) = self.rows.find_hosts([host])
        if not host_id:
            return None
        (row,) = self.rows.read_hosts([host_id])
        ready_in_s = max(0.0, row.next_start - now)
        return HostTiming(delay_s=row.delay_s, ready_in_s=ready_in_s, failures=row.failures)

    @_awaited
    def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one.

        Before one without a score: those that were queued for scoring earlier. Before one in a
        priority queue: those of its host in the same queue with a better score, and what is
        assigned or in progress at its host.
        """
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

    # -- rows, joined ----------------------------------------------------------------------------

    def _now(self, now: float) -> float:
        """Return the time by the clock of the crawl."""
        presence = self._presence()
        return now if presence.now is None else presence.now

    def _leased(self) -> set[int]:
        return {lease.url for lease in self.rows.leases()}

    def _page_rows(self, numbers: Sequence[int]) -> list[PageRow]:
        numbers = [number for number in numbers if 0 < number <= _LARGEST]
        pages = self.rows.read_pages(numbers) if numbers else []
        return [page for page in pages if page is not None]

    def _page_records(self, numbers: Sequence[int]) -> list[PageRecord]:
        """Return those of these pages that are there."""
        pages = self._page_rows(numbers)
        ids = [*dict.fromkeys(page.url for page in pages)]
        urls = {row.id: row for row in self.rows.read_urls(ids)}
        histories = dict(zip(ids, self.rows.read_histories(ids), strict=True))
        records = []
        for page in pages:
            url = urls[page.url]
            visits = [visit for visit in histories[url.id] if visit.outcome is Outcome.FETCHED]
            values = asdict(_attributes(page)) | {
                "id": page.number,
                "url": url.url,
                "depth": url.depth,
                "outcome": Outcome.FETCHED,
                "bytes": page.size,
                "fetched_at": page.fetched_at,
                "visits": len(visits),
                "status": visits[-1].status if visits else None,
            }
            records.append(msgspec.convert(values, PageRecord))
        return records

    def _url_records(
        self, rows: Sequence[UrlRow], leased: set[int] | None = None
    ) -> list[UrlRecord]:
        if leased is None:
            leased = self._leased() if any(row.state == UrlState.QUEUED for row in rows) else set()
        if len(self._hosts) > MOST_HOSTS:
            self._hosts.clear()
        if missing := [*{row.host for row in rows} - self._hosts.keys()]:
            self._hosts |= {row.id: row for row in self.rows.read_hosts(missing)}
        return [_url_record(row, self._hosts[row.host], _state(row, leased)) for row in rows]

    def _list(self, rows: Sequence[UrlRow], leased: set[int]) -> list[ListedUrl]:
        numbers = {number for row in rows for number in (row.page, row.duplicate_of) if number}
        pages = {page.number: page for page in self._page_rows(sorted(numbers))}
        ids = sorted({pages[row.duplicate_of].url for row in rows if row.duplicate_of in pages})
        originals = {row.id: row.url for row in self.rows.read_urls(ids)} if ids else {}
        listed = []
        for row, record in zip(rows, self._url_records(rows, leased), strict=True):
            page, original = pages.get(row.page or 0), pages.get(row.duplicate_of or 0)
            size = None if page is None else page.size
            listed.append(
                ListedUrl(record, size, None if original is None else originals[original.url])
            )
        return listed

    def _path(self, url_id: int, *, whole: bool = True) -> list[Step]:
        """Return the shortest path to a URL, if not `whole` from the page before the last link."""
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

    def _follow(self, ids: Sequence[int]) -> list[UrlRecord | None]:
        """Return where the redirects from URLs ended; None for an id of 0."""
        rows: dict[int, UrlRow] = {}
        leads_to: dict[int, int] = {}
        new = [*dict.fromkeys(filter(None, ids))]
        while new:
            read = self.rows.read_urls(new)
            rows |= {row.id: row for row in read}
            moved = [row.id for row in read if _is_done(row) and row.outcome == Outcome.REDIRECTED]
            links = self.rows.read_links(moved) if moved else []
            targets = {
                url_id: unpack_links(packed)[0]
                for url_id, packed in zip(moved, links, strict=True)
                if packed
            }
            leads_to |= targets
            new = [url_id for url_id in dict.fromkeys(targets.values()) if url_id not in rows]
        ends = [_end(url_id, leads_to) for url_id in ids]
        wanted = [*dict.fromkeys(filter(None, ends))]
        records = self._url_records([rows[url_id] for url_id in wanted])
        by_id = dict(zip(wanted, records, strict=True))
        return [by_id.get(url_id) for url_id in ends]


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


def _attributes(page: PageRow) -> PageAttributes:
    try:
        return unpack_attributes(page.attributes)
    except msgspec.DecodeError as error:
        raise msgspec.DecodeError(f"the attributes of page {page.number}: {error}") from error


def _url_record(row: UrlRow, host: HostRow, state: UrlState) -> UrlRecord:
    values = asdict(row) | {
        "host": host.key,
        "domain": host.domain,
        "state": state,
        "page_id": row.page,
        "outcome": row.outcome if _is_done(row) else None,
        "detail": (row.detail if _is_done(row) else None) or "",
    }
    return msgspec.convert(values, UrlRecord)
