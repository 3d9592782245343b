"""Whether what a crawl in Redis has beside its rows agrees with them.

Sorted sets, bits and numbers say again what the rows say, so that they are found quickly. Numbers
are of the moment of the copy. The rest is read afterwards, and compared with the copy; while the
crawl goes on, that is a suspicion only, and what looks wrong is read again together with its row.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from gossamer.stores.redis.blocking_link import BlockingLink, Command
from gossamer.stores.redis.row_changes import RowNumbers, decode_page, decode_url
from gossamer.stores.redis.row_keys import NAMES, RowKeys, member, number_of
from gossamer.stores.rows import UrlRow
from gossamer.stores.url_record import UrlState
from gossamer.views.redis_batches import Damage, cut, decode_result
from gossamer.views.redis_snapshot import Moment

AT_ONCE: Final = 500
MEMBERS_AT_ONCE: Final = 5_000
BYTES_AT_ONCE: Final = 8_192
MEMBER_BYTES: Final = 8
LOOKS: Final = 5
"""How often a URL is looked for that moves meanwhile."""

_COUNTS = {
    "urls": "SELECT count(*) FROM urls",
    "known": "SELECT count(*) FROM urls",
    "links": "SELECT count(*) FROM urls WHERE length(targets) > 0",
    "attempts": "SELECT count(*) FROM attempts",
    "relaxing": "SELECT count(*) FROM relaxing",
    "leases": "SELECT count(*) FROM leases",
    "hosts": "SELECT count(*) FROM hosts",
    "host_ids": "SELECT count(*) FROM hosts",
    "host_urls": "SELECT count(*) FROM hosts",
    "domains": "SELECT count(*) FROM domains",
    "pages": "SELECT count(*) FROM pages",
    "contents": "SELECT count(*) FROM contents",
    "bands": "SELECT count(*) FROM sketches",
    "samples": "SELECT count(*) FROM sketches",
    "results": "SELECT count(*) FROM results",
}
"""How many rows there are in the tables of the copy, for each table of the store."""
_ROWS = "SELECT count(*) FROM result_rows"
_LAST = {
    "url": "SELECT coalesce(max(id), 0) FROM urls",
    "host": "SELECT coalesce(max(id), 0) FROM hosts",
    "page": "SELECT coalesce(max(id), 0) FROM pages",
    "result": "SELECT coalesce(max(number), 0) FROM results",
}
_MISFILED = """
    SELECT id FROM urls WHERE state = 1 AND id NOT IN (
        SELECT url FROM filed WHERE filed.host = urls.host AND filed.queue = urls.queue
    )
    UNION SELECT filed.url FROM filed LEFT JOIN urls ON urls.id = filed.url
    WHERE urls.state IS NOT 1 OR filed.host <> urls.host OR filed.queue IS NOT urls.queue
       OR filed.score <> urls.score
"""
_AGED = """
    SELECT number FROM ({stored}) WHERE number NOT IN (SELECT number FROM aged)
    UNION SELECT aged.number FROM aged LEFT JOIN ({stored}) AS stored
    ON stored.number = aged.number WHERE stored.at IS NOT aged.at
