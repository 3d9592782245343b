"""Reading the rows of a crawl in Redis, over a connection of its own.

Whoever writes them as well reads what is not on the server yet where it keeps that (`_pending`).
"""

import heapq
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from gossamer.model import HostKey
from gossamer.stores.redis import row_loading
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import ERRORS, BlockingLink, Word, complaint
from gossamer.stores.redis.lead import LEAD_S, LeadHolder, ServerForgotError, read_holder
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.row_changes import (
    PackedChanges,
    RowNumbers,
    decode_page,
    decode_url,
    read_attempt,
    read_sketch,
)
from gossamer.stores.redis.row_format import RowFormat
from gossamer.stores.redis.row_keys import RowKeys, member, number_of
from gossamer.stores.redis.row_queues import read_items
from gossamer.stores.rows import (
    DomainRow,
    HostRow,
    Item,
    KnownPage,
    KnownUrl,
    LeaseRow,
    PageRow,
    RelaxingUrl,
    ResultRow,
    SketchRow,
    UrlRow,
)
from gossamer.stores.url_record import Attempt

log = logging.getLogger("gossamer.store")

RESULTS_AT_ONCE: Final = 1_000
"""From how many results on the server is asked first how many there are."""
_BEFORE_ALL: Final = (float("-inf"), 0)
_EVERY: Final = 2**31
_decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
_decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
_decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
_decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode


