"""A copy of a crawl in Redis as it is after one commit, while others may work on it.

Everything is read in portions. Meanwhile commits note which rows they change (journal.py): those
are read again, until few are left. Then commits are held up for some milliseconds, and if there was
none between reading the journal and the end, what was read is the crawl after the last of them.
Attempts and results never change; those that were there by then are read at the end. Then it is
checked whether the indexes of the store agree with its rows.
"""

import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from typing import Final, TypeAlias, TypeVar

import msgspec

from gossamer.model.errors import CrawlError
from gossamer.stores.columns import blocks_of
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import BlockingLink
from gossamer.stores.redis.crawls import linked_to_crawl
from gossamer.stores.redis.row_changes import RowNumbers, decode_url
from gossamer.stores.redis.row_keys import (
    HOLD_S,
    NAMES,
    PART,
    WATCHED_S,
    ChangedRows,
    RowKeys,
    member,
    merge,
    number_of,
    read_entry,
)
from gossamer.stores.redis.row_reads import read_fields
from gossamer.stores.rows import Changes
from gossamer.stores.sqlite.file import make_tables
from gossamer.stores.sqlite.rows import write_changes
from gossamer.stores.url_record import UrlState
from gossamer.views.redis_rows import COUNTED, Moment, RowSource, commit_number, cut

Name = TypeVar("Name")

ROWS_AT_ONCE: Final = 1_000
PAGES_AT_ONCE: Final = 100
FEW_ROWS: Final = 2_000
FEW_PAGES: Final = 200
"""Commits are held up for the last reading when so few rows and pages are left to read."""
ATTEMPTS: Final = 3
"""How often a copy is begun at most: its journal may get lost."""
MOST_ROUNDS: Final = 100
_MISFITS: Final = (sqlite3.IntegrityError, sqlite3.InterfaceError, OverflowError, UnicodeError)
"""The errors for a row that the tables cannot hold."""
AT_ONCE: Final = 500
KEPT: Final = -1
"""What a server says of the time of a key that does not run out."""
MEMBERS_AT_ONCE: Final = 5_000
MEMBER_BYTES: Final = 8

Place: TypeAlias = tuple[int, int]
"""A host, and one of its priority queues."""

_NUMBERED: Final = {"url": "urls", "host": "hosts", "page": "pages", "result": "results"}
"""The tables whose last numbers are noted."""
_QUEUE: Final = re.compile("queued:([0-9]+):([0-9]+)")
_MISPLACED: Final = """
    SELECT id, host, queue FROM urls WHERE state = 1 AND NOT EXISTS (
        SELECT 1 FROM queued WHERE url = id
        AND queued.host = urls.host AND queued.queue = urls.queue AND queued.score = urls.score
    ) UNION SELECT url, queued.host, queued.queue FROM queued WHERE NOT EXISTS (
        SELECT 1 FROM urls WHERE id = url AND state = 1
        AND queued.host = urls.host AND queued.queue = urls.queue AND queued.score = urls.score
    )
"""


class CrawlCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a crawl, as it was after one commit, in the tables of a crawl's file."""

    connection: sqlite3.Connection
    where: str
    is_led: bool
    """Whether a process had the lead of the crawl at that moment."""
    wrong: list[str]
    """The rows that cannot be read, and where indexes do not agree with rows, in sentences."""


@contextmanager
def copy_crawl(address: RedisAddress, crawl: str) -> Iterator[CrawlCopy]:
    """Copy a crawl that is there into a temporary database, which is gone in the end."""
    keys = RowKeys(crawl)
    with linked_to_crawl(address, crawl) as link, ExitStack() as stack:
        where = keys.describe(address)
        try:
            rows, connection, moment = _copy(link, keys, stack)
            wrong = [*chain(rows.damage.values(), wrong_indexes(rows, connection, moment))]
            yield CrawlCopy(connection=connection, where=where, is_led=moment.is_led, wrong=wrong)
        except (_CannotCopyError, sqlite3.Error) as error:
            raise CrawlError(f"cannot copy {where}: {error}") from error


