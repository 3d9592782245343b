"""Reading a crawl in Redis: a few commands for each question, none of which changes anything.

The counters are a consistent snapshot. A list is read in batches while others work on the crawl, so
each record is as it was when its batch was read.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gossamer.frontier import QueueTable
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.bodies.reader import BodyReader
from gossamer.stores.figures import HostView, WorkerView
from gossamer.stores.kept_answer import KeptAnswer, read_answer
from gossamer.stores.reading import (
    ALIAS_OUTCOMES,
    ANY_STATE,
    Arrival,
    CrawlCounts,
    HostTiming,
    ListedUrl,
    ReadRequest,
    Step,
)
from gossamer.stores.redis import read_hosts
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.counters import read_counters
from gossamer.stores.redis.crawl_client import (
    CrawlClient,
    ask_server,
    find_crawl_name,
    stored_crawl,
)
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import ANSWER_S, Nodes
from gossamer.stores.redis.read_counts import read_counts
from gossamer.stores.redis.read_ends import read_ends
from gossamer.stores.redis.read_path import read_path
from gossamer.stores.redis.read_records import RecordReader
from gossamer.stores.redis.read_results import read_last_result, read_results
from gossamer.stores.redis.read_workers import read_workers
from gossamer.stores.redis.records import UNREADABLE, HostRow, read_found, read_host
from gossamer.stores.redis.unpack import UnpackedPage, UnpackedUrl, unpack_page, unpack_url
from gossamer.stores.results import Result
from gossamer.stores.rules import StoreRules
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord, UrlState

AT_ONCE = 500
"""How many records are read with one command."""


@asynccontextmanager
async def open_redis_reader(request: ReadRequest) -> AsyncIterator["RedisReader"]:
    """Connect to a crawl in Redis to read it; nobody is disturbed."""
    address = parse_address(request.address.url)
    name = await ask_server(address, lambda nodes: find_crawl_name(nodes, request.name))
    async with reading_at(Nodes(address), address, name, request.directory) as reader:
        yield reader


def remembering_reader(
    request: ReadRequest,
) -> Callable[[], AbstractAsyncContextManager["RedisReader"]]:
    """Return what connects to a crawl, at any server that it has learnt of by then."""
    assert request.name is not None
    address = parse_address(request.address.url)
    return partial(reading_at, Nodes(address), address, request.name, request.directory)


@asynccontextmanager
async def reading_at(
    nodes: Nodes, address: RedisAddress, name: str, directory: Path | None = None
) -> AsyncIterator["RedisReader"]:
    """Connect to a crawl at one of the servers that are known, to read it."""
    patient = explained(address, patience_s=ANSWER_S)
    async with patient, stored_crawl(nodes, name) as (rules, client):
        where = f"the crawl {name} in {address}"
        yield RedisReader(client, rules, where=where, directory=directory)


class RedisReader:
    """Reads one crawl, over a connection of its own."""

    def __init__(
        self, crawl: CrawlClient, rules: StoreRules, *, where: str, directory: Path | None
    ) -> None:
        self.crawl = crawl
        self.rules = rules
        self.where = where
        self.directory = directory
        self.name: str | None = crawl.crawl
        self.bodies = BodyReader(self.note)
        self._queue_of = QueueTable(rules.scheduler.queues).queue_of

    # -- the crawl -------------------------------------------------------------------------------

    async def note(self, name: str) -> bytes | None:
        """Return a note that is kept with the crawl."""
        found = await self.crawl.client.hget(self.crawl.key("notes"), name)
        return found if isinstance(found, bytes) else None

    async def counts(self) -> CrawlCounts:
        """Return the counters."""
        try:
            return await read_counts(self.crawl, self.rules.scheduler.lease_s)
        except ValueError as error:
            self._records().complain(f"its counters cannot be read ({error})")

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do; the server's clock counts, not `now`."""
        numbers = await read_hosts.find_busy_hosts(self.crawl, self.rules.scheduler.queues)
        rows = await self._records().read("hosts", sorted(numbers), read_host)
        clock = await read_hosts.read_clock(self.crawl, self.rules)
        busy = [one for one in map(clock.view, rows.values()) if one.waiting + one.in_progress]
        busy.sort(key=lambda one: (-one.waiting - one.in_progress, one.host))
        return busy[:limit]

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number; the server's clock counts, not `now`."""
        return await read_workers(self.crawl, self.rules.scheduler.lease_s)

    # -- lists -----------------------------------------------------------------------------------

    async def urls(
        self, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
    ) -> AsyncIterator[ListedUrl]:
        """Yield the URLs in one of the states, in the order of discovery."""
        records = self._records()
        for ids in _batches(await self._counter("urls")):
            found = await records.read("urls", ids, unpack_url)
            rows = {
                url_id: one
                for url_id, one in found.items()
                if one.row.state in states and outcome in (None, one.outcome)
            }
            names = {one.row.host for one in rows.values()}
            hosts = await records.read("hosts", sorted(names), read_host, needed=True)
            numbers = {one.row.page or one.row.duplicate_of for one in rows.values()} - {0}
            pages = await records.read("pages", sorted(numbers), unpack_page)
            originals = await self._originals(records, rows.values(), pages)
            for url_id, one in rows.items():
                page = pages.get(one.row.page)
                if one.row.host in hosts:
                    record = self._record(url_id, one, hosts[one.row.host])
                    original = originals.get(one.row.duplicate_of)
                    yield ListedUrl(record, page.note.size if page else None, original)
        records.check()

    async def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        records = self._records()
        for numbers in _batches(await self.last_page()):
            pages = await records.read("pages", numbers, unpack_page)
            ids = sorted({page.url_id for page in pages.values()})
            rows = await records.read("urls", ids, unpack_url, needed=True)
            for number, page in pages.items():
                if page.url_id in rows:
                    yield page.record(number, rows[page.url_id])
        records.check()

    async def depths(self) -> AsyncIterator[tuple[int, int]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""
        async for page in self.pages():
            yield page.id, page.depth

    async def aliases(self) -> AsyncIterator[tuple[Url, int]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page."""
        records = self._records()
        for ids in _batches(await self._counter("urls")):
            found = await records.read("urls", ids, unpack_url)
            urls = {one: url for one, url in found.items() if url.outcome in ALIAS_OUTCOMES}
            ends = await read_ends(records, [*urls], self._record)
            for url, end in zip(urls.values(), ends, strict=True):
                if end is not None and end.kept_in is not None:
                    yield Url(url.row.url), end.kept_in
        records.check()

    # -- the log of results ----------------------------------------------------------------------

    async def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""
        try:
            return await read_results(self.crawl, after, limit)
        except UNREADABLE as error:
            self._records().complain(f"its log of results cannot be read ({error})")

    async def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return await read_last_result(self.crawl)

    # -- one page --------------------------------------------------------------------------------

    async def last_page(self) -> int:
        """Return the largest number that was given to a page; 0 when there is none."""
        return await self._counter("page")

    async def page(self, number: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""
        records = self._records()
        page = await records.read_one("pages", number, unpack_page)
        if page is None:
            return None
        url = await records.read_needed("urls", page.url_id, unpack_url)
        return page.record(number, url)

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decoded; None if it has expired."""
        answer = await self.answer(number)
        return None if answer is None else answer.body

    async def answer(self, number: int) -> KeptAnswer | None:
        """Return what is kept of the answer for a page; None if it has expired."""
        stored = await self.crawl.client.get(f"{self.crawl.key('content')}{number}")
        return await read_answer(self.bodies, stored, number) if isinstance(stored, bytes) else None

    async def arrival(self, number: int) -> Arrival:
        """Return how the crawl came to a page."""
        records = self._records()
        page = await records.read_one("pages", number, unpack_page)
        if page is None:
            return Arrival()
        return Arrival.over(await read_path(records, page.url_id, whole=False))

    # -- one URL ---------------------------------------------------------------------------------

    async def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""
        found: Any = await self.crawl.client.hget(self.crawl.key("known"), key)
        if found is None:
            return None
        url_id, records = read_found(found), self._records()
        row = await records.read_needed("urls", url_id, unpack_url)
        host = await records.read_needed("hosts", row.row.host, read_host)
        return self._record(url_id, row, host)

    async def ends(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended."""
        if not keys:
            return []
        found: Any = await self.crawl.client.hmget(self.crawl.key("known"), [*keys])
        ids = [read_found(one) if one else 0 for one in found]
        return await read_ends(self._records(), ids, self._record)

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        row = await self._records().read_one("urls", url_id, unpack_url)
        return row.attempts if row else []

    async def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""
        return await read_path(self._records(), url_id)

    async def timing(self, host: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again, by the server's clock; None: it is not known."""
        row = await self._host(await read_hosts.host_number(self.crawl, host))
        if row is None:
            return None
        clock = await read_hosts.read_clock(self.crawl, self.rules)
        return clock.timing(row)

    async def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one."""
        if url.state is UrlState.UNSCORED:
            rank = await self.crawl.client.zrank(self.crawl.key("url_queue"), str(url.id))
            return rank if isinstance(rank, int) else 0
        number = await read_hosts.host_number(self.crawl, url.host)
        row = await self._host(number)
        in_progress = row.in_progress if row else 0
        return in_progress + await read_hosts.count_ahead(self.crawl, self.rules, url, number)

    # -- inside ----------------------------------------------------------------------------------

    async def _originals(
        self,
        records: RecordReader,
        urls: Iterable[UnpackedUrl],
        pages: Mapping[int, UnpackedPage],
    ) -> dict[int, Url]:
        """Return the URLs of the pages that these URLs repeat, by number."""
        repeated = {one.row.duplicate_of for one in urls} & pages.keys()
        ids = {number: pages[number].url_id for number in repeated}
        found = await records.read("urls", sorted(set(ids.values())), unpack_url)
        return {number: Url(found[one].row.url) for number, one in ids.items() if one in found}

    def _records(self) -> RecordReader:
        return RecordReader(self.crawl, self.where)

    async def _host(self, number: int) -> HostRow | None:
        return await self._records().read_one("hosts", number, read_host)

    async def _counter(self, name: str) -> int:
        try:
            return int((await read_counters(self.crawl))[name])
        except ValueError as error:
            self._records().complain(f"its counters cannot be read ({error})")

    def _record(self, url_id: int, found: UnpackedUrl, host: HostRow) -> UrlRecord:
        return found.record(url_id, host, self._queue_of(found.row.score))


def _batches(last: int) -> Iterator[range]:
    """Yield the numbers from 1 to the last, some at a time."""
    for first in range(1, last + 1, AT_ONCE):
        yield range(first, min(first + AT_ONCE, last + 1))
