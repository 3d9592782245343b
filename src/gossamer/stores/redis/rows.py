"""The rows of a crawl in Redis. There is no rule in it, neither here nor on the server.

One connection reads, in the thread that has the rows; another one writes, in whatever thread makes
changes durable. A commit is one transaction, under the lead of the crawl (lead.py). What was
written and is not on the server yet is kept here, for whoever reads it meanwhile.
"""

import heapq
import logging
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.redis import row_loading
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import ERRORS, BlockingLink, complaint
from gossamer.stores.redis.lead import LEAD_S, CrawlLead, LeadHolder, ServerForgotError, read_holder
from gossamer.stores.redis.row_changes import (
    PackedChanges,
    RowNumbers,
    decode_page,
    decode_url,
    read_attempt,
    read_sketch,
)
from gossamer.stores.redis.row_format import RowFormat
from gossamer.stores.redis.row_keys import RowKeys, number_of
from gossamer.stores.redis.row_queues import read_items
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

WANTED_MS: Final = 2_000
RENEW_EVERY_S: Final = 1.0
"""How often the lead is renewed while everything is read."""

T = TypeVar("T")
_decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
_decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
_decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
_decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode


class RedisRows:
    """The rows of one crawl, of which this process has the lead once it has taken it."""

    def __init__(
        self,
        address: RedisAddress,
        crawl: str,
        *,
        tell: Callable[[str], None] = log.warning,
        lead_s: float = LEAD_S,
        role: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect; a CrawlError says why that does not go.

        `tell` takes what is to be said of a server that is away; `lead_s` says how long the lead
        lasts without a word, and `clock` how long the server was waited for.
        """
        self._where = f"the crawl {crawl} in {address}"
        self._keys = RowKeys(crawl)
        self._format = RowFormat(self._keys, self._where)
        self._tell = tell
        self._reading, self._writing = (
            BlockingLink(address, self._keys.prefix.decode(), self._say, clock) for _ in range(2)
        )
        self._lead = CrawlLead(self._writing, self._keys, self._where, lead_s, role)
        self._numbers = RowNumbers()
        self._queue_of = array("b")
        self._is_loaded = False
        self._pending: PackedChanges | None = None
        """What was written and is not on the server yet, or has just got there."""
        try:
            self._reading.open()
            self._writing.open()
        except BaseException:
            self.close()
            raise

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database."""
        return ERRORS

    def complaint(self, error: Exception) -> str:
        """Return a sentence for people about an error."""
        return complaint(error)

    def _say(self, words: str) -> None:
        """Tell that the server is away; the second connection that notices it says no more."""
        if not (self._reading.is_away and self._writing.is_away):
            self._tell(words)

    # -- the lead --------------------------------------------------------------------------------

    def take_lead(self, patience_s: float = LEAD_S + 1.0, *, fresh: bool = False) -> None:
        """Take the lead, waiting for whoever has it; `fresh` deletes what is there.

        A crawl in another format is refused, unless it is deleted.
        """
        if not fresh:
            self._format.check(self._reading)
        self._lead.take(patience_s)
        self.prepare(fresh=fresh)

    def is_there(self) -> bool:
        """Tell whether there is a crawl."""
        (found,) = self._reading.ask(("EXISTS", self._keys.format))
        return bool(found)

    def check_format(self) -> None:
        """Refuse a crawl that another version of the program has begun."""
        self._format.check(self._reading)

    def try_to_lead(self) -> bool:
        """Take the lead if nobody has it; then `prepare` is to be called before anything else."""
        return self._lead.try_to_take()

    def prepare(self, *, fresh: bool = False) -> None:
        """Learn how far the rows go, under the lead; `fresh` deletes what is there."""
        if fresh:
            self._format.delete(self._writing, self._lead.renew)
        self._format.lay_down(self._writing)
        (stored,) = self._reading.ask(("HGETALL", self._keys.numbers))
        told = {name.decode(): int(value) for name, value in _pairs(stored)}
        self._numbers = msgspec.convert(told, RowNumbers)
        self._queue_of = array("b")
        self._is_loaded = self._numbers.url == 0

    def put_note(self, name: str, value: bytes) -> None:
        """Store a note that whoever leads the crawl never writes."""
        self._reading.ask(("HSET", self._keys.metadata, name, value))

    def want_lead(self) -> None:
        """Ask whoever stands in for a coordinator to give the lead back, for a moment."""
        self._reading.ask(("SET", self._keys.wanted, 1, "PX", WANTED_MS))

    def is_lead_wanted(self) -> bool:
        """Tell whether a coordinator wants the lead."""
        (found,) = self._reading.ask(("EXISTS", self._keys.wanted))
        return bool(found)

    def taken_by(self, holder: LeadHolder | None) -> CrawlError:
        """Return the error of a lead that another process has."""
        return self._lead.taken_by(holder)

    def server_time(self) -> float:
        """Return the time of the server, which is that of the crawl."""
        ((seconds, micros),) = self._reading.ask(("TIME",))
        return int(seconds) + int(micros) / 1e6

    def are_there(self, names: Sequence[str]) -> list[bool]:
        """Tell for each name whether there is a message under it, or a sign."""
        if not names:
            return []
        asked = [("EXISTS", self._keys.messages(name)) for name in names]
        return [bool(found) for found in self._reading.ask(*asked)]

    def stand_by(self, since: float) -> None:
        """Say that this process stands by to take the lead over, since then; to be said again."""
        packed = msgspec.json.encode((self._lead.myself(since), self.server_time()))
        self._reading.ask(("HSET", self._keys.standby, self._lead.token, packed))

    def end_stand_by(self) -> None:
        """Say that it does so no more."""
        self._reading.ask(("HDEL", self._keys.standby, self._lead.token))

    def standbys(self) -> list[LeadHolder]:
        """Return the processes that stand by."""
        stored, now = row_loading.read_fields(self._reading, self._keys.standby), self.server_time()
        found = [msgspec.json.decode(one, type=tuple[LeadHolder, float]) for one in stored.values()]
        return [one for one, said_at in found if said_at > now - LEAD_S]

    def renew_lead(self) -> None:
        """Keep the lead when there is nothing to write; raises as what `write` returns does.

        It has the same connection: they are called one after the other, in whatever thread.
        """
        self._lead.renew()

    def resign(self) -> None:
        """Let another process take the lead at once."""
        self._lead.resign()

    def holder(self) -> LeadHolder | None:
        """Return who has the lead, and since when; None: nobody."""
        (stored,) = self._reading.ask(("GET", self._keys.lead))
        return read_holder(stored)

    # -- everything, when a crawl is opened ------------------------------------------------------

    def metadata(self) -> dict[str, bytes]:
        """Return what is kept with the crawl as a whole, by name."""
        fields = row_loading.read_fields(self._all_written(), self._keys.metadata)
        return {name.decode(): value for name, value in fields.items()}

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        link, last = self._all_written(), self._numbers.url
        yield from self._led(row_loading.load_urls(link, self._keys, last, self._queue_of))
        self._is_loaded = True

    def known_pages(self) -> Iterator[KnownPage]:
        """Yield what memory holds of every page, in the order of numbers."""
        link, last = self._all_written(), self._numbers.page
        return self._led(row_loading.load_pages(link, self._keys, last))

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""
        return row_loading.load_bands(self._all_written(), self._keys, self._numbers.page, since)

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids, which are without gaps."""
        return row_loading.load_hosts(self._all_written(), self._keys, self._numbers.host)

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

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""
        return self._numbers.result

    def _led(self, rows: Iterator[T]) -> Iterator[T]:
        """Yield rows, and keep the lead meanwhile."""
        renew_at = time.monotonic() + RENEW_EVERY_S
        for number, row in enumerate(rows):
            yield row
            if number % 1_000 == 0 and time.monotonic() >= renew_at:
                self._lead.renew()
                renew_at = time.monotonic() + RENEW_EVERY_S

    def _all_written(self) -> BlockingLink:
        """Return the connection that reads, when there is nothing that it cannot see."""
        assert self._pending is None, "everything is read when a crawl is opened, or after commits"
        return self._reading

    # -- single rows -----------------------------------------------------------------------------

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
        pending = self._pending
        (row,) = self.read_urls([url_id])
        names = [f"{url_id}:{number}" for number in range(row.attempts)]
        newer = {} if pending is None else pending.attempts
        found = self._fields(self._keys.attempts, names, newer)
        return [read_attempt(self._there(packed)) for packed in found]

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
        pending = self._pending
        newer = {} if pending is None else pending.pages
        (packed,) = self._fields(self._keys.pages, [number], newer)
        if packed is None:
            return None
        page = decode_page(packed)
        return page if pending is None else pending.changed_page(page)

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
        pages = [(float(score), number_of(packed)) for packed, score in _pairs(stored)]
        pages = [page for page in pages if page[1] not in changed]
        if pending is not None:
            contents = pending.contents.items()
            pages += [(at, number) for number, (at, _) in contents if at <= before]
        return [number for _, number in heapq.nsmallest(limit, pages)]

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number; those on the server alone."""
        keys = self._keys
        numbers = range(after + 1, after + 1 + limit)
        results, rows = self._reading.ask(
            ("HMGET", keys.results, *numbers), ("HMGET", keys.result_rows, *numbers)
        )
        found = []
        for packed, row in zip(results, rows, strict=True):
            if packed is None:
                break
            result = _decode_result(packed)
            result.row = row
            found.append(result)
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

    # -- writing ---------------------------------------------------------------------------------

    @property
    def keys(self) -> RowKeys:
        """The keys of the crawl."""
        return self._keys

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Take changes over; return what sends them, in whatever thread.

        If that raises, nothing of them was written, and these rows are of no more use.
        """
        assert self._pending is None, "changes are sent before others are written"
        is_safe = self._is_loaded or not (changes.urls or changes.url_changes)
        assert is_safe, "known_urls says in which queues URLs are, before any of them changes"
        pending = PackedChanges(changes, self._keys, self._queue_of, self._numbers)
        self._pending = pending

        def send() -> None:
            self._lead.commit(pending)
            pending.end()
            self._pending = None

        return send

    def close(self) -> None:
        """Let go of it, and of the lead; what was written and not made durable is lost."""
        with suppress(*ERRORS, CrawlError):  # it runs out by itself
            self._lead.resign_at_once()
        self._reading.close()
        self._writing.close()


def _pairs(stored: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    return zip(stored[::2], stored[1::2], strict=True)
