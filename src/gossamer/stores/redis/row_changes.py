"""What changes in the rows of a crawl, as commands, and for whoever reads before they are sent."""

import struct
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import asdict, astuple, replace

from gossamer.model import Cause, HostKey, Outcome
from gossamer.stores.bodies import body_name
from gossamer.stores.columns import NO_QUEUE, URL_QUEUE, queue_where
from gossamer.stores.redis.connection import Word, pack
from gossamer.stores.redis.row_keys import (
    HASH_BYTES,
    PART,
    RowKeys,
    member,
    number_of,
    pack_entry,
)
from gossamer.stores.rows import Changes, Item, PageRow, ResultRow, SketchRow, UrlRow
from gossamer.stores.url_record import Attempt, UrlState

MOST_WORDS: Final = 4_000
MOST_BYTES: Final = 1_000_000
"""How much of one command there may be: others want to be served between large ones."""
FETCHED_AT: Final = struct.Struct("<d")
"""How the entry of a page's bands begins."""

encode: Final[Callable[[object], bytes]] = msgspec.msgpack.Encoder().encode
decode_url: Final = msgspec.msgpack.Decoder(UrlRow).decode
decode_page: Final = msgspec.msgpack.Decoder(PageRow).decode
decode_sample: Final = msgspec.msgpack.Decoder(tuple[bytes, bytes | None]).decode
_decode_attempt: Final = msgspec.msgpack.Decoder(
    tuple[float, Outcome, Cause | None, str, int | None]
).decode

_UNSCORED: Final = int(UrlState.UNSCORED)
_QUEUED: Final = int(UrlState.QUEUED)

Place: TypeAlias = tuple[int, int]
"""A priority queue of a host."""


class RowNumbers(msgspec.Struct):
    """How far the numbers of rows go."""

    url: int = 0
    host: int = 0
    page: int = 0
    result: int = 0
    rows: int = 0
    """Up to which result the rows are gone."""


class PackedCommands:
    """Commands of one transaction as they are sent: few large ones, and none too large."""

    def __init__(self) -> None:
        self.packed: list[bytes] = []

    def add(self, *command: Word) -> None:
        """Add one command."""
        self.packed.append(pack(command))

    def set_fields(self, key: bytes, fields: Mapping[Any, bytes]) -> None:
        """Set fields of a hash."""
        self._add_large(b"HSET", key, fields.items())

    def change_fields(self, key: bytes, fields: Mapping[Any, bytes | None]) -> None:
        """Set fields of a hash, and remove those without a value."""
        self.set_fields(key, {name: value for name, value in fields.items() if value is not None})
        self.add_words(b"HDEL", key, [name for name, value in fields.items() if value is None])

    def set_keys(self, key: bytes, ids: Mapping[bytes, int] | Mapping[HostKey, int]) -> None:
        """Set fields of a hash that tell ids."""
        self.add_words(b"HSET", key, [word for entry in ids.items() for word in entry])

    def set_scores(self, key: bytes, items: Iterable[Item]) -> None:
        """Put numbers into a sorted set."""
        words = [word for score, number in items for word in (repr(score), member(number))]
        self.add_words(b"ZADD", key, words)

    def remove_members(self, key: bytes, numbers: Iterable[int]) -> None:
        """Take numbers out of a sorted set."""
        self.add_words(b"ZREM", key, [*map(member, numbers)])

    def set_hashes(self, key_of: Callable[[int], bytes], hashes: Mapping[int, bytes]) -> None:
        """Put hashes into strings, each at the place of its number; neighbours together."""
        run: list[bytes] = []
        for number in sorted(hashes):
            run.append(hashes[number])
            if number + 1 not in hashes or not (number + 1) % PART or len(run) == MOST_WORDS:
                part, last = divmod(number, PART)
                first = last + 1 - len(run)
                self.add("SETRANGE", key_of(part), first * HASH_BYTES, b"".join(run))
                run = []

    def append(self, key: bytes, values: Iterable[bytes]) -> None:
        """Append values to a list."""
        self._add_large(b"RPUSH", key, ((value,) for value in values))

    def add_words(self, name: bytes, key: bytes, words: Sequence[Word]) -> None:
        """Add a command that takes any number of small words, such as HDEL, HSET, ZREM and ZADD.

        Words that belong together, as score and member, are two or four.
        """
        for first in range(0, len(words), MOST_WORDS):
            self.add(name, key, *words[first : first + MOST_WORDS])

    def _add_large(self, name: bytes, key: bytes, groups: Iterable[tuple[Any, ...]]) -> None:
        """Add a command of values of any size, each the last word of its group."""
        words: list[Word] = []
        size = 0
        for group in groups:
            words += group
            size += len(group[-1])
            if size >= MOST_BYTES or len(words) >= MOST_WORDS:
                self.add(name, key, *words)
                words, size = [], 0
        if words:
            self.add(name, key, *words)