"""


class Place(NamedTuple):
    """A priority queue of a host."""

    host: int
    queue: int


class _Bits(NamedTuple):
    """Bits that say of each URL again what a row of it says."""

    key: bytes
    condition: str
    """Which are set, in SQL."""
    what: str
    table: bytes
    """Where the row is."""
    is_due: Callable[[bytes], bool]
    """Whether the bit of a row is to be set."""


class IndexCheck:
    """The comparison of a crawl in Redis with its copy."""

    def __init__(
        self, link: BlockingLink, keys: RowKeys, copy: sqlite3.Connection, moment: Moment
    ) -> None:
        self._link = link
        self._keys = keys
        self._db = copy
        self._moment = moment
        self._places: dict[int, set[Place]] = {}
        """In which queues URLs were found that may be wrong there."""

    def complaints(self) -> Iterator[str]:
        """Yield what is wrong, in sentences."""
        yield from self._miscounted()
        queues: list[Place] = []
        for name in self._names():
            if (place := self._place_of(name)) is not None:
                queues.append(place)
            elif not self._is_known(name):
                yield f"the key {name.decode(errors='replace')} belongs to nothing"
        yield from self._misfiled(sorted(queues))
        yield from self._misaged()
        yield from self._misnamed()
        yield from self._misset_bits()

    # -- numbers ---------------------------------------------------------------------------------

    def _miscounted(self) -> Iterator[str]:
        moment = self._moment
        for name, query in _COUNTS.items():
            rows, there = self._number(query), moment.lengths[name]
            if rows != there:
                yield f"{there} fields in {name}, of which {rows} belong to rows that can be read"
        if not moment.is_led:  # else some may have gone since
            rows, there = self._number(_ROWS), moment.lengths["result_rows"]
            if rows != there:
                yield f"{there} rows of results, of which {rows} belong to results"
        for name, query in _LAST.items():
            last, noted = self._number(query), getattr(moment.numbers, name)
            if last != noted:
                yield f"the last {name} has the number {last}, and {noted} is noted"
        if moment.numbers.rows > moment.numbers.result:
            yield f"rows are gone up to result {moment.numbers.rows}, which does not exist"
        is_empty = not any(moment.lengths.values())
        if not is_empty and moment.lengths["numbers"] != len(RowNumbers.__struct_fields__):
            yield f"{moment.lengths['numbers']} numbers of last rows are noted"
        if not moment.commit:
            yield "the number of the last commit is missing"

    def _number(self, query: str) -> int:
        (number,) = self._db.execute(query).fetchone()
        return int(number)

    # -- keys ------------------------------------------------------------------------------------

    def _names(self) -> Iterator[bytes]:
        cursor, pattern = b"0", self._keys.prefix + b"*"
        passed: set[bytes] = set()
        while True:
            ((cursor, names),) = self._link.ask(
                ("SCAN", cursor, "MATCH", pattern, "COUNT", MEMBERS_AT_ONCE)
            )
            new = {*names} - passed
            passed |= new
            yield from new
            if cursor == b"0":
                return

    def _place_of(self, name: bytes) -> Place | None:
        kind, *numbers = name.removeprefix(self._keys.prefix).split(b":")
        if kind != b"queued" or len(numbers) != 2 or not all(one.isdigit() for one in numbers):
            return None
        return Place(int(numbers[0]), int(numbers[1]))

    def _is_known(self, name: bytes) -> bool:
        ending = name.removeprefix(self._keys.prefix).decode(errors="replace")
        return ending in NAMES.values() or ending.startswith("messages:")

    # -- queues ----------------------------------------------------------------------------------

    def _misfiled(self, places: Sequence[Place]) -> Iterator[str]:
        self._db.execute("CREATE TEMP TABLE filed (url INTEGER, host, queue, score)")
        self._db.execute("CREATE INDEX temp.filed_by_url ON filed (url)")
        for place in places:
            for number, score in self._members(self._keys.queued(*place)):
                if number is None:
                    yield f"queue {place.queue} of host {place.host} has an entry that is no URL"
                    continue
                self._db.execute("INSERT INTO filed VALUES (?, ?, ?, ?)", (number, *place, score))
        suspects = [url_id for (url_id,) in self._db.execute(_MISFILED)]
        for url_id in suspects:
            found = self._db.execute("SELECT host, queue FROM filed WHERE url = ?", (url_id,))
            self._places[url_id] = {Place(*row) for row in found}
        self._db.execute("DROP TABLE temp.filed")
        for url_id in suspects:
            yield from self._filed_wrong(url_id)

    def _filed_wrong(self, url_id: int) -> Iterator[str]:
        """Yield what is wrong with where a URL is queued, if that is still so."""
        wrong: list[str] = []
        row = self._row(url_id, self._link.ask(("HGET", self._keys.urls, url_id))[0])
        for _ in range(LOOKS):
            due = None if row is None else _due_place(row)
            places = sorted(self._places[url_id] | ({due} if due else set()))
            queries = [("ZSCORE", self._keys.queued(*one), member(url_id)) for one in places]
            packed, *scores = self._together(("HGET", self._keys.urls, url_id), *queries)
            again = self._row(url_id, packed)
            is_settled = (None if again is None else _due_place(again)) == due
            row = again
            wrong = []
            for place, score in zip(places, scores, strict=True):
                wrong += self._complaint(url_id, row, place, score, due)
            if is_settled:
                break
        yield from wrong

    @staticmethod
    def _complaint(
        url_id: int, row: UrlRow | None, place: Place, score: bytes | None, due: Place | None
    ) -> list[str]:
        what = f"URL {url_id}" if row is None else row.url
        where = f"queue {place.queue} of host {place.host}"
        if place != due:
            return [] if score is None else [f"{what} is in {where}, and does not wait there"]
        assert row is not None
        if score is None:
            return [f"{what} waits, and is not in {where}"]
        if float(score) != row.score:
            return [f"{what} is in {where} with the score {float(score)}, and has {row.score}"]
        return []

    def _row(self, url_id: int, packed: bytes | None) -> UrlRow | None:
        return None if packed is None else Damage().read(f"URL {url_id}", packed, decode_url)

    # -- ages ------------------------------------------------------------------------------------

    def _misaged(self) -> Iterator[str]:
        keys = self._keys
        contents = "SELECT page AS number, fetched_at AS at FROM contents"
        rows = "SELECT number, settled_at AS at FROM result_rows JOIN results USING (number)"

        def fetched_at(packed: bytes) -> float:
            return decode_page(packed).fetched_at

        def settled_at(packed: bytes) -> float:
            return decode_result(packed).settled_at

        yield from self._not_aged(
            "the content of page", contents, keys.kept, (keys.contents, keys.pages, fetched_at)
        )
        yield from self._not_aged(
            "the row of result", rows, keys.row_ages, (keys.result_rows, keys.results, settled_at)
        )

    def _not_aged(
        self,
        what: str,
        stored: str,
        ages: bytes,
        source: tuple[bytes, bytes, Callable[[bytes], float]],
    ) -> Iterator[str]:
        values, rows, at_of = source
        self._db.execute("CREATE TEMP TABLE aged (number INTEGER PRIMARY KEY, at)")
        for number, score in self._members(ages):
            if number is None:
                yield f"among the ages of {what} there is one of nothing"
                continue
            self._db.execute("INSERT OR REPLACE INTO aged VALUES (?, ?)", (number, score))
        suspects = [number for (number,) in self._db.execute(_AGED.format(stored=stored))]
        self._db.execute("DROP TABLE temp.aged")
        for some in cut(suspects, AT_ONCE):
            answers = self._together(
                *(("HEXISTS", values, one) for one in some),
                *(("ZSCORE", ages, member(one)) for one in some),
                ("HMGET", rows, *some),
            )
            *flat, packed = answers
            there, scores = flat[: len(some)], flat[len(some) :]
            for number, is_there, score, row in zip(some, there, scores, packed, strict=True):
                at = None if row is None else Damage().read(what, row, at_of)
                if bool(is_there) != (score is not None):
                    missing = "its age" if is_there else "itself"
                    yield f"{what} {number} misses {missing}"
                elif score is not None and float(score) != at:
                    yield f"{what} {number} has another age than its row"

    # -- ids -------------------------------------------------------------------------------------

    def _misnamed(self) -> Iterator[str]:
        """Yield the URLs and hosts that are not found by their keys, which never change."""
        keys = self._keys
        for what, table, named in (("URL", "urls", keys.known), ("host", "hosts", keys.host_ids)):
            rows = self._db.execute(f"SELECT id, key FROM {table}")  # noqa: S608 -- our own names
            while some := rows.fetchmany(AT_ONCE):
                (ids,) = self._link.ask(("HMGET", named, *(key for _, key in some)))
                for (number, _), stored in zip(some, ids, strict=True):
                    if stored != b"%d" % number:
                        yield f"{what} {number} is not found by its key"

    # -- bits ------------------------------------------------------------------------------------

    def _misset_bits(self) -> Iterator[str]:
        keys = self._keys
        linked = _Bits(keys.linked, "length(targets) > 0", "links", keys.links, bool)
        unscored = _Bits(keys.unscored, "state = 0", "no score", keys.urls, _is_unscored)
        for bits in (linked, unscored):
            yield from self._misset(bits)

    def _misset(self, bits: "_Bits") -> Iterator[str]:
        (length,) = self._link.ask(("STRLEN", bits.key))
        last = max(self._moment.numbers.url // 8, length - 1)
        for start in range(0, last + 1, BYTES_AT_ONCE):
            (packed,) = self._link.ask(("GETRANGE", bits.key, start, start + BYTES_AT_ONCE - 1))
            first, after = 8 * start, 8 * (start + BYTES_AT_ONCE)
            due = self._db.execute(
                f"SELECT id FROM urls WHERE id >= ? AND id < ? AND {bits.condition}",  # noqa: S608 -- our own words
                (first, after),
            )
            suspects = {url_id for (url_id,) in due} ^ set(_set_bits(packed, first))
            for some in cut(sorted(suspects), AT_ONCE):
                *set_bits, rows = self._together(
                    *(("GETBIT", bits.key, one) for one in some), ("HMGET", bits.table, *some)
                )
                for url_id, bit, row in zip(some, set_bits, rows, strict=True):
                    if bool(bit) != (row is not None and bits.is_due(row)):
                        has = "is" if bit else "is not"
                        yield f"URL {url_id} {has} noted as one with {bits.what}"

    # -- the connection --------------------------------------------------------------------------

    def _members(self, key: bytes) -> Iterator[tuple[int | None, float]]:
        """Yield the members of a sorted set with their scores; None: one that is no number."""
        start = 0
        while True:
            (stored,) = self._link.ask(
                ("ZRANGE", key, start, start + MEMBERS_AT_ONCE - 1, "WITHSCORES")
            )
            for packed, score in zip(stored[::2], stored[1::2], strict=True):
                is_number = len(packed) == MEMBER_BYTES and packed[0] < 128
                yield number_of(packed) if is_number else None, float(score)
            if len(stored) < 2 * MEMBERS_AT_ONCE:
                return
            start += MEMBERS_AT_ONCE

    def _together(self, *commands: Command) -> list[Any]:
        """Return the answers of commands that are carried out in one transaction."""
        answers = self._link.patiently(lambda: self._link.execute(*commands))
        assert answers is not None, "nothing is watched"
        return answers


def _is_unscored(packed: bytes) -> bool:
    row = Damage().read("a URL", packed, decode_url)
    return row is not None and row.state == UrlState.UNSCORED


def _due_place(row: UrlRow) -> Place | None:
    """Return the queue in which a URL must be; None: in none."""
    if row.state != UrlState.QUEUED or row.queue is None:
        return None
    return Place(row.host, row.queue)


def _set_bits(bits: bytes, first: int) -> Iterable[int]:
    """Return the numbers of the bits that are set; the first byte has those from `first` on."""
    return (
        first + 8 * place + bit
        for place, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte & 128 >> bit
    )
