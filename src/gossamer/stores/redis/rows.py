"""The rows of a crawl in Redis, and the ways to them: to work, to stand by for the lead, to read.

There is no rule in it, neither here nor on the server.

One connection reads, in the thread that has the rows; another one writes, in whatever thread makes
changes durable. A commit is one transaction, under the lead of the crawl (lead.py). What was
written and is not on the server yet is here, for whoever reads it meanwhile.
"""

import asyncio
import logging
import re
import threading
import time
from array import array
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from itertools import chain
from typing import Final, Literal, TypeVar

import msgspec

from gossamer.config import StoreAddress
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores import columns
from gossamer.stores.columns import NO_QUEUE, block_places
from gossamer.stores.crawl_views import Presence, ReadRequest
from gossamer.stores.reader import CrawlReader, explained
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import check, require
from gossamer.stores.redis.connection import ERRORS, BlockingLink, Nodes, linked
from gossamer.stores.redis.crawls import check_format, delete_rows, find_crawl_name, store_format
from gossamer.stores.redis.lead import LEAD_S, CrawlLead
from gossamer.stores.redis.row_changes import PackedChanges, RowNumbers
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.redis.row_reads import ReadableRedisRows
from gossamer.stores.rows import (
    ALL,
    PAUSED_UNTIL_NAME,
    Changes,
    KnownPage,
    KnownUrl,
    ReconnectDeadline,
    StoreAwayError,
)

log = logging.getLogger("gossamer.store")

Say = Callable[[Literal["info", "warning"], str], None]


JOINED_NAME: Final = "joined"
"""Where those who have joined are among the metadata: a process's name -> its worker's number."""
CLOCK_QUESTIONS: Final = 5
"""How often a server is asked for the time: the quickest answer counts."""
CHECK_EVERY_S: Final = 0.1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
WANTED_MS: Final = 2_000
"""How long the wish for the lead stands."""
TRY_EVERY_S: Final = 0.1
LEAVE_WITHIN_S: Final = 1.0
"""How long whoever stands by tries to say that it does so no more."""
RENEW_EVERY_S: Final = 1.0
"""How often the lead is renewed while everything is read."""

T = TypeVar("T")