class _QueueMoves:
    """Which URLs come into which priority queues, and which go."""

    def __init__(self, queue_of: "array[int]") -> None:
        self._queue_of = queue_of
        self.added: defaultdict[Place, list[Item]] = defaultdict(list)
        self.removed: defaultdict[Place, list[int]] = defaultdict(list)
        self.queues: dict[int, int] = {}
        """The queue of each URL from now on."""
        self._unscored: list[Word] = []

    def place(self, row: UrlRow) -> None:
        """Move a URL to where its row says."""
        url_id = row.id
        queue = queue_where(row.state, row.queue)
        if queue >= 0:
            assert row.score is not None, "a URL in a queue has a score"
            self.added[row.host, queue].append((row.score, url_id))
        before = self._queue_of[url_id] if url_id < len(self._queue_of) else NO_QUEUE
        if before >= 0 and before != queue:
            self.removed[row.host, before].append(url_id)
        if URL_QUEUE in {before, queue} and before != queue:
            self._unscored += (b"SET", b"u1", b"#%d" % url_id, int(queue == URL_QUEUE))
        self.queues[url_id] = queue

    def record(self) -> None:
        """Remember where the URLs are from now on."""
        queue_of, last = self._queue_of, max(self.queues, default=0)
        if last >= len(queue_of):
            queue_of.extend([NO_QUEUE] * (last + 1 - len(queue_of)))
        for url_id, queue in self.queues.items():
            queue_of[url_id] = queue

    def write(self, out: PackedCommands, keys: RowKeys) -> None:
        """Add the commands."""
        for place, ids in self.removed.items():
            out.remove_members(keys.queued(*place), ids)
        out.add_words(b"BITFIELD", keys.unscored, self._unscored)
        for place, items in self.added.items():
            out.set_scores(keys.queued(*place), items)


