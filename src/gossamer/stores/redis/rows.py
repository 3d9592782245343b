"""The rows of a crawl in Redis. There is no rule in it, neither here nor on the server.

One connection reads, in the thread that has the rows; another one writes, in whatever thread makes
changes durable. A commit is one transaction, under the lead of the crawl (lead.py). What was
written and is not on the server yet is kept here, for whoever reads it meanwhile.
"""

import logging
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from gossamer.model.errors import CrawlError
from gossamer.stores.redis import row_loading
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import ERRORS, BlockingLink
from gossamer.stores.redis.crawls import check_format, delete_rows, store_format
from gossamer.stores.redis.lead import LEAD_S, CrawlLead, LeadHolder
from gossamer.stores.redis.row_changes import PackedChanges, RowNumbers
from gossamer.stores.redis.row_reads import RedisRowReads
from gossamer.stores.rows import Changes, KnownPage, KnownUrl

log = logging.getLogger("gossamer.store")

WANTED_MS: Final = 2_000
TRY_EVERY_S: Final = 0.1
RENEW_EVERY_S: Final = 1.0
"""How often the lead is renewed while everything is read."""

T = TypeVar("T")


class RedisRows(RedisRowReads):
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
        super().__init__(address, crawl, tell=tell, clock=clock)
        self._writing = BlockingLink(address, self.keys.prefix.decode(), self._say, clock)
        self._lead = CrawlLead(self._writing, self.keys, lead_s, role)
        self._numbers = RowNumbers()
        self._queue_of = array("b")
        self._is_loaded = False
        try:
            self._reading.open()
            self._writing.open()
        except BaseException:
            self.close()
            raise

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
            self.is_there()
        give_up_at = time.monotonic() + patience_s
        while not self.try_to_lead():
            if time.monotonic() >= give_up_at:
                raise self.taken_by(self.holder())
            time.sleep(TRY_EVERY_S)
        self.prepare(fresh=fresh)

    def is_there(self) -> bool:
        """Tell whether there is a crawl; refuse one that another version has begun."""
        return check_format(self._reading, self.keys)

    def try_to_lead(self) -> bool:
        """Take the lead if nobody has it; then `prepare` is to be called before anything else."""
        return self._lead.try_to_take()

    def prepare(self, *, fresh: bool = False) -> None:
        """Learn how far the rows go, under the lead; `fresh` deletes what is there."""
        if fresh:
            delete_rows(self._writing, self.keys, self._lead.renew)
        store_format(self._writing, self.keys)
        self._numbers = super()._last()
        self._queue_of = array("b")
        self._is_loaded = self._numbers.url == 0

    def put_note(self, name: str, value: bytes) -> None:
        """Store a note that whoever leads the crawl never writes."""
        self._reading.ask(("HSET", self.keys.metadata, name, value))

    def want_lead(self) -> None:
        """Ask whoever stands in for a coordinator to give the lead back, for a moment."""
        self._reading.ask(("SET", self.keys.wanted, 1, "PX", WANTED_MS))

    def is_lead_wanted(self) -> bool:
        """Tell whether a coordinator wants the lead; it has the connection of `renew_lead`."""
        return bool(self._writing.ask(("EXISTS", self.keys.wanted))[0])

    def taken_by(self, holder: LeadHolder | None) -> CrawlError:
        """Return the error of a lead that another process has."""
        return self._lead.taken_by(holder)

    def stand_by(self, since: float) -> None:
        """Say that this process stands by to take the lead over, since then; to be said again."""
        packed = msgspec.json.encode((self._lead.myself(since), self.server_time()))
        self._reading.ask(("HSET", self.keys.standby, self._lead.token, packed))

    def end_stand_by(self) -> None:
        """Say that it does so no more."""
        self._reading.ask(("HDEL", self.keys.standby, self._lead.token))

    def renew_lead(self) -> None:
        """Keep the lead when there is nothing to write; raises as what `write` returns does.

        It has the same connection: they are called one after the other, in whatever thread.
        """
        self._lead.renew()

    def resign(self) -> None:
        """Let another process take the lead at once."""
        self._lead.resign()

    # -- the server ------------------------------------------------------------------------------

    def server_id(self) -> bytes:
        """Return what tells the server, from one start to its end, from others."""
        (info,) = self._reading.ask(("INFO", "server"))
        lines = info.split(b"\r\n")
        return next((line.partition(b":")[2] for line in lines if line.startswith(b"run_id:")), b"")

    def are_there(self, names: Sequence[str]) -> list[bool]:
        """Tell for each name whether there is a message under it, or a sign."""
        if not names:
            return []
        asked = [("EXISTS", self.keys.messages(name)) for name in names]
        return [bool(count) for count in self._reading.ask(*asked)]

    def is_lost(self) -> bool:
        """Tell whether the server is away, so that whoever reads would wait for it."""
        return self._reading.is_lost() or self._writing.is_lost()

    def reconnect(self) -> None:
        """Wait until the server answers whoever reads; a CrawlError after a while."""
        self._reading.ask(("PING",))

    def give_up(self) -> None:
        """Have what waits for the server give up."""
        self._reading.give_up()
        self._writing.give_up()

    # -- reading ---------------------------------------------------------------------------------

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        link, last = self._all_written(), self._numbers.url
        yield from self._led(row_loading.load_urls(link, self.keys, last, self._queue_of))
        self._is_loaded = True

    def known_pages(self) -> Iterator[KnownPage]:
        """Yield what memory holds of every page, in the order of numbers."""
        return self._led(super().known_pages())

    def _led(self, rows: Iterator[T]) -> Iterator[T]:
        """Yield rows, and keep the lead meanwhile."""
        renew_at = time.monotonic() + RENEW_EVERY_S
        for number, row in enumerate(rows):
            yield row
            if number % 1_000 == 0 and time.monotonic() >= renew_at:
                self._lead.renew()
                renew_at = time.monotonic() + RENEW_EVERY_S

    def _last(self) -> RowNumbers:
        """Return how far the numbers of rows go, with what is not on the server yet."""
        return self._numbers

    # -- writing ---------------------------------------------------------------------------------

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Take changes over; return what sends them, in whatever thread.

        If that raises, nothing of them was written, and these rows are of no more use.
        """
        assert self._pending is self._nothing, "changes are sent before others are written"
        is_safe = self._is_loaded or not (changes.urls or changes.url_changes)
        assert is_safe, "known_urls says in which queues URLs are, before any of them changes"
        pending = PackedChanges(changes, self.keys, self._queue_of, self._numbers)
        self._pending = pending

        def send() -> None:
            self._lead.commit(pending)
            pending.end()
            self._pending = self._nothing

        return send

    def close(self) -> None:
        """Let go of it, and of the lead; what was written and not made durable is lost."""
        with suppress(*ERRORS, CrawlError):  # it runs out by itself
            self._lead.resign_at_once()
        self._reading.close()
        self._writing.close()