def _copy(
    link: BlockingLink, keys: RowKeys, stack: ExitStack
) -> tuple[RowSource, sqlite3.Connection, Moment]:
    for _ in range(ATTEMPTS):
        connection = stack.enter_context(closing(sqlite3.connect("", isolation_level=None)))
        rows = RowSource(link, keys)
        with suppress(JournalLostError):
            moment = Copying(rows, connection).copy()
            return rows, connection, moment
    raise _CannotCopyError(
        f"the store has lost {ATTEMPTS} times what was changed meanwhile, as if its server was "
        "restarted or the crawl started over: try again"
    )


class _CannotCopyError(Exception):
    """Why a crawl cannot be copied."""


class JournalLostError(Exception):
    """It is not known any more what was changed since a copy began."""


class Copying:
    """The copying of a crawl's rows into tables."""

    def __init__(self, rows: RowSource, connection: sqlite3.Connection) -> None:
        """Take a crawl and an empty database, in which each statement is on its own."""
        self._rows, self._link, self._keys = rows, rows.link, rows.keys
        self._db = connection
        self._stamp: bytes | None = None
        """The stamp of the last commit whose entry in the journal was read."""
        self._read_entries = 0
        """How many entries of the journal were read."""
        self._watch_again_at = 0.0
        self._last_url = 0
        """The last URL in the tables."""

    def copy(self) -> Moment:
        """Copy everything; return what is true of all of it."""
        make_tables(self._db)
        self._db.execute("BEGIN")
        self._watch()
        numbers = self._rows.moment().numbers
        everything = ChangedRows(
            urls=range(1, numbers.url + 1),
            hosts=range(1, numbers.host + 1),
            pages=range(1, numbers.page + 1),
            domains=self._rows.domain_names(),
        )
        self._read(everything)
        moment = self._catch_up()
        most = moment.lengths["attempts"]
        counts = self._db.execute("SELECT id, min(attempts, ?) FROM urls ORDER BY id", (most,))
        while batch := counts.fetchmany(ROWS_AT_ONCE):
            names = [(url_id, place) for url_id, count in batch for place in range(count)]
            self._take("attempts", self._rows.attempts, names)
        self._take("results", self._rows.results, range(1, moment.numbers.result + 1))
        if not self._link.ask(("EXISTS", self._keys.watched))[0]:
            raise JournalLostError
        return moment

    # -- the journal -----------------------------------------------------------------------------

    def _watch(self) -> None:
        """Have changes noted from now on."""
        keys = self._keys
        _, self._read_entries, self._stamp = self._rows.together(
            ("SET", keys.watched, 1, "EX", WATCHED_S), ("LLEN", keys.journal), ("GET", keys.commit)
        )
        self._watch_again_at = time.monotonic() + WATCHED_S / 4

    def _stay_watched(self) -> None:
        if time.monotonic() > self._watch_again_at:
            # If it has run out meanwhile, entries are missing from the journal.
            self._link.ask(
                *(("EXPIRE", key, WATCHED_S) for key in (self._keys.watched, self._keys.journal))
            )
            self._watch_again_at = time.monotonic() + WATCHED_S / 4

    def _changed(self) -> ChangedRows:
        """Return what has changed since this was last asked."""
        packed, stamp = self._rows.together(
            ("LRANGE", self._keys.journal, self._read_entries, -1), ("GET", self._keys.commit)
        )
        entries = [*map(read_entry, packed)]
        first, last = commit_number(self._stamp) + 1, commit_number(stamp)
        if [entry.commit for entry in entries] != [*range(first, last + 1)]:
            raise JournalLostError
        self._stamp = stamp
        self._read_entries += len(entries)
        return merge(entries)

    def _catch_up(self) -> Moment:
        """Read what was changed meanwhile, until nothing changes between beginning and end."""
        for _ in range(MOST_ROUNDS):
            changed = self._changed()
            self._read(changed)
            rows = len(changed.urls) + len(changed.hosts) + len(changed.domains)
            if rows <= FEW_ROWS and len(changed.pages) <= FEW_PAGES:
                self._link.ask(("SET", self._keys.hold, 1, "PX", round(HOLD_S * 1000)))
                try:
                    self._read(self._changed())
                    moment = self._rows.moment()
                finally:
                    self._link.ask(("DEL", self._keys.hold))
                if moment.stamp == self._stamp:  # else somebody did not wait
                    changes = Changes()
                    changes.metadata |= moment.metadata
                    self._write(changes)
                    return moment
        raise _CannotCopyError("it changes faster than it can be read; try again later")

    # -- rows ------------------------------------------------------------------------------------

    def _read(self, changed: ChangedRows) -> None:
        self._take("hosts", self._rows.hosts, changed.hosts)
        self._take("urls", self._rows.urls, changed.urls)
        self._take("url_blocks", self._rows.url_blocks, [*blocks_of(changed.urls)])
        self._take("pages", self._rows.pages, changed.pages, PAGES_AT_ONCE)
        self._take("page_blocks", self._rows.page_blocks, [*blocks_of(changed.pages)])
        self._take("domains", self._rows.domains, changed.domains)

    def _take(
        self,
        table: str,
        read: Callable[[Sequence[Name]], Changes],
        names: Sequence[Name],
        size: int = ROWS_AT_ONCE,
    ) -> None:
        """Copy rows in portions; if the tables cannot hold all of one, each on its own."""
        for batch in cut(names, size):
            self._stay_watched()
            changes = read(batch)
            if self._write(changes):
                continue
            if len(batch) > 1:
                self._take(table, read, batch, 1)
            else:
                self._rows.note(f"row {batch[0]} of {table}", "breaks the form of its table")

    def _write(self, changes: Changes) -> bool:
        """Replace rows; nothing and False if the tables cannot hold all of them."""
        self._db.execute("SAVEPOINT rows")
        try:
            write_changes(self._db, changes, self._last_url)
            self._last_url = max(self._last_url, max(changes.urls, default=0))
        except _MISFITS:
            self._db.execute("ROLLBACK TO rows")
            return False
        finally:
            self._db.execute("RELEASE rows")
        return True


