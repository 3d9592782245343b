"""A copy of a crawl in Redis as it is after one commit, while others may work on it.

Everything is read in batches. Meanwhile commits note which rows they change (journal.py): those are
read again, until few are left. Then commits are held up for some milliseconds, and what is left is
read in one transaction with the number of the commit: that is the moment. Attempts and results
never change; those that were there at the moment are read at the end.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from redis import exceptions

from gossamer.errors import CrawlError
from gossamer.stores.redis.blocking_link import BlockingLink, Command, pack
from gossamer.stores.redis.journal import HOLD_S, WATCHED_S, ChangedRows, read_entry
from gossamer.stores.redis.row_changes import RowNumbers
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.redis.row_loading import read_fields
from gossamer.stores.rows import Changes
from gossamer.views.copied_tables import CopiedTables
from gossamer.views.redis_batches import (
    AttemptBatch,
    Batch,
    Damage,
    DomainBatch,
    HostBatch,
    PageBatch,
    ResultBatch,
    UrlBatch,
    cut,
)

ROWS_AT_ONCE: Final = 1_000
PAGES_AT_ONCE: Final = 100
FEW_ROWS: Final = 2_000
FEW_PAGES: Final = 200
"""So many may be left for the transaction that is the moment."""
ATTEMPTS: Final = 3
"""How often a copy is begun: its journal may get lost."""
MOST_CATCHING_UP: Final = 100
HASHES: Final = (
    *("numbers", "urls", "known", "links", "attempts", "relaxing", "leases"),
    *("hosts", "host_ids", "host_urls", "domains"),
    *("pages", "contents", "bands", "samples", "results", "result_rows"),
)
"""The tables whose rows are counted at the moment."""


class Moment(msgspec.Struct, frozen=True):
    """What was read in the transaction that is the moment."""

    commit: int
    """The number of the commit; 0: there was none."""
    is_led: bool
    """Whether a process works on the crawl."""
    numbers: RowNumbers
    lengths: Mapping[str, int]
    """How many rows each of `HASHES` has."""


class JournalLostError(Exception):
    """It is not known any more what was changed since a copy began."""


class RowSnapshot:
    """The copying of a crawl's rows into tables."""

    def __init__(self, link: BlockingLink, keys: RowKeys, tables: CopiedTables, where: str) -> None:
        """Take an open connection, empty tables, and what the crawl is called among people."""
        self._link = link
        self._keys = keys
        self._tables = tables
        self._where = where
        self.damage = Damage()
        self._commit = 0
        """Up to which commit changes were taken in."""
        self._read_entries = 0
        """Where in the journal the next one is."""
        self._left = ChangedRows()
        """What has changed since it was read."""
        self._watch_again_at = 0.0

    def copy(self) -> Moment:
        """Copy everything; return what is true of all of it."""
        for _ in range(ATTEMPTS):
            try:
                return self._copy()
            except JournalLostError:
                self._tables.clear()
                self.damage.found.clear()
        raise CrawlError(
            f"cannot copy {self._where}: the store has lost {ATTEMPTS} times what was changed "
            "meanwhile, as if its server was restarted or the crawl started over: try again"
        )

    def _copy(self) -> Moment:
        self._watch()
        numbers = self._numbers(self._ask(("HGETALL", self._keys.numbers))[0])
        every = ChangedRows(
            urls=[*range(1, numbers.url + 1)],
            hosts=[*range(1, numbers.host + 1)],
            pages=[*range(1, numbers.page + 1)],
            domains=self._domain_names(),
        )
        for batch in self._batches(every):
            self._take([batch])
        moment = self._catch_up()
        for batch in self._settled(moment.numbers):
            self._take([batch])
        if not self._ask(("EXISTS", self._keys.watched))[0]:
            raise JournalLostError
        return moment

    def _domain_names(self) -> list[str]:
        names = []
        for packed in read_fields(self._link, self._keys.domains):
            if (name := self.damage.read("the name of a domain", packed, _text)) is not None:
                names.append(name)
        return names

    # -- the journal -----------------------------------------------------------------------------

    def _watch(self) -> None:
        """Have changes noted from now on."""
        self._left = ChangedRows()
        self._commit, self._read_entries = self._link.patiently(self._watch_once)
        self._watch_again_at = time.monotonic() + WATCHED_S / 4

    def _watch_once(self) -> tuple[int, int]:
        keys = self._keys
        while True:
            look: list[Command] = [("WATCH", keys.watched), ("EXISTS", keys.watched)]
            _, is_watched = self._round_trip(look, same=False)
            begin: list[Command] = [("SET", keys.watched, 1, "EX", WATCHED_S)]
            if not is_watched:  # what is in the journal is of an earlier copy
                begin.append(("DEL", keys.journal))
            ends: list[Command] = [("LLEN", keys.journal), ("GET", keys.commit)]
            executed = self._execute([*begin, *ends])
            if executed is not None:
                length, stamp = executed[-2:]
                return _number_in(stamp), int(length)

    def _catch_up(self) -> Moment:
        """Read again what was changed meanwhile, until the rest can be had at one moment."""
        for _ in range(MOST_CATCHING_UP):
            self._read_journal()
            if _size(self._left) <= 1:
                moment = self._link.patiently(self._freeze)
                if moment is not None:
                    return moment
                continue  # somebody did not wait: what has changed is in the journal
            left, self._left = self._left, ChangedRows()
            for batch in self._batches(left):
                self._take([batch])
        raise CrawlError(
            f"cannot copy {self._where}: it changes faster than it can be read; try again later"
        )

    def _read_journal(self) -> None:
        """Note what has changed since it was last read."""
        keys = self._keys
        packed, stamp = self._transaction(
            ("LRANGE", keys.journal, self._read_entries, -1), ("GET", keys.commit)
        )
        entries = [read_entry(one) for one in packed]
        expected = range(self._commit + 1, self._commit + 1 + len(entries))
        if [one.commit for one in entries] != [*expected] or _number_in(stamp) != (
            self._commit + len(entries)
        ):
            raise JournalLostError
        self._commit += len(entries)
        self._read_entries += len(entries)
        noted = [self._left, *entries]
        self._left = ChangedRows(
            urls=sorted({one for entry in noted for one in entry.urls}),
            hosts=sorted({one for entry in noted for one in entry.hosts}),
            pages=sorted({one for entry in noted for one in entry.pages}),
            domains=sorted({one for entry in noted for one in entry.domains}),
        )

    def _freeze(self) -> Moment | None:
        """Read what is left, and all that is small, while commits wait.

        None: there was a commit nevertheless, which is then in the journal.
        """
        keys = self._keys
        self._round_trip([("SET", keys.hold, 1, "PX", round(HOLD_S * 1000))], same=False)
        try:
            self._read_journal()
            batches = [*self._batches(self._left)]
            small: list[Command] = [
                ("GET", keys.commit),
                ("GET", keys.lead),
                ("HGETALL", keys.numbers),
                ("HGETALL", keys.metadata),
                *(("HLEN", getattr(keys, name)) for name in HASHES),
            ]
            commands = [command for batch in batches for command in batch.commands()]
            answers = self._transaction(*commands, *small)
        finally:
            self._round_trip([("DEL", keys.hold)], same=False)
        rest = answers[len(commands) :]
        self._take_answers(batches, answers[: len(commands)])
        stamp, lead, numbers, metadata, *lengths = rest
        self._left = ChangedRows()
        if _number_in(stamp) != self._commit:
            return None
        changes = Changes()
        for name, value in zip(metadata[::2], metadata[1::2], strict=True):
            text = self.damage.read("the name of a metadata value", name, _text)
            if text is not None:
                changes.metadata[text] = value
        self._tables.write(changes)
        return Moment(
            commit=self._commit,
            is_led=lead is not None,
            numbers=self._numbers(numbers),
            lengths=dict(zip(HASHES, map(int, lengths), strict=True)),
        )

    # -- rows ------------------------------------------------------------------------------------

    def _batches(self, changed: ChangedRows) -> Iterator[Batch]:
        """Yield the rows that are to be read."""
        keys = self._keys
        for hosts in cut(changed.hosts, ROWS_AT_ONCE):
            yield HostBatch(keys, hosts)
        for urls in cut(changed.urls, ROWS_AT_ONCE):
            yield UrlBatch(keys, urls)
        for pages in cut(changed.pages, PAGES_AT_ONCE):
            yield PageBatch(keys, pages)
        for names in cut(changed.domains, ROWS_AT_ONCE):
            yield DomainBatch(keys, names)

    def _settled(self, numbers: RowNumbers) -> Iterator[Batch]:
        """Yield the attempts and results that there were at the moment."""
        select = "SELECT id, attempts FROM urls WHERE id > ? ORDER BY id LIMIT ?"
        last = 0
        while rows := self._tables.connection.execute(select, (last, ROWS_AT_ONCE)).fetchall():
            last = rows[-1][0]
            yield AttemptBatch(self._keys, [(url_id, count) for url_id, count in rows])
        for some in cut(range(1, numbers.result + 1), ROWS_AT_ONCE):
            yield ResultBatch(self._keys, some)

    def _take(self, batches: Sequence[Batch]) -> None:
        commands = [command for batch in batches for command in batch.commands()]
        self._take_answers(batches, self._ask(*commands) if commands else [])

    def _take_answers(self, batches: Sequence[Batch], answers: Sequence[Any]) -> None:
        left = list(answers)
        for batch in batches:
            count = len(batch.commands())
            changes = Changes()
            batch.take(left[:count], changes, self.damage)
            del left[:count]
            self._tables.write(changes)

    def _numbers(self, stored: Sequence[bytes]) -> RowNumbers:
        pairs = zip(stored[::2], stored[1::2], strict=True)
        numbers = {name.decode("utf-8", "replace"): value for name, value in pairs}
        read: Callable[[bytes], int] = int
        known = {
            name: self.damage.read(f"the number '{name}'", numbers[name], read) or 0
            for name in RowNumbers.__struct_fields__
            if name in numbers
        }
        return RowNumbers(**known)

    # -- the connection --------------------------------------------------------------------------

    def _ask(self, *commands: Command) -> list[Any]:
        if time.monotonic() > self._watch_again_at:
            keys = self._keys
            # If it has run out meanwhile, entries are missing from the journal.
            watched = ("EXPIRE", keys.watched, WATCHED_S)
            self._link.ask(watched, ("EXPIRE", keys.journal, WATCHED_S))
            self._watch_again_at = time.monotonic() + WATCHED_S / 4
        return self._link.ask(*commands)

    def _transaction(self, *commands: Command) -> list[Any]:
        """Return the answers of commands that are carried out together."""
        executed = self._link.patiently(lambda: self._execute(commands, same=False))
        assert executed is not None, "nothing is watched"
        return executed

    def _execute(self, commands: Sequence[Command], *, same: bool = True) -> list[Any] | None:
        sent = [("MULTI",), *commands, ("EXEC",)]
        executed: list[Any] | None = self._round_trip(sent, same=same)[-1]
        for answer in executed or ():
            if isinstance(answer, exceptions.ResponseError):
                raise answer
        return executed

    def _round_trip(self, commands: Sequence[Command], *, same: bool) -> list[Any]:
        packed = b"".join(map(pack, commands))
        answers = self._link.answers(packed, len(commands), same=same)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers


def _size(changed: ChangedRows) -> float:
    """Return how much there is, as a share of what may be left for the moment."""
    rows = len(changed.urls) + len(changed.hosts) + len(changed.domains)
    return max(rows / FEW_ROWS, len(changed.pages) / FEW_PAGES)


def _number_in(stamp: bytes | None) -> int:
    """Return the number of a commit; 0 if there is none, or nobody can read it."""
    number, *_ = (stamp or b"").split(b" ")
    return int(number) if number.isdigit() else 0


def _text(packed: bytes) -> str:
    return packed.decode()
