"""Reading the rows of a crawl in Redis, over a connection of its own.

Whoever writes them as well reads what is not on the server yet where it keeps that (`_pending`).
"""

import heapq
import logging
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from gossamer.model import HostKey
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import ERRORS, BlockingLink, Command, Nodes, Word, complaint
from gossamer.stores.redis.crawls import require_crawl
from gossamer.stores.redis.lead import LEAD_S, LeadHolder, ServerForgotError, read_holder
from gossamer.stores.redis.row_changes import (
    FETCHED_AT,
    NO_QUEUE,
    PackedChanges,
    RowNumbers,
    decode_page,
    decode_url,
    queue_where,
    read_attempt,
    read_sketch,
)
from gossamer.stores.redis.row_keys import RowKeys, member, number_of
from gossamer.stores.rows import (
    Changes,
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
EQUALS: Final = 16
"""How many of the same score are read in passing."""
_BEFORE_ALL: Final = (float("-inf"), 0)
_EVERY: Final = 2**31
_decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
_decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
_decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
_decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode


class ReadableRedisRows:
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
        self.keys = RowKeys(crawl)
        self.where = self.keys.describe(address)
        """What the crawl is called among people."""
        self._tell = tell
        self._reading = BlockingLink(address, self.keys.prefix.decode(), self._say, clock, nodes)
        self._nothing = PackedChanges(Changes(), self.keys, array("b"), RowNumbers())
        self._pending = self._nothing
        """What was written and is not on the server yet, or has just got there."""

    def open(self) -> None:
        """Connect to a crawl that is there; a CrawlError says why that does not go."""
        try:
            self._reading.open()
            require_crawl(self._reading, self.keys)
        except BaseException:
            self.close()
            raise

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database."""
        return ERRORS

    def describe_error(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        return complaint(error)

    def _say(self, words: str) -> None:
        """Tell that the server is away."""
        self._tell(words)

    def holder(self) -> LeadHolder | None:
        """Return who has the lead, and since when; None: nobody."""
        (stored,) = self._reading.ask(("GET", self.keys.lead))
        return read_holder(stored)

    def _last(self) -> RowNumbers:
        """Return how far the numbers of rows go, as the server has it now."""
        (stored,) = self._reading.ask(("HGETALL", self.keys.numbers))
        told = {name.decode(): int(value) for name, value in pairs(stored)}
        return msgspec.convert(told, RowNumbers)

    def standbys(self) -> list[LeadHolder]:
        """Return the processes that stand by."""
        stored, now = read_fields(self._reading, self.keys.standby), self.server_time()
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
        fields = read_fields(self._all_written(), self.keys.metadata)
        return {name.decode(): value for name, value in fields.items()}

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        return load_urls(self._all_written(), self.keys, self._last().url)

    def known_pages(self) -> Iterator[KnownPage]:
        """Yield what memory holds of every page, in the order of numbers."""
        return load_pages(self._all_written(), self.keys, self._last().page)

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        return load_bands(self._all_written(), self.keys, self._last().page, since)

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids, which are without gaps."""
        return load_hosts(self._all_written(), self.keys, self._last().host)

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""
        fields = read_fields(self._all_written(), self.keys.domains)
        return map(_decode_domain, fields.values())

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""
        fields = read_fields(self._all_written(), self.keys.relaxing)
        return map(_decode_relaxing, fields.values())

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""
        fields = read_fields(self._all_written(), self.keys.leases)
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
        assert self._pending is self._nothing, (
            "everything is read when a crawl is opened, or after commits"
        )
        return self._reading

    # -- which there are -------------------------------------------------------------------------

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""
        newer = self._pending.known
        return [int(one or 0) for one in self._fields(self.keys.known, keys, newer)]

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""
        newer = self._pending.host_ids
        return [int(one or 0) for one in self._fields(self.keys.host_ids, keys, newer)]

    def count_queued(self, host: int, queue: int, before: Item) -> int:
        """Return how many URLs stored in a priority queue of a host come before one in it."""
        if self._pending is self._nothing:
            (place,) = self._reading.ask(
                ("ZRANK", self.keys.queued(host, queue), member(before[1]))
            )
            return int(place or 0)
        return sum(item < before for item in self.read_queue(host, queue, _BEFORE_ALL, _EVERY))

    def count_unscored(self, before: int) -> int:
        """Return how many URLs with a smaller id wait for their score."""
        if before <= 0:
            return 0
        changed = {one: state for one, state in self._pending.unscored.items() if one < before}
        bits: list[Word] = ["BITFIELD_RO", self.keys.unscored]
        for one in changed:
            bits += ("GET", "u1", f"#{one}")
        count, stored = self._reading.ask(
            ("BITCOUNT", self.keys.unscored, 0, before - 1, "BIT"), bits
        )
        unchanged: int = count - sum(stored)
        return unchanged + sum(changed.values())

    # -- single rows -----------------------------------------------------------------------------

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is kept under these names, a consistent snapshot; None: nothing is."""
        newer = self._pending.metadata
        return self._fields(self.keys.metadata, names, newer)

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        pending = self._pending
        stored = self._fields(self.keys.urls, ids, pending.urls)
        return [
            pending.changed_url(one, decode_url(self._there(packed)))
            for one, packed in zip(ids, stored, strict=True)
        ]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        newer = self._pending.links
        return [links or b"" for links in self._fields(self.keys.links, ids, newer)]

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""
        key, pending = self.keys.queued(host, queue), self._pending
        new = [item for item in pending.queued.get((host, queue), ()) if item > after]
        for row in self.read_urls(pending.requeued):
            is_there = (row.host, row.queue) == (host, queue)
            if is_there and row.score is not None and (row.score, row.id) > after:
                new.append((row.score, row.id))
        items: list[Item] = []
        while len(items) < limit:
            stored = self._read_items(key, after, limit)
            items += [item for item in stored if not pending.may_move(item[1])]
            if len(stored) < limit:
                break
            after = stored[-1]
        return heapq.nsmallest(limit, items + new) if new else items[:limit]

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        return self.read_histories([url_id])[0]

    def read_histories(self, ids: Sequence[int]) -> list[list[Attempt]]:
        """Return the histories of known URLs, in this order."""
        rows = self.read_urls(ids)
        names = [f"{row.id}:{number}" for row in rows for number in range(row.attempts)]
        attempts = iter(self._fields(self.keys.attempts, names, self._pending.attempts))
        return [
            [read_attempt(self._there(packed)) for packed in islice(attempts, row.attempts)]
            for row in rows
        ]

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        rows = self._fields(self.keys.hosts, ids, self._pending.hosts)
        counts = self._fields(self.keys.host_urls, ids, self._pending.host_urls)
        return [
            read_host(self._there(packed), count)
            for packed, count in zip(rows, counts, strict=True)
        ]

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""
        return self.read_pages([number])[0]

    def read_pages(self, numbers: Sequence[int]) -> list[PageRow | None]:
        """Return pages, in this order; None for a number that no page has."""
        pending = self._pending
        return [
            None if packed is None else pending.changed_page(decode_page(packed))
            for packed in self._fields(self.keys.pages, numbers, pending.pages)
        ]

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""
        keys, pending = self.keys, self._pending
        bands = self._fields(keys.bands, pages, pending.bands)
        samples = self._fields(keys.samples, pages, pending.samples)
        return [*map(read_sketch, pages, bands, samples)]

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""
        pending = self._pending
        if page in pending.contents:
            return pending.contents[page][1]
        if page in pending.dropped:
            return None
        content: bytes | None
        (content,) = self._reading.ask(("HGET", self.keys.contents, page))
        return content

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""
        pending = self._pending
        changed = {*pending.contents, *pending.dropped}
        limits = ("BYSCORE", "LIMIT", 0, limit + len(changed), "WITHSCORES")
        (stored,) = self._reading.ask(("ZRANGE", self.keys.kept, "-inf", repr(before), *limits))
        pages = [item for item in scored(stored) if item[1] not in changed]
        pages += [(at, page) for page, (at, _) in pending.contents.items() if at <= before]
        return [page for _, page in heapq.nsmallest(limit, pages)]

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number, in their order."""
        first = max(after, 0) + 1
        while True:
            end = first + limit
            if limit > RESULTS_AT_ONCE:
                end = min(end, self._last().result + 1)
            results = self._results(range(first, end))
            if results or end > self._last().result:
                return results
            first = end

    def _results(self, numbers: Sequence[int]) -> list[ResultRow]:
        pending, results = self._pending, []
        stored = self._fields(self.keys.results, numbers, pending.results)
        rows = self._fields(self.keys.result_rows, numbers, pending.rows)
        for packed, row in zip(stored, rows, strict=True):
            if packed is not None:
                result = _decode_result(packed)
                result.row = row
                results.append(pending.changed_result(result))
        return results

    def _fields(self, key: bytes, fields: Sequence[Any], newer: dict[Any, Any]) -> list[Any]:
        """Return fields of a hash, or what is newer than they are; None for what is not there."""
        asked = [field for field in fields if field not in newer] if newer else fields
        if not asked:
            return [newer[field] for field in fields]
        (stored,) = self._reading.ask(("HMGET", key, *asked))
        if not newer:
            return [*stored]
        older = dict(zip(asked, stored, strict=True))
        return [newer[field] if field in newer else older[field] for field in fields]

    def _there(self, packed: bytes | None) -> bytes:
        if packed is None:
            raise ServerForgotError(
                f"the store has lost a row of {self.where}: run the same command again to "
                "continue from what it has"
            )
        return packed

    # -- a priority queue from any place ---------------------------------------------------------

    def _read_items(self, key: bytes, after: Item, limit: int) -> list[Item]:
        """Return the first items on the server that come after one, which may be there or not.

        The server finds a score in a sorted set, and the place of a member; it cannot find a member
        that is not there among others of its score, which are in the order of their numbers. So
        what is read begins at the first of that score, and where that is far too early, the place
        is searched for.
        """
        wanted = limit + EQUALS
        by_score = ("+inf", "BYSCORE", "LIMIT", 0, wanted, "WITHSCORES")
        (stored,) = self._reading.ask(("ZRANGE", key, repr(after[0]), *by_score))
        items = [item for item in scored(stored) if item > after]
        if len(items) >= limit or len(stored) < 2 * wanted:
            return items[:limit]
        return self._reading.patiently(lambda: self._read_by_place(key, after, limit))

    def _read_by_place(self, key: bytes, after: Item, limit: int) -> list[Item]:
        """Read by places, which change with every write: so nothing may be written meanwhile."""
        link = self._reading
        while True:
            link.send(("WATCH", key))
            first = self._place_after(key, after)
            read: Command = ("ZRANGE", key, first, first + limit - 1, "WITHSCORES")
            if (answers := link.execute(read, same=True)) is not None:
                return scored(answers[0])

    def _place_after(self, key: bytes, after: Item) -> int:
        """Return the place of the first item that comes after one."""
        score, packed = repr(after[0]), member(after[1])
        stored, place, low, high = self._reading.send(
            ("ZSCORE", key, packed),
            ("ZRANK", key, packed),
            ("ZCOUNT", key, "-inf", f"({score}"),
            ("ZCOUNT", key, "-inf", score),
            same=True,
        )
        if stored is not None and float(stored) == after[0]:
            return int(place) + 1
        while low < high:
            middle = (low + high) // 2
            ((packed,),) = self._reading.send(("ZRANGE", key, middle, middle), same=True)
            if number_of(packed) > after[1]:
                high = middle
            else:
                low = middle + 1
        return int(low)


def pairs(stored: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield what the server says of names and values, or of members and scores."""
    return zip(stored[::2], stored[1::2], strict=True)


def scored(stored: list[bytes]) -> list[Item]:
    """Return what the server says of members that are numbers, and of their scores."""
    return [(float(score), number_of(packed)) for packed, score in pairs(stored)]


AT_ONCE: Final = 8_000
"""How many rows are read in one round trip; divisible by 8."""


class _LoadedUrl(msgspec.Struct, array_like=True, gc=False):
    """A `UrlRow` as far as it is loaded."""

    id: int
    url: object
    key: bytes
    host: int
    state: int
    depth: int
    hops: int
    parent: object
    found_at: float
    given_score: object
    lastmod: object
    priority: object
    sitemap_of: str | None
    score: object
    queue: int | None
    outcome: object
    detail: object
    page: int | None
    duplicate_of: object
    similarity: object
    own_similarity: object
    finished_at: float | None
    attempts: int
    deaths: int
    redirect: bool


_decode_url: Final = msgspec.msgpack.Decoder(_LoadedUrl).decode
_decode_host: Final = msgspec.msgpack.Decoder(HostRow).decode


def read_fields(link: BlockingLink, key: bytes) -> dict[bytes, bytes]:
    """Return all fields of a hash."""
    fields: dict[bytes, bytes] = {}
    cursor = b"0"
    while True:
        ((cursor, stored),) = link.ask(("HSCAN", key, cursor, "COUNT", AT_ONCE))
        fields.update(zip(stored[::2], stored[1::2], strict=True))
        if cursor == b"0":
            return fields


def load_urls(
    link: BlockingLink, keys: RowKeys, last: int, queue_of: "array[int] | None" = None
) -> Iterator[KnownUrl]:
    """Yield what memory holds of every URL; note in which queue each is stored."""
    if queue_of is not None:
        queue_of.extend([NO_QUEUE] * (last + 1 - len(queue_of)))
    for start in range(0, last + 1, AT_ONCE):
        ids = range(start, min(start + AT_ONCE, last + 1))
        stored, bits = link.ask(
            ("HMGET", keys.urls, *ids),
            ("GETRANGE", keys.linked, start // 8, (start + AT_ONCE) // 8 - 1),
        )
        with_links = _set_bits(bits, start)
        for packed in stored:
            if packed is None:
                continue
            row = _decode_url(packed)
            if queue_of is not None:
                queue_of[row.id] = queue_where(row.state, row.queue)
            yield KnownUrl(
                row.id,
                row.key,
                row.host,
                row.state,
                row.depth,
                row.hops,
                row.page,
                row.finished_at,
                row.id in with_links,
                row.redirect,
                row.queue,
                row.sitemap_of,
            )


def _set_bits(bits: bytes, start: int) -> set[int]:
    """Return the numbers of the bits that are set; the first byte has the bits from `start` on."""
    return {
        start + 8 * place + bit
        for place, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte & 128 >> bit
    }


def load_pages(link: BlockingLink, keys: RowKeys, last: int) -> Iterator[KnownPage]:
    """Yield what memory holds of every page."""
    for _, packed in _numbered(link, keys.pages, last):
        page = decode_page(packed)
        yield KnownPage(page.number, page.url, page.digest, page.fetched_at, page.reported_depth)


def load_bands(
    link: BlockingLink, keys: RowKeys, last: int, since: float
) -> Iterator[tuple[int, bytes]]:
    """Yield the pages that have a sketch and were fetched after a moment, with its bands."""
    size = FETCHED_AT.size
    for number, packed in _numbered(link, keys.bands, last):
        (fetched_at,) = FETCHED_AT.unpack(packed[:size])
        if fetched_at > since:
            yield number, packed[size:]


def load_hosts(link: BlockingLink, keys: RowKeys, last: int) -> Iterator[HostRow]:
    """Yield all hosts."""
    for start in range(1, last + 1, AT_ONCE):
        ids = range(start, min(start + AT_ONCE, last + 1))
        rows, counts = link.ask(("HMGET", keys.hosts, *ids), ("HMGET", keys.host_urls, *ids))
        for packed, count in zip(rows, counts, strict=True):
            if packed is not None:
                yield read_host(packed, count)


def read_host(packed: bytes, count: bytes | int | None) -> HostRow:
    """Return a host as it was stored, with how many URLs of it are known by now."""
    row = _decode_host(packed)
    if count is not None:
        row.urls = int(count)
    return row


def _numbered(link: BlockingLink, key: bytes, last: int) -> Iterator[tuple[int, bytes]]:
    for start in range(1, last + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, last + 1))
        (stored,) = link.ask(("HMGET", key, *numbers))
        for number, packed in zip(numbers, stored, strict=True):
            if packed is not None:
                yield number, packed