class RedisRows(ReadableRedisRows):
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
        self.lead = CrawlLead(self._writing, self.keys, lead_s, role)
        self._numbers = RowNumbers()
        self._queue_of = array("b")
        self._placed = 0
        """Of how many stored URLs it is known in which queues they are."""
        self._stored = 0
        self._lost_bodies: frozenset[bytes] = frozenset()
        try:
            self._reading.open()
            self._writing.open()
        except BaseException:
            self.close()
            raise

    def _say(self, message: str) -> None:
        """Tell that the server is away; the second connection that notices it says no more."""
        if not (self._reading.is_away and self._writing.is_away):
            self._tell(message)

    # -- the lead --------------------------------------------------------------------------------

    def take_lead(self, patience_s: float = LEAD_S + 1.0, *, fresh: bool = False) -> None:
        """Take the lead, waiting for whoever has it; `fresh` deletes what is there.

        A crawl in another format is refused, unless it is deleted.
        """
        if not fresh:
            self.exists()
        give_up_at = time.monotonic() + patience_s
        while not self.lead.try_to_take():
            if time.monotonic() >= give_up_at:
                raise self.lead.taken_by(self.holder())
            time.sleep(TRY_EVERY_S)
        self.prepare(fresh=fresh)

    def exists(self) -> bool:
        """Tell whether there is a crawl; refuse one that another version has begun."""
        return check_format(self._reading, self.keys)

    def prepare(self, *, fresh: bool = False) -> None:
        """Learn how far the rows go, under the lead; `fresh` deletes what is there."""
        if fresh:
            delete_rows(self._writing, self.keys, self.lead.renew)
        store_format(self._writing, self.keys)
        self._lost_bodies = frozenset(self._writing.ask_one("SMEMBERS", self.keys.lost_bodies))
        self._numbers = super()._last()
        self._queue_of = array("b")
        self._placed, self._stored = 0, self._numbers.url

    def want_lead(self) -> None:
        """Ask whoever stands in for a coordinator to give the lead back, for a moment."""
        self._reading.ask_one("SET", self.keys.wanted, 1, "PX", WANTED_MS)

    def is_lead_wanted(self) -> bool:
        """Tell whether a coordinator wants the lead; it has the connection of `renew_lead`."""
        return bool(self._writing.ask_one("EXISTS", self.keys.wanted))

    def stand_by(self, since: float) -> None:
        """Say that this process stands by to take the lead over, since then; to be said again."""
        packed = msgspec.json.encode((self.lead.myself(since), self.server_time()))
        self._reading.ask_one("HSET", self.keys.standby, self.lead.token, packed)

    def end_stand_by(self) -> None:
        """Say that it does so no more."""
        self._reading.ask_one("HDEL", self.keys.standby, self.lead.token)

    def renew_lead(self) -> None:
        """Keep the lead when there is nothing to write; raises as what `write` returns does.

        It has the same connection: they are called one after the other, in whatever thread.
        """
        self.lead.renew()

    # -- the server ------------------------------------------------------------------------------

    def server_id(self) -> bytes:
        """Return what tells the server, from one start to its end, from others."""
        info = self._reading.ask_one("INFO", "server")
        lines = info.split(b"\r\n")
        return next((line.partition(b":")[2] for line in lines if line.startswith(b"run_id:")), b"")

    def messages_exist(self, names: Sequence[str]) -> list[bool]:
        """Tell for each name whether there is a message under it, or a sign."""
        if not names:
            return []
        asked = [("EXISTS", self.keys.messages(name)) for name in names]
        return [bool(count) for count in self._reading.ask(*asked)]

    def has_lost(self, content: bytes) -> bool:
        """Tell whether the body to which a content refers was gone before it could be kept."""
        return content in self._lost_bodies

    def is_lost(self) -> bool:
        """Tell whether the server is away, so that whoever reads would wait for it."""
        return self._reading.is_lost() or self._writing.is_lost()

    def reconnect(self) -> None:
        """Wait until the server answers whoever reads; a CrawlError after a while."""
        self._reading.ask_one("PING")

    def give_up(self) -> None:
        """Have what waits for the server give up."""
        self._reading.give_up()
        self._writing.give_up()

    # -- reading ---------------------------------------------------------------------------------

    def known_urls(self, first: int = 1, last: int = ALL) -> Iterator[KnownUrl]:
        """Yield what memory holds of URLs, in the order of discovery."""
        for url in self._led(self._load_urls(first, last, self._queue_of)):
            self._placed += 1
            yield url

    def known_pages(self, first: int = 1, last: int = ALL) -> Iterator[KnownPage]:
        """Yield what memory holds of pages, in the order of numbers."""
        return self._led(super().known_pages(first, last))

    def url_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of all URLs, packed in blocks, which are in order; some may be missing."""
        self._queue_of.extend([NO_QUEUE] * (self._stored + 1 - len(self._queue_of)))
        for number, packed in self._led(super().url_blocks()):
            # If it is damaged, its rows are read.
            places, first = block_places(packed), number * columns.BLOCK
            if places and first + len(places) <= len(self._queue_of):
                self._queue_of[first : first + len(places)] = array("b", places)
                self._placed += len(places) - (number == 0)
            yield number, packed

    def page_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of pages."""
        return self._led(super().page_blocks())

    def _hashes(
        self, key_of: Callable[[int], bytes], last: int, of_row: Callable[[int], list[bytes]]
    ) -> Iterator[tuple[bytes, int]]:
        return chain.from_iterable(self._led(self._hash_batches(key_of, last, of_row), 1))

    def _led(self, rows: Iterator[T], check_every: int = 1_000) -> Iterator[T]:
        """Yield rows, and keep the lead meanwhile."""
        renew_at = time.monotonic() + RENEW_EVERY_S
        for number, row in enumerate(rows):
            yield row
            if number % check_every == 0 and time.monotonic() >= renew_at:
                self.lead.renew()
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
        is_safe = self._placed >= self._stored or not (changes.urls or changes.url_changes)
        assert is_safe, "loading says in which queues URLs are, before any of them changes"
        pending = PackedChanges(changes, self.keys, self._queue_of, self._numbers)
        self._pending = pending

        def send() -> None:
            self.lead.commit(pending)
            pending.end()
            self._pending = self._nothing

        return send

    def close(self) -> None:
        """Let go of it, and of the lead; what was written and not made durable is lost."""
        with suppress(*ERRORS, CrawlError):  # it runs out by itself
            self.lead.resign_at_once()
        self._reading.close()
        self._writing.close()


async def _in_daemon_thread(work: Callable[[], T]) -> T:
    """Do something in a thread that is left alone when it is not waited for any more.

    A server that is there and silent holds it for seconds, and who is interrupted leaves at once.
    """
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- it is raised where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=run, name="gossamer-connect", daemon=True).start()
    return await asyncio.wrap_future(outcome)


async def _reached(attempt: Callable[[], T], say: Say) -> T:
    """Return what an attempt does, which is made again while the server is away, for a minute."""
    deadline = ReconnectDeadline(partial(say, "warning"))
    while True:
        try:
            return await _in_daemon_thread(attempt)
        except StoreAwayError as error:
            deadline.check(error)
        await asyncio.sleep(CHECK_EVERY_S)


# -- to work on it -------------------------------------------------------------------------------