class RedisRowReads:
    """The rows of one crawl, to be read, whoever has its lead."""

    def __init__(
        self,
        address: RedisAddress,
        crawl: str,
        *,
        tell: Callable[[str], None] = log.warning,
        clock: Callable[[], float] = time.monotonic,
        nodes: Nodes | None = None,
    ) -> None:
        """Take where it is, and the nodes of its server that are known, if any are.

        `tell` takes what is to be said of a server that is away, and `clock` says how long it was
        waited for.
        """
        self.address = address
        self.crawl = crawl
        self._where = f"the crawl {crawl} in {address}"
        self._keys = RowKeys(crawl)
        self._format = RowFormat(self._keys, crawl, self._where)
        self._tell = tell
        self._reading = BlockingLink(address, self._keys.prefix.decode(), self._say, clock, nodes)
        self._pending: PackedChanges | None = None
        """What was written and is not on the server yet, or has just got there."""

    def open(self) -> None:
        """Connect to a crawl that is there; a CrawlError says why that does not go."""
        try:
            self._reading.open()
            self._format.require(self._reading)
        except BaseException:
            self.close()
            raise

    @property
    def where(self) -> str:
        """What the crawl is called among people."""
        return self._where

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database."""
        return ERRORS

    def complaint(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        return complaint(error)

    def _say(self, words: str) -> None:
        """Tell that the server is away."""
        self._tell(words)

    def holder(self) -> LeadHolder | None:
        """Return who has the lead, and since when; None: nobody."""
        (stored,) = self._reading.ask(("GET", self._keys.lead))
        return read_holder(stored)

    def _last(self) -> RowNumbers:
        """Return how far the numbers of rows go, as the server has it now."""
        (stored,) = self._reading.ask(("HGETALL", self._keys.numbers))
        told = {name.decode(): int(value) for name, value in pairs(stored)}
        return msgspec.convert(told, RowNumbers)

    def standbys(self) -> list[LeadHolder]:
        """Return the processes that stand by."""
        stored, now = row_loading.read_fields(self._reading, self._keys.standby), self.server_time()
        found = [msgspec.json.decode(one, type=tuple[LeadHolder, float]) for one in stored.values()]
        return [one for one, said_at in found if said_at > now - LEAD_S]

    def server_time(self) -> float:
        """Return the time of the server, which is that of the crawl."""
        ((seconds, micros),) = self._reading.ask(("TIME",))
        return int(seconds) + int(micros) / 1e6

    def close(self) -> None:
        """Let go of the connection."""
        self._reading.close()

    # -- everything, when a crawl is opened ------------------------------------------------------

    def metadata(self) -> dict[str, bytes]:
        """Return what is kept with the crawl as a whole, by name."""
        fields = row_loading.read_fields(self._all_written(), self._keys.metadata)
        return {name.decode(): value for name, value in fields.items()}

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        return row_loading.load_urls(self._all_written(), self._keys, self._last().url)

    def known_pages(self) -> Iterator[KnownPage]:
        """Yield what memory holds of every page, in the order of numbers."""
        return row_loading.load_pages(self._all_written(), self._keys, self._last().page)

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        return row_loading.load_bands(self._all_written(), self._keys, self._last().page, since)

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids, which are without gaps."""
        return row_loading.load_hosts(self._all_written(), self._keys, self._last().host)

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""
        fields = row_loading.read_fields(self._all_written(), self._keys.domains)
        return map(_decode_domain, fields.values())

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""
        fields = row_loading.read_fields(self._all_written(), self._keys.relaxing)
        return map(_decode_relaxing, fields.values())

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""
        fields = row_loading.read_fields(self._all_written(), self._keys.leases)
        return map(_decode_lease, fields.values())

    def last_url(self) -> int:
        """Return the id of the last URL; 0 when there is none."""
        return self._last().url

    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return self._last().page

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return self._last().result

    def _all_written(self) -> BlockingLink:
        """Return the connection that reads, when there is nothing that it cannot see."""
        assert self._pending is None, "everything is read when a crawl is opened, or after commits"
        return self._reading

    # -- which there are -------------------------------------------------------------------------

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""
        pending = self._pending
        newer = {} if pending is None else pending.known
        return [int(one or 0) for one in self._fields(self._keys.known, keys, newer)]

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""
        pending = self._pending
        newer = {} if pending is None else pending.host_ids
        return [int(one or 0) for one in self._fields(self._keys.host_ids, keys, newer)]

    def count_queued(self, host: int, queue: int, before: Item) -> int:
        """Return how many URLs stored in a priority queue of a host come before one in it."""
        key, pending = self._keys.queued(host, queue), self._pending
        if pending is None:
            (place,) = self._reading.ask(("ZRANK", key, member(before[1])))
            return int(place or 0)
        return sum(item < before for item in self.read_queue(host, queue, _BEFORE_ALL, _EVERY))

    def count_unscored(self, before: int) -> int:
        """Return how many URLs with a smaller id wait for their score."""
        if before <= 0:
            return 0
        changed = {} if self._pending is None else self._pending.unscored
        asked = [one for one in changed if one < before]
        bits: list[Word] = ["BITFIELD_RO", self._keys.unscored]
        for one in asked:
            bits += ("GET", "u1", f"#{one}")
        count, stored = self._reading.ask(
            ("BITCOUNT", self._keys.unscored, 0, before - 1, "BIT"), bits
        )
        there: int = count - sum(stored)
        return there + sum(changed[one] for one in asked)

    # -- single rows -----------------------------------------------------------------------------

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is kept under these names, a consistent snapshot; None: nothing is."""
        pending = self._pending
        newer = {} if pending is None else pending.metadata
        return self._fields(self._keys.metadata, names, newer)

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        pending = self._pending
        if pending is None:
            return [decode_url(packed) for packed in self._stored(self._keys.urls, ids)]
        found = self._fields(self._keys.urls, ids, pending.urls)
        return [
            pending.changed_url(one, decode_url(self._there(packed)))
            for one, packed in zip(ids, found, strict=True)
        ]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        pending = self._pending
        newer = {} if pending is None else pending.links
        return [links or b"" for links in self._fields(self._keys.links, ids, newer)]

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""
        key, pending = self._keys.queued(host, queue), self._pending
        if pending is None:
            return read_items(self._reading, key, after, limit)
        new = [item for item in pending.queued.get((host, queue), ()) if item > after]
        for row in self.read_urls(pending.requeued):
            is_there = (row.host, row.queue) == (host, queue)
            if is_there and row.score is not None and (row.score, row.id) > after:
                new.append((row.score, row.id))
        items: list[Item] = []
        while len(items) < limit:
            read = read_items(self._reading, key, after, limit)
            items += [item for item in read if not pending.may_move(item[1])]
            if len(read) < limit:
                break
            after = read[-1]
        return heapq.nsmallest(limit, items + new)

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return self.read_histories([url_id])[0]

    def read_histories(self, ids: Sequence[int]) -> list[list[Attempt]]:
        """Return the histories of known URLs, in this order."""
        pending = self._pending
        rows = self.read_urls(ids)
        names = [f"{row.id}:{number}" for row in rows for number in range(row.attempts)]
        newer = {} if pending is None else pending.attempts
        found = iter(self._fields(self._keys.attempts, names, newer))
        return [
            [read_attempt(self._there(packed)) for packed in islice(found, row.attempts)]
            for row in rows
        ]

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        pending = self._pending
        rows = self._fields(self._keys.hosts, ids, {} if pending is None else pending.hosts)
        newer = {} if pending is None else pending.host_urls
        counts = self._fields(self._keys.host_urls, ids, newer)
        return [
            row_loading.read_host(self._there(packed), count)
            for packed, count in zip(rows, counts, strict=True)
        ]

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""
        return self.read_pages([number])[0]

    def read_pages(self, numbers: Sequence[int]) -> list[PageRow | None]:
        """Return pages, in this order; None for a number that no page has."""
        pending = self._pending
        found = self._fields(self._keys.pages, numbers, {} if pending is None else pending.pages)
        pages = [None if packed is None else decode_page(packed) for packed in found]
        if pending is not None:
            pages = [page and pending.changed_page(page) for page in pages]
        return pages

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""
        pending = self._pending
        gone = dict.fromkeys(() if pending is None else pending.dropped)
        bands = self._fields(
            self._keys.bands, pages, gone if pending is None else gone | pending.bands
        )
        samples = self._fields(
            self._keys.samples, pages, gone if pending is None else gone | pending.samples
        )
        return [*map(read_sketch, pages, bands, samples)]

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""
        pending = self._pending
        if pending is not None:
            if page in pending.contents:
                return pending.contents[page][1]
            if page in pending.dropped:
                return None
        content: bytes | None
        (content,) = self._reading.ask(("HGET", self._keys.contents, page))
        return content

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""
        pending = self._pending
        changed = set() if pending is None else {*pending.contents, *pending.dropped}
        wanted = limit + len(changed)
        (stored,) = self._reading.ask(
            (
                *("ZRANGE", self._keys.kept, "-inf", repr(before), "BYSCORE"),
                *("LIMIT", 0, wanted, "WITHSCORES"),
            )
        )
        pages = [(float(score), number_of(packed)) for packed, score in pairs(stored)]
        pages = [page for page in pages if page[1] not in changed]
        if pending is not None:
            contents = pending.contents.items()
            pages += [(at, number) for number, (at, _) in contents if at <= before]
        return [number for _, number in heapq.nsmallest(limit, pages)]

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number, in their order."""
        first = max(after, 0) + 1
        while True:
            end = first + limit
            if limit > RESULTS_AT_ONCE:
                end = min(end, self._last().result + 1)
            found = self._results(range(first, end))
            if found or end > self._last().result:
                return found
            first = end

    def _results(self, numbers: Sequence[int]) -> list[ResultRow]:
        keys, pending = self._keys, self._pending
        results = self._fields(keys.results, numbers, {} if pending is None else pending.results)
        rows = self._fields(keys.result_rows, numbers, {} if pending is None else pending.rows)
        found = []
        for packed, row in zip(results, rows, strict=True):
            if packed is not None:
                result = _decode_result(packed)
                result.row = row
                found.append(result if pending is None else pending.changed_result(result))
        return found

    def _stored(self, key: bytes, fields: Sequence[int]) -> list[bytes]:
        """Return fields of a hash that are there."""
        return [self._there(packed) for packed in self._fields(key, fields, {})]

    def _fields(self, key: bytes, fields: Sequence[Any], newer: dict[Any, Any]) -> list[Any]:
        """Return fields of a hash, or what is newer than they are; None for what is not there."""
        asked = [one for one in fields if one not in newer] if newer else fields
        if not asked:
            return [newer[one] for one in fields]
        (stored,) = self._reading.ask(("HMGET", key, *asked))
        if not newer:
            return [*stored]
        found = dict(zip(asked, stored, strict=True))
        return [newer[one] if one in newer else found[one] for one in fields]

    def _there(self, packed: bytes | None) -> bytes:
        if packed is None:
            raise ServerForgotError(
                f"the store has lost a row of {self._where}: run the same command again to "
                "continue from what it has"
            )
        return packed


def pairs(stored: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield what the server says of names and values, or of members and scores."""
    return zip(stored[::2], stored[1::2], strict=True)
