"""Reading the rows of a crawl in Redis, over a connection of its own.

Whoever writes them as well reads what is not on the server yet where it keeps that (`_pending`).
"""

import heapq
import logging
import struct
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeVar

import msgspec

from gossamer.model import HostKey
from gossamer.stores import columns
from gossamer.stores.columns import NO_QUEUE, queue_where
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import (
    ERRORS,
    BlockingLink,
    Command,
    Nodes,
    Word,
    describe_error,
)
from gossamer.stores.redis.crawls import require_crawl
from gossamer.stores.redis.lead import LEAD_S, LeadHolder, ServerForgotError, read_holder
from gossamer.stores.redis.row_changes import (
    FETCHED_AT,
    PackedChanges,
    RowNumbers,
    decode_page,
    decode_url,
    read_attempt,
    read_sketch,
)
from gossamer.stores.redis.row_keys import HASH_BYTES, PART, RowKeys, member, number_of
from gossamer.stores.rows import (
    ALL,
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

T = TypeVar("T")

AT_ONCE: Final = 8_000
"""How many rows are read in one round trip when all are; divisible by 8."""
BLOCKS_AT_ONCE: Final = 1_000
HASHES_AT_ONCE: Final = 65_536
"""How many keys or digests are read in one trip, of which `PART` is a multiple."""
RESULTS_AT_ONCE: Final = 1_000
"""From how many results on the server is asked first how many there are."""
EQUALS: Final = 16
"""How many of the same score are read in passing."""
_BEFORE_ALL: Final = (float("-inf"), 0)
_EVERY: Final = 2**31

_decode_host: Final = msgspec.msgpack.Decoder(HostRow).decode
_decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
_decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
_decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
_decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode

_LOADED: Final[dict[str, Any]] = {
    **dict.fromkeys(("id", "host", "state", "depth", "hops"), int),
    **dict.fromkeys(("page", "queue"), int | None),
    "key": bytes,
    "redirect": bool,
    "finished_at": float | None,
    "sitemap_of": str | None,
}
"""The fields of a `UrlRow` that are loaded into memory; the others are passed over."""
_decode_loaded: Final = msgspec.msgpack.Decoder(
    msgspec.defstruct(
        "LoadedUrl",
        [(name, _LOADED.get(name, object)) for name in UrlRow.__struct_fields__],
        array_like=True,
        gc=False,
    )
).decode
_HAS_LINKS: Final = KnownUrl._fields.index("has_links")
_first: Final = itemgetter(0)
_before: Final = attrgetter(*KnownUrl._fields[:_HAS_LINKS])
_after: Final = attrgetter(*KnownUrl._fields[_HAS_LINKS + 1 :])


class ReadableRedisRows:
    """The rows of one crawl, to be read, whoever has its lead."""

    errors: tuple[type[Exception], ...] = ERRORS

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

    def describe_error(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        return describe_error(error)

    def close(self) -> None:
        """Let go of the connection."""
        self._reading.close()

    def _say(self, message: str) -> None:
        """Tell that the server is away."""
        self._tell(message)

    # -- who works on it -------------------------------------------------------------------------

    def holder(self) -> LeadHolder | None:
        """Return who has the lead, and since when; None: nobody."""
        return read_holder(self._reading.ask_one("GET", self.keys.lead))

    def standbys(self) -> list[LeadHolder]:
        """Return the processes that stand by."""
        stored, now = read_fields(self._reading, self.keys.standby), self.server_time()
        signs = [
            msgspec.json.decode(sign, type=tuple[LeadHolder, float]) for sign in stored.values()
        ]
        return [process for process, said_at in signs if said_at > now - LEAD_S]

    def server_time(self) -> float:
        """Return the time of the server, which is that of the crawl."""
        seconds, micros = self._reading.ask_one("TIME")
        return int(seconds) + int(micros) / 1e6

    # -- everything, when a crawl is opened ------------------------------------------------------

    def metadata(self) -> dict[str, bytes]:
        """Return what is stored of the crawl as a whole, by name."""
        fields = read_fields(self._all_written(), self.keys.metadata)
        return {name.decode(): value for name, value in fields.items()}

    def known_urls(self, first: int = 1, last: int = ALL) -> Iterator[KnownUrl]:
        """Yield what memory holds of URLs, in the order of discovery."""
        return self._load_urls(first, last)

    def _load_urls(
        self, first: int, last: int, queue_of: "array[int] | None" = None
    ) -> Iterator[KnownUrl]:
        """Yield the same; note in which queue each is stored."""
        link, keys, last = self._all_written(), self.keys, min(last, self._last().url)
        if queue_of is not None:
            queue_of.extend([NO_QUEUE] * (last + 1 - len(queue_of)))
        for start in range(first - first % 8, last + 1, AT_ONCE):
            ids = range(start, min(start + AT_ONCE, last + 1))
            stored, bits = link.ask(
                ("HMGET", keys.urls, *ids),
                ("GETRANGE", keys.linked, start // 8, (start + AT_ONCE) // 8 - 1),
            )
            with_links = _set_bits(bits, start)
            for url_id, packed in zip(ids, stored, strict=True):
                if packed is not None and url_id >= first:
                    row: Any = _decode_loaded(packed)
                    if queue_of is not None:
                        queue_of[row.id] = queue_where(row.state, row.queue)
                    has_links = row.id in with_links
                    yield KnownUrl._make((*_before(row), has_links, *_after(row)))

    def known_pages(self, first: int = 1, last: int = ALL) -> Iterator[KnownPage]:
        """Yield what memory holds of pages, in the order of numbers."""
        last = min(last, self._last().page)
        for _, packed in self._numbered(last, self.keys.pages, first):
            page = decode_page(packed)
            yield KnownPage(
                page.number, page.url, page.digest, page.fetched_at, page.reported_depth
            )

    def url_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of all URLs, packed in blocks, which are in order; some may be missing."""
        return self._blocks(self.keys.url_blocks, self._last().url)

    def page_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of pages."""
        return self._blocks(self.keys.page_blocks, self._last().page)

    def _blocks(self, key: bytes, last: int) -> Iterator[tuple[int, bytes]]:
        return self._numbered(last // columns.BLOCK, key, 0, BLOCKS_AT_ONCE)

    def url_keys(self) -> Iterator[tuple[bytes, int]]:
        """Yield the key and the id of every URL, in any order."""
        last, of_rows = self._last().url, self.known_urls
        return self._hashes(
            self.keys.url_keys, last, lambda url_id: [url.key for url in of_rows(url_id, url_id)]
        )

    def page_digests(self) -> Iterator[tuple[bytes, int]]:
        """Yield the digest and the number of every page, in any order."""
        last, of_rows = self._last().page, self.known_pages
        return self._hashes(
            self.keys.page_digests,
            last,
            lambda number: [page.digest for page in of_rows(number, number)],
        )

    def _hashes(
        self, key_of: Callable[[int], bytes], last: int, of_row: Callable[[int], list[bytes]]
    ) -> Iterator[tuple[bytes, int]]:
        return chain.from_iterable(self._hash_batches(key_of, last, of_row))

    def _hash_batches(
        self, key_of: Callable[[int], bytes], last: int, of_row: Callable[[int], list[bytes]]
    ) -> Iterator[Iterator[tuple[bytes, int]]]:
        """Yield hashes in portions; what is not there is taken from rows, if they are there."""
        link, nothing = self._all_written(), bytes(HASH_BYTES)
        for start in range(0, last + 1, HASHES_AT_ONCE):
            part, place = divmod(start * HASH_BYTES, PART * HASH_BYTES)
            numbers = range(start, min(start + HASHES_AT_ONCE, last + 1))
            end = place + len(numbers) * HASH_BYTES
            stored = link.ask_one("GETRANGE", key_of(part), place, end - 1)
            stored = stored.ljust(end - place, b"\0")
            hashes = map(_first, struct.iter_unpack(f"{HASH_BYTES}s", stored))
            if start and nothing not in stored:
                yield zip(hashes, numbers, strict=True)
                continue
            for number, value in zip(numbers, hashes, strict=True):
                if value != nothing:
                    yield iter([(value, number)])
                elif number:
                    yield iter([(own, number) for own in of_row(number)])

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        size = FETCHED_AT.size
        for number, packed in self._numbered(self._last().page, self.keys.bands):
            (fetched_at,) = FETCHED_AT.unpack(packed[:size])
            if fetched_at > since:
                yield number, packed[size:]

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids, which are without gaps."""
        last = self._last().host
        counts = dict(self._numbered(last, self.keys.host_urls))
        for host, packed in self._numbered(last, self.keys.hosts):
            yield read_host(packed, counts.get(host))

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""
        return self._every(self.keys.domains, _decode_domain)

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""
        return self._every(self.keys.relaxing, _decode_relaxing)

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""
        return self._every(self.keys.leases, _decode_lease)

    def last_url(self) -> int:
        """Return the id of the last URL; 0 when there is none."""
        return self._last().url

    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""
        return self._last().page

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return self._last().result

    def _last(self) -> RowNumbers:
        """Return how far the numbers of rows go, as the server has it now."""
        stored = self._reading.ask_one("HGETALL", self.keys.numbers)
        return RowNumbers(**{name.decode(): int(value) for name, value in pairs(stored)})

    def _all_written(self) -> BlockingLink:
        """Return the connection that reads, when there is nothing that it cannot see."""
        assert self._pending is self._nothing, (
            "everything is read when a crawl is opened, or after commits"
        )
        return self._reading

    def _every(self, key: bytes, decode: Callable[[bytes], T]) -> Iterator[T]:
        return map(decode, read_fields(self._all_written(), key).values())

    def _numbered(
        self, last: int, key: bytes, first: int = 1, at_once: int = AT_ONCE
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the fields of a hash whose names are the numbers up to the last."""
        link = self._all_written()
        for start in range(first, last + 1, at_once):
            numbers = range(start, min(start + at_once, last + 1))
            stored = link.ask_one("HMGET", key, *numbers)
            for number, packed in zip(numbers, stored, strict=True):
                if packed is not None:
                    yield number, packed

    # -- which there are -------------------------------------------------------------------------

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""
        return [int(url_id or 0) for url_id in self._fields("known", keys)]

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""
        return [int(host or 0) for host in self._fields("host_ids", keys)]

    def count_queued(self, host: int, queue: int, before: Item) -> int:
        """Return how many URLs stored in a priority queue of a host come before one in it."""
        if self._pending is self._nothing:
            key = self.keys.queued(host, queue)
            return int(self._reading.ask_one("ZRANK", key, member(before[1])) or 0)
        return sum(item < before for item in self.read_queue(host, queue, _BEFORE_ALL, _EVERY))

    def count_unscored(self, before: int) -> int:
        """Return how many URLs with a smaller id wait for their score."""
        if before <= 0:
            return 0
        key = self.keys.unscored
        pending = self._pending.unscored.items()
        changed = {url_id: is_unscored for url_id, is_unscored in pending if url_id < before}
        bits: list[Word] = ["BITFIELD_RO", key]
        for url_id in changed:
            bits += ("GET", "u1", f"#{url_id}")
        count, stored = self._reading.ask(("BITCOUNT", key, 0, before - 1, "BIT"), bits)
        return int(count - sum(stored) + sum(changed.values()))

    # -- single rows -----------------------------------------------------------------------------

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is stored under these names, a consistent snapshot; None: nothing is."""
        return self._fields("metadata", names)

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""
        pending = self._pending
        return [
            pending.changed_url(url_id, decode_url(self._required(packed)))
            for url_id, packed in zip(ids, self._fields("urls", ids), strict=True)
        ]

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""
        return [links or b"" for links in self._fields("links", ids)]

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
        attempts = iter(self._fields("attempts", names))
        return [
            [read_attempt(self._required(packed)) for packed in islice(attempts, row.attempts)]
            for row in rows
        ]

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""
        rows, counts = self._fields("hosts", ids), self._fields("host_urls", ids)
        return [
            read_host(self._required(packed), count)
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
            for packed in self._fields("pages", numbers)
        ]

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""
        bands, samples = self._fields("bands", pages), self._fields("samples", pages)
        return [*map(read_sketch, pages, bands, samples)]

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""
        pending = self._pending
        if page in pending.contents:
            return pending.contents[page][1]
        if page in pending.dropped:
            return None
        content: bytes | None = self._reading.ask_one("HGET", self.keys.contents, page)
        return content

    def read_body(self, name: str) -> bytes | None:
        """Return a body to which a content refers, beside the rows; None if there is none."""
        body: bytes | None = self._reading.ask_one("GET", self.keys.body(name))
        return body

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""
        pending = self._pending
        changed = {*pending.contents, *pending.dropped}
        limits = ("BYSCORE", "LIMIT", 0, limit + len(changed), "WITHSCORES")
        stored = self._reading.ask_one("ZRANGE", self.keys.kept, "-inf", repr(before), *limits)
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
        stored, rows = self._fields("results", numbers), self._fields("result_rows", numbers)
        for packed, row in zip(stored, rows, strict=True):
            if packed is not None:
                result = _decode_result(packed)
                result.row = row
                results.append(pending.changed_result(result))
        return results

    def _fields(self, name: str, fields: Sequence[Any]) -> list[Any]:
        """Return fields of a hash, or what is newer; None for what is not there.

        The hash and what is pending of it have the same name.
        """
        newer: dict[Any, Any] = getattr(self._pending, name)
        asked = [field for field in fields if field not in newer] if newer else fields
        stored = self._reading.ask_one("HMGET", getattr(self.keys, name), *asked) if asked else []
        if not newer:
            return [*stored]
        older = dict(zip(asked, stored, strict=True))
        return [newer[field] if field in newer else older[field] for field in fields]

    def _required(self, packed: bytes | None) -> bytes:
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
        stored = self._reading.ask_one("ZRANGE", key, repr(after[0]), *by_score)
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


def read_fields(link: BlockingLink, key: bytes) -> dict[bytes, bytes]:
    """Return all fields of a hash."""
    fields: dict[bytes, bytes] = {}
    cursor = None
    while cursor != b"0":
        cursor, stored = link.ask_one("HSCAN", key, cursor or 0, "COUNT", AT_ONCE)
        fields.update(pairs(stored))
    return fields


def read_host(packed: bytes, count: bytes | int | None) -> HostRow:
    """Return a host as it was stored, with how many URLs of it are known by now."""
    row = _decode_host(packed)
    if count is not None:
        row.urls = int(count)
    return row


def pairs(stored: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield what the server says of names and values, or of members and scores."""
    return zip(stored[::2], stored[1::2], strict=True)


def scored(stored: list[bytes]) -> list[Item]:
    """Return what the server says of members that are numbers, and of their scores."""
    return [(float(score), number_of(packed)) for packed, score in pairs(stored)]


def _set_bits(bits: bytes, start: int) -> set[int]:
    """Return the numbers of the bits that are set; the first byte has the bits from `start` on."""
    return {
        start + 8 * place + bit
        for place, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte & 128 >> bit
    }