async def checked_address(
    store: StoreAddress, name: str, say: Say, *, allow_insecure: bool = False
) -> RedisAddress:
    """Return the address of a server that is fit for crawls; a CrawlError says why it is not."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a crawl in the store: use letters, digits, '.', "
            "'_' and '-', at most 100"
        )
    address = parse_address(store.url)

    def checked() -> list[str]:
        findings = require(check(address, allow_insecure=allow_insecure), address)
        return [f"The store {address}: {finding}." for finding in findings]

    for message in await _reached(checked, say):
        say("warning", message)
    return address


@asynccontextmanager
async def open_rows(
    address: RedisAddress, name: str, say: Say, role: str = ""
) -> AsyncIterator[RedisRows]:
    """Connect to the rows of a crawl, waiting for a server that is away just now."""
    make = partial(RedisRows, address, name, tell=partial(say, "warning"), role=role)
    rows = await _reached(make, say)
    try:
        yield rows
    finally:
        rows.close()


async def put_metadata(store: StoreAddress, crawl: str, name: str, value: bytes) -> None:
    """Store metadata of a crawl that its frontier never writes, whoever that is."""
    keys = RowKeys(crawl)

    def put() -> None:
        with linked(parse_address(store.url), keys.prefix.decode()) as link:
            link.ask_one("HSET", keys.metadata, name, value)

    await asyncio.to_thread(put)


def clock_offset_s(rows: RedisRows, *, leads: bool) -> float:
    """Return how far the clock of the server is before the steady one of this machine.

    All processes of a crawl go by it. How long the answer was on its way is not known: a worker
    is a little ahead for that, and a frontier behind. So no request that a worker has made ended
    later than the frontier takes it to have, whichever that is by then, and none begins too soon.
    """
    offsets = []
    for _ in range(CLOCK_QUESTIONS):
        asked_at = time.monotonic()
        now, answered_at = rows.server_time(), time.monotonic()
        offsets.append((answered_at - asked_at, now - (answered_at if leads else asked_at)))
    return min(offsets)[1]


def read_joined(packed: bytes | None) -> dict[str, int | None]:
    """Return who has joined, as it is stored."""
    return {} if packed is None else msgspec.msgpack.decode(packed, type=dict[str, int | None])


# -- to stand by for its lead --------------------------------------------------------------------


@asynccontextmanager
async def stand_by(
    address: RedisAddress, name: str, role: str, say: Say
) -> AsyncIterator[RedisRows]:
    """Wait until this process has the lead of a crawl that has begun."""
    async with open_rows(address, name, say, role) as rows:
        await _await_lead(rows)
        yield rows


async def _await_lead(rows: RedisRows) -> None:
    since, say_at = await asyncio.to_thread(rows.server_time), 0.0
    try:
        while True:
            wanted = await asyncio.to_thread(rows.is_lead_wanted)
            if not wanted and await asyncio.to_thread(rows.lead.try_to_take):
                return
            if time.monotonic() >= say_at:
                await asyncio.to_thread(rows.stand_by, since)
                say_at = time.monotonic() + 1.0
            await asyncio.sleep(CHECK_EVERY_S)
    except asyncio.CancelledError:
        rows.give_up()  # whoever leaves does not wait for a server that is away
        raise
    finally:
        with suppress(CrawlError, TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN_S):
                await asyncio.to_thread(rows.end_stand_by)


# -- to read it ----------------------------------------------------------------------------------


@asynccontextmanager
async def open_redis_reader(
    request: ReadRequest, *, may_be_led: bool = True
) -> AsyncIterator[CrawlReader]:
    """Connect to a crawl to read it; no lead is taken, nothing is written, nobody is disturbed.

    If it cannot be led by anybody, a lead that stands there is that of a process that has died.
    """
    address = parse_address(request.address.url)
    name = await asyncio.to_thread(find_crawl_name, address, request.name)
    async with _reading(request, name, Nodes(address), may_be_led=may_be_led) as reader:
        yield reader


def reopening_redis_reader(
    request: ReadRequest,
) -> Callable[[], AbstractAsyncContextManager[CrawlReader]]:
    """Return what connects to a crawl, at any server that it has learnt of by then."""
    assert request.name is not None
    return partial(_reading, request, request.name, Nodes(parse_address(request.address.url)))


@asynccontextmanager
async def _reading(
    request: ReadRequest, name: str, nodes: Nodes, *, may_be_led: bool = True
) -> AsyncIterator[CrawlReader]:
    rows = ReadableRedisRows(
        parse_address(request.address.url), name, tell=log.warning, nodes=nodes
    )
    executor = ThreadPoolExecutor(1, "gossamer-reader")

    async def run(work: Callable[[], T], /) -> T:
        return await asyncio.get_running_loop().run_in_executor(executor, work)

    try:
        await run(rows.open)
        with explained(rows, rows.where):
            yield CrawlReader(
                rows,
                partial(_presence, rows, may_be_led=may_be_led),
                where=rows.where,
                name=name,
                directory=request.directory,
                run=run,
            )
    finally:
        rows.close()  # what waits for the server gives up
        executor.shutdown(wait=False, cancel_futures=True)


def _presence(rows: ReadableRedisRows, *, may_be_led: bool) -> Presence:
    """Return who works on a crawl: a process closes it before it lets go of the lead."""
    holder = rows.holder() if may_be_led else None
    closed, rests = rows.read_metadata(["closed", PAUSED_UNTIL_NAME])
    running = holder is not None and closed != b"yes"
    now = rows.server_time()
    resting_s = float(rests) - now if running and rests else 0.0
    return Presence(
        running=running,
        closed=closed == b"yes",
        led_by=str(holder) if running else None,
        standbys=tuple(map(str, rows.standbys())) if may_be_led else (),
        now=now,
        resting_s=max(0.0, resting_s),
    )