class PackedChanges:
    """Changes as they are sent; they may be read from here until they are on the server."""

    def __init__(
        self, changes: Changes, keys: RowKeys, queue_of: "array[int]", numbers: RowNumbers
    ) -> None:
        """Note the last numbers and the queues of the URLs."""
        self._changes = changes
        self._keys = keys
        self._queue_of = queue_of
        self._out = out = PackedCommands()
        self.urls = {url_id: encode(row) for url_id, row in changes.urls.items()}
        self.url_changes = changes.url_changes
        self._states = {
            url_id: change.state
            for url_id, change in changes.url_changes.items()
            if change.state is not None
        }
        """Of URLs that may come into another queue, that which their stored rows name."""
        self.requeued = [url_id for url_id, state in self._states.items() if state == _QUEUED]
        states = {url_id: row.state for url_id, row in changes.urls.items()} | self._states
        self.unscored = {url_id: state == _UNSCORED for url_id, state in states.items()}
        """Whether URLs wait for their score from now on."""
        self.known = {row.key: row.id for row in changes.urls.values() if row.id > numbers.url}
        hosts = changes.hosts.values()
        self.host_ids = {row.key: row.id for row in hosts if row.id > numbers.host}
        self.metadata = changes.metadata
        self.links = changes.links
        self.attempts: dict[str, bytes] = {}
        self.hosts = {host: encode(row) for host, row in changes.hosts.items()}
        self.host_urls = changes.host_urls | {row.id: row.urls for row in hosts}
        self.pages = {number: encode(row) for number, row in changes.pages.items()}
        self.reported = changes.reported
        self.contents = changes.contents
        self.bodies: dict[bytes, bytes] = {}
        """Keys of bodies that run out until now, with what refers to them: if one is not there any
        more, nothing may be written."""
        gone: dict[int, bytes | None] = dict.fromkeys(changes.dropped)
        self.bands = gone | {
            page: FETCHED_AT.pack(sketch.fetched_at) + sketch.bands
            for page, sketch in changes.sketches.items()
        }
        self.samples = gone | {
            page: encode((sketch.sample, sketch.own)) for page, sketch in changes.sketches.items()
        }
        self.dropped = changes.dropped
        self.results: dict[int, bytes] = {}
        self.result_rows: dict[int, bytes] = {}
        """Of the results that have one."""
        self._rows_dropped = changes.rows_dropped
        self._rows_expired = changes.rows_expired
        self.queued = self._write_urls(changes)
        self._write_crawl(changes)
        self._write_pages(changes)
        self._write_results(changes, numbers)
        self._write_messages(changes)
        numbers.url = max(numbers.url, *changes.urls, 0)
        numbers.host = max(numbers.host, *changes.hosts, 0)
        numbers.page = max(numbers.page, *changes.pages, 0)
        out.set_fields(keys.numbers, {name: b"%d" % n for name, n in asdict(numbers).items()})
        self._url_reads = _chunks(changes.url_changes)
        self._page_reads = _chunks(changes.reported)
        self._dropped_reads = _chunks(changes.dropped)
        self.reads = self._pack_reads()
        """Commands that read what is changed in part only, and which bodies are there."""
        self._moves: _QueueMoves | None = None

    # -- what has to be read first ---------------------------------------------------------------

    def _pack_reads(self) -> list[bytes]:
        keys = self._keys
        reads = []
        if self.bodies:
            reads = [pack(("WATCH", *self.bodies)), pack(("EXISTS", *self.bodies))]
        reads += [pack(("HMGET", keys.body_names, *pages)) for pages in self._dropped_reads]
        reads += [pack(("HMGET", keys.urls, *ids)) for ids in self._url_reads]
        reads += [pack(("HMGET", keys.pages, *numbers)) for numbers in self._page_reads]
        if self._rows_expired > float("-inf"):
            until = repr(self._rows_expired)
            reads.append(pack(("ZRANGE", keys.row_ages, "-inf", until, "BYSCORE")))
        return reads

    def has_lost_bodies(self, answers: Sequence[Any]) -> bool:
        """Tell whether bodies are missing, given the answers of `reads`."""
        return bool(self.bodies) and answers[1] < len(self.bodies)

    def commands(self, answers: Sequence[Any]) -> list[bytes]:
        """Return the commands, given the answers of `reads`."""
        if not answers:
            return self._out.packed
        keys, more = self._keys, PackedCommands()
        remaining = list(answers[2:] if self.bodies else answers)
        for _ in self._dropped_reads:
            names: list[bytes | None] = remaining.pop(0)
            if bodies := [keys.body(name.decode()) for name in names if name is not None]:
                more.add("UNLINK", *bodies)
        moves = _QueueMoves(self._queue_of)
        for ids in self._url_reads:
            rows = {}
            for url_id, stored in zip(ids, remaining.pop(0), strict=True):
                row = self.changed_url(url_id, decode_url(stored))
                rows[url_id] = encode(row)
                if url_id in self._states:
                    moves.place(row)
            more.set_fields(keys.urls, rows)
        moves.write(more, keys)
        for numbers in self._page_reads:
            pages = {
                number: encode(self.changed_page(decode_page(stored)))
                for number, stored in zip(numbers, remaining.pop(0), strict=True)
                if stored is not None and number not in self.pages
            }
            more.set_fields(keys.pages, pages)
        if remaining:
            results: list[bytes] = remaining.pop(0)
            more.add_words(b"HDEL", keys.result_rows, [*map(number_of, results)])
            more.add_words(b"ZREM", keys.row_ages, [*results])
        self._moves = moves
        return self._out.packed + more.packed

    def entry(self, commit: int) -> bytes:
        """Return what the journal says of it, for whoever copies."""
        return pack_entry(commit, self._changes)

    def end(self) -> None:
        """Note what is on the server now."""
        if self._moves is not None:
            self._moves.record()

    def may_move(self, url_id: int) -> bool:
        """Tell whether a URL may be in another queue than on the server, or in none."""
        return url_id in self.urls or url_id in self._states

    def changed_url(self, url_id: int, row: UrlRow) -> UrlRow:
        """Return a stored row with what has changed of it."""
        change = self.url_changes.get(url_id)
        if change is not None:
            row.depth, row.hops, row.parent = change.depth, change.hops, change.parent
            if change.state is not None:
                row.state = change.state
        return row

    def changed_page(self, page: PageRow) -> PageRow:
        """Return a stored page with what the modules have learnt of it."""
        page.reported_depth = self.reported.get(page.number, page.reported_depth)
        return page

    def changed_result(self, result: ResultRow) -> ResultRow:
        """Return a stored result without its row, if that is to go."""
        if result.number <= self._rows_dropped or result.settled_at <= self._rows_expired:
            result.row = None
        return result

    # -- commands --------------------------------------------------------------------------------

    def _write_urls(self, changes: Changes) -> dict[Place, list[Item]]:
        """Return what is queued."""
        keys, out = self._keys, self._out
        moves = _QueueMoves(self._queue_of)
        for row in changes.urls.values():
            moves.place(row)
        moves.record()
        out.set_fields(keys.urls, self.urls)
        out.set_keys(keys.known, self.known)
        out.set_hashes(keys.url_keys, {url_id: key for key, url_id in self.known.items()})
        out.set_fields(keys.url_blocks, changes.url_blocks)
        moves.write(out, keys)
        out.change_fields(
            keys.links, {url_id: links or None for url_id, links in changes.links.items()}
        )
        bits: list[Word] = []
        for url_id, packed in changes.links.items():
            bits += (b"SET", b"u1", b"#%d" % url_id, 1 if packed else 0)
        out.add_words(b"BITFIELD", keys.linked, bits)
        for url_id, attempts in changes.attempts.items():
            first = changes.urls[url_id].attempts - len(attempts)
            for number, attempt in enumerate(attempts, first):
                self.attempts[f"{url_id}:{number}"] = encode(astuple(attempt))
        out.set_fields(keys.attempts, self.attempts)
        return moves.added

    def _write_crawl(self, changes: Changes) -> None:
        keys, out = self._keys, self._out
        out.set_fields(keys.hosts, self.hosts)
        out.set_keys(keys.host_ids, self.host_ids)
        out.set_fields(keys.host_urls, {host: b"%d" % n for host, n in self.host_urls.items()})
        out.set_fields(keys.domains, {name: encode(row) for name, row in changes.domains.items()})
        out.change_fields(keys.metadata, changes.metadata)
        out.change_fields(keys.leases, _encoded(changes.leases))
        out.change_fields(keys.relaxing, _encoded(changes.relaxing))

    def _write_pages(self, changes: Changes) -> None:
        keys, out = self._keys, self._out
        for number in changes.reported:
            if number in changes.pages:
                page = replace(changes.pages[number])
                self.pages[number] = encode(self.changed_page(page))
        out.set_fields(keys.pages, self.pages)
        digests = {number: row.digest for number, row in changes.pages.items()}
        out.set_hashes(keys.page_digests, digests)
        out.set_fields(keys.page_blocks, changes.page_blocks)
        contents = {number: packed for number, (_, packed) in self.contents.items()}
        out.change_fields(keys.contents, dict.fromkeys(changes.dropped) | contents)
        names: dict[int, bytes | None] = dict.fromkeys(changes.dropped)
        for number, content in contents.items():
            if (name := body_name(content)) is not None:
                names[number], body = name.encode(), keys.body(name)
                self.bodies[body] = content
                out.add("PERSIST", body)
        out.change_fields(keys.body_names, names)
        out.remove_members(keys.kept, changes.dropped)
        out.set_scores(keys.kept, ((at, number) for number, (at, _) in self.contents.items()))
        out.change_fields(keys.bands, self.bands)
        out.change_fields(keys.samples, self.samples)

    def _write_results(self, changes: Changes, numbers: RowNumbers) -> None:
        keys, out = self._keys, self._out
        results, rows = self.results, self.result_rows
        ages: list[Item] = []
        for result in changes.results:
            number, at = result.number, result.settled_at
            stored = ResultRow(number, result.url, result.page, at, result.records, None)
            results[number] = encode(stored)
            numbers.result = max(numbers.result, number)
            is_wanted = number > changes.rows_dropped and at > changes.rows_expired
            if result.row is not None and is_wanted:
                rows[number] = result.row
                ages.append((at, number))
        out.set_fields(keys.results, results)
        out.set_fields(keys.result_rows, rows)
        out.set_scores(keys.row_ages, ages)
        until = min(changes.rows_dropped, numbers.result)
        gone = range(numbers.rows + 1, until + 1)
        out.add_words(b"HDEL", keys.result_rows, [*gone])
        out.remove_members(keys.row_ages, gone)
        numbers.rows = max(numbers.rows, until)

    def _write_messages(self, changes: Changes) -> None:
        for name, count in changes.taken.items():
            self._out.add("LTRIM", self._keys.messages(name), count, -1)
        for name, messages in changes.sent.items():
            if name not in changes.ended_queues:
                self._out.append(self._keys.messages(name), messages)
        for name in changes.ended_queues:
            self._out.add("UNLINK", self._keys.messages(name))


def read_sketch(number: int, bands: bytes | None, sample: bytes | None) -> SketchRow | None:
    """Return a sketch as it was stored; None if there is none."""
    if bands is None or sample is None:
        return None
    size = FETCHED_AT.size
    (fetched_at,) = FETCHED_AT.unpack(bands[:size])
    return SketchRow(number, fetched_at, bands[size:], *decode_sample(sample))


def read_attempt(stored: bytes) -> Attempt:
    """Return an attempt as it was stored."""
    return Attempt(*_decode_attempt(stored))


def _encoded(rows: Mapping[Any, object]) -> dict[Any, bytes | None]:
    return {name: None if row is None else encode(row) for name, row in rows.items()}


def _chunks(numbers: Iterable[int]) -> list[list[int]]:
    ids = [*numbers]
    return [ids[first : first + MOST_WORDS] for first in range(0, len(ids), MOST_WORDS)]
