"""The rows of a crawl in Redis. There is no rule in it, neither here nor on the server.

One connection reads, in the thread that has the rows; another one writes, in whatever thread makes
changes durable. A commit is one transaction, under the lead of the crawl (lead.py). What was
written and is not on the server yet is kept here, for whoever reads it meanwhile.
"""

import logging
import time
from array import array
from collections.abc import Callable, Iterator

from gossamer.stores.redis import row_loading
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.lead import LEAD_S, CrawlLead
from gossamer.stores.redis.row_changes import PackedChanges, RowNumbers
from gossamer.stores.redis.row_reads import RedisRowReads
from gossamer.stores.rows import Changes, KnownUrl

log = logging.getLogger("gossamer.store")


class RedisRows(RedisRowReads):
    """The rows of one crawl, of which this process has the lead once it has taken it."""

    def __init__(
        self,
        address: RedisAddress,
        crawl: str,
        *,
        tell: Callable[[str], None] = log.warning,
        lead_s: float = LEAD_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Connect; a CrawlError says why that does not go.

        `tell` takes what is to be said of a server that is away; `lead_s` says how long the lead
        lasts without a word, and `clock` how long the server was waited for.
        """
        super().__init__(address, crawl, tell=tell, clock=clock)
        self._writing = BlockingLink(address, self._keys.prefix.decode(), self._say, clock)
        self._lead = CrawlLead(self._writing, self._keys, self._where, lead_s)
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
            self._format.check(self._reading)
        self._lead.take(patience_s)
        if fresh:
            self._format.delete(self._writing, self._lead.renew)
        self._format.lay_down(self._writing)
        self._numbers = super()._last()
        self._queue_of = array("b")
        self._is_loaded = self._numbers.url == 0

    def renew_lead(self) -> None:
        """Keep the lead when there is nothing to write; raises as what `write` returns does.

        It has the same connection: they are called one after the other, in whatever thread.
        """
        self._lead.renew()

    def resign(self) -> None:
        """Let another process take the lead at once."""
        self._lead.resign()

    # -- reading ---------------------------------------------------------------------------------

    def known_urls(self) -> Iterator[KnownUrl]:
        """Yield what memory holds of every URL, in the order of discovery."""
        link, last = self._all_written(), self._numbers.url
        yield from row_loading.load_urls(link, self._keys, last, self._queue_of)
        self._is_loaded = True

    def _last(self) -> RowNumbers:
        """Return how far the numbers of rows go, with what is not on the server yet."""
        return self._numbers

    # -- writing ---------------------------------------------------------------------------------

    def queue_key(self, name: str) -> bytes:
        """Return the list in which messages of a name are sent and taken."""
        return self._keys.messages(name)

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Take changes over; return what sends them, in whatever thread.

        If that raises, nothing of them was written, and these rows are of no more use.
        """
        assert self._pending is None, "changes are sent before others are written"
        assert self._is_loaded, "known_urls says in which queues URLs are, before anything changes"
        pending = PackedChanges(changes, self._keys, self._queue_of, self._numbers)
        self._pending = pending

        def send() -> None:
            self._lead.commit(pending)
            pending.end()
            self._pending = None

        return send

    def close(self) -> None:
        """Let go of it; what was written and not made durable is lost."""
        self._reading.close()
        self._writing.close()