def wrong_indexes(rows: RowSource, copy: sqlite3.Connection, moment: Moment) -> Iterator[str]:
    """Yield where indexes do not agree with rows, in sentences."""
    for what, stored, there in _counts(copy, moment):
        if stored != there:
            yield f"{what}: the store says {stored}, and its rows {there}"
    if moment.numbers.rows > moment.numbers.result:
        yield f"rows are gone up to result {moment.numbers.rows}, which does not exist"
    if not commit_number(moment.stamp):
        yield "the number of the last commit is missing"
    places, numbers, bodies = [], moment.numbers, set[bytes]()
    strings = {f"url-keys:{part}" for part in range(numbers.url // PART + 1)}
    strings |= {f"page-digests:{part}" for part in range(numbers.page // PART + 1)}
    for name in _key_names(rows.link, rows.keys):
        if match := _QUEUE.fullmatch(name):
            places.append((int(match[1]), int(match[2])))
        elif name in strings:
            strings.remove(name)
        elif name.startswith("body:"):
            bodies.add(rows.keys.body(name.removeprefix("body:")))
        elif name not in NAMES.values() and not name.startswith("messages:"):
            yield f"the key {name} belongs to nothing"
    yield from _leaked(rows, bodies)
    yield from _misplaced(rows, copy, sorted(places))
    yield from _misnamed(rows, copy)


def _counts(copy: sqlite3.Connection, moment: Moment) -> Iterator[tuple[str, int, int]]:
    """Yield each number that the store has, and what it must be by the rows."""

    def number(query: str) -> int:
        (value,) = copy.execute(query).fetchone()
        return int(value)

    lengths = moment.lengths
    for rows, names in COUNTED.items():
        there = number(f"SELECT count(*) FROM {rows}")  # noqa: S608 -- our own words
        yield from ((f"entries in {name}", lengths[name], there) for name in names)
    yield "ages of rows of results", lengths["row_ages"], lengths["result_rows"]
    if not moment.is_led:  # else some may have gone since
        there = number("SELECT count(*) FROM result_rows")
        yield "rows of results", lengths["result_rows"], there
    for name, table in _NUMBERED.items():
        last = number(f"SELECT coalesce(max(rowid), 0) FROM {table}")  # noqa: S608 -- our own words
        yield f"the number of the last {name}", getattr(moment.numbers, name), last
    due = len(RowNumbers.__struct_fields__) if any(lengths.values()) else 0
    yield "numbers of last rows", lengths["numbers"], due


def _key_names(link: BlockingLink, keys: RowKeys) -> set[str]:
    """Return how the keys of the crawl end."""
    names: set[bytes] = set()
    cursor = None
    while cursor != b"0":
        ((cursor, some),) = link.ask(
            ("SCAN", cursor or 0, "MATCH", keys.prefix + b"*", "COUNT", MEMBERS_AT_ONCE)
        )
        names |= {*some}
    return {name.removeprefix(keys.prefix).decode(errors="backslashreplace") for name in names}


def _leaked(rows: RowSource, keys: set[bytes]) -> Iterator[str]:
    """Yield the bodies that no page refers to, and that do not run out either."""
    link, kept = rows.link, set[bytes]()
    for some in cut([*keys], AT_ONCE):
        times = link.ask(*(("PTTL", key) for key in some))
        kept |= {key for key, left_ms in zip(some, times, strict=True) if left_ms == KEPT}
    # A page referred to each of these by then, so it does now, unless it has dropped the body.
    names = read_fields(link, rows.keys.body_names).values() if kept else ()
    kept -= {rows.keys.body(name.decode()) for name in names}
    for key in kept:
        if link.ask_one("EXISTS", key):
            yield f"no page refers to the {key.removeprefix(rows.keys.prefix).decode()}"


def _misplaced(rows: RowSource, copy: sqlite3.Connection, places: Sequence[Place]) -> Iterator[str]:
    """Yield the URLs that are not in the queue in which they wait, or in another one."""
    copy.execute("CREATE TEMP TABLE queued (url INTEGER, host, queue, score)")
    for host, queue in places:
        for packed, score in _members(rows.link, rows.keys.queued(host, queue)):
            if len(packed) != MEMBER_BYTES or packed[0] > 127:
                yield f"queue {queue} of host {host} has an entry that is no URL"
                continue
            entry = number_of(packed), host, queue, score
            copy.execute("INSERT INTO queued VALUES (?, ?, ?, ?)", entry)
    copy.execute("CREATE INDEX temp.queued_by_url ON queued (url)")
    suspects = copy.execute(_MISPLACED).fetchall()
    copy.execute("DROP TABLE temp.queued")
    for batch in cut(suspects, AT_ONCE):
        packed_rows, *scores = rows.together(
            ("HMGET", rows.keys.urls, *(url_id for url_id, _, _ in batch)),
            *(("ZSCORE", rows.keys.queued(*place), member(url_id)) for url_id, *place in batch),
        )
        for (url_id, host, queue), packed, score in zip(batch, packed_rows, scores, strict=True):
            row = rows.read(f"URL {url_id}", packed, decode_url)
            is_due = row and row.state == UrlState.QUEUED and (row.host, row.queue) == (host, queue)
            due = row.score if row and is_due else None
            there = None if score is None else float(score)
            if there != due:
                yield (
                    f"URL {url_id} is in queue {queue} of host {host} with the score {there}, "
                    f"and should be there with {due}"
                )


def _members(link: BlockingLink, key: bytes) -> Iterator[tuple[bytes, float]]:
    """Yield the members of a sorted set with their scores."""
    start, stored = 0, None
    while stored is None or len(stored) == 2 * MEMBERS_AT_ONCE:
        last = start + MEMBERS_AT_ONCE - 1
        (stored,) = link.ask(("ZRANGE", key, start, last, "WITHSCORES"))
        yield from zip(stored[::2], map(float, stored[1::2]), strict=True)
        start += MEMBERS_AT_ONCE


def _misnamed(source: RowSource, copy: sqlite3.Connection) -> Iterator[str]:
    """Yield the URLs and hosts that are not found by their keys, which never change."""
    for what, ids in (("url", source.keys.known), ("host", source.keys.host_ids)):
        rows = copy.execute(f"SELECT id, key FROM {what}s")  # noqa: S608 -- our own names
        while batch := rows.fetchmany(AT_ONCE):
            (stored,) = source.link.ask(("HMGET", ids, *(key for _, key in batch)))
            for (number, _), packed in zip(batch, stored, strict=True):
                if packed != b"%d" % number:
                    yield f"{what} {number} is not found by its key"
