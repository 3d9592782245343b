"""Reading a crawl in Redis: a few commands for each question, none of which changes anything.

The counters are a consistent snapshot. A list is read in batches while others work on the crawl, so
each record is as it was when its batch was read.
"""

from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import zstandard

from gossamer.errors import CrawlError
from gossamer.frontier import QueueTable
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import (
    Attempt,
    HostView,
    PageRecord,
    UrlRecord,
    UrlState,
    WorkerView,
)
from gossamer.stores.reading import (
    ANY_STATE,
    CrawlCounts,
    HostTiming,
    ListedUrl,
    ReadRequest,
    Step,
)
from gossamer.stores.redis import read_hosts
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.crawl_client import (
    CrawlClient,
    ask_server,
    find_crawl_name,
    stored_crawl,
)
from gossamer.stores.redis.no_answer import explained
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.read_counts import read_counts
from gossamer.stores.redis.read_records import RecordReader
from gossamer.stores.redis.read_workers import read_workers
from gossamer.stores.redis.records import REDIRECT, HostRow, UrlRow, read_host
from gossamer.stores.redis.unpack import UnpackedUrl, unpack_page, unpack_url
from gossamer.stores.rules import StoreRules

AT_ONCE = 500
"""How many records are read with one command."""


@asynccontextmanager
async def open_redis_reader(request: ReadRequest) -> AsyncIterator["RedisReader"]:
    """Connect to a crawl in Redis to read it; nobody is disturbed."""
    address = parse_address(request.address.url)
    name = await ask_server(address, lambda nodes: find_crawl_name(nodes, request.name))
    async with explained(address), stored_crawl(Nodes(address), name) as (rules, client):
        where = f"the crawl {name} in {address}"
        yield RedisReader(client, rules, where=where, directory=request.directory)


class RedisReader:
    """Reads one crawl, over a connection of its own."""

    def __init__(
        self, crawl: CrawlClient, rules: StoreRules, *, where: str, directory: Path | None
    ) -> None:
        self.crawl = crawl
        self.rules = rules
        self.where = where
        self.directory = directory
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
            numbers = [one.row.page for one in rows.values() if one.row.page]
            pages = await records.read("pages", numbers, unpack_page)
            for url_id, one in rows.items():
                page = pages.get(one.row.page)
                if one.row.host in hosts:
                    record = self._record(url_id, one, hosts[one.row.host])
                    yield ListedUrl(record, page.note.size if page else None)
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
                    yield page.record(number, rows[page.url_id].row)
        records.check()

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
        return page.record(number, url.row)

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        packed = await self.crawl.client.get(f"{self.crawl.key('content')}{number}")
        if not isinstance(packed, bytes):
            return None
        try:
            return zstandard.decompress(packed)
        except zstandard.ZstdError as error:
            raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error

    # -- one URL ---------------------------------------------------------------------------------

    async def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""
        found = await self.crawl.client.hget(self.crawl.key("known"), key)
        if found is None:
            return None
        url_id, records = int(found), self._records()
        row = await records.read_needed("urls", url_id, unpack_url)
        host = await records.read_needed("hosts", row.row.host, read_host)
        return self._record(url_id, row, host)

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        row = await self._records().read_one("urls", url_id, unpack_url)
        return row.attempts if row else []

    async def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""
        records = self._records()
        passed: dict[int, UrlRow] = {}
        at = url_id
        while at and at not in passed:
            found = await records.read_one("urls", at, unpack_url)
            if found is None:
                break
            passed[at] = found.row
            at = found.row.parent
        return [_step(row, passed) for row in reversed(passed.values())]

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

    def _records(self) -> RecordReader:
        return RecordReader(self.crawl, self.where)

    async def _host(self, number: int) -> HostRow | None:
        return await self._records().read_one("hosts", number, read_host)

    async def _counter(self, name: str) -> int:
        found = await self.crawl.client.hget(self.crawl.key("counts"), name) or b"0"
        try:
            return int(found)
        except ValueError as error:
            self._records().complain(f"its counters cannot be read ({error})")

    def _record(self, url_id: int, found: UnpackedUrl, host: HostRow) -> UrlRecord:
        return found.record(url_id, host, self._queue_of(found.row.score))


def _batches(last: int) -> Iterator[range]:
    """Yield the numbers from 1 to the last, some at a time."""
    for first in range(1, last + 1, AT_ONCE):
        yield range(first, min(first + AT_ONCE, last + 1))


def _step(row: UrlRow, path: dict[int, UrlRow]) -> Step:
    parent = path.get(row.parent)
    over: Literal["link", "redirect"] = "redirect" if parent and parent.flags & REDIRECT else "link"
    return Step(Url(row.url), row.depth, over if row.parent else "seed")
