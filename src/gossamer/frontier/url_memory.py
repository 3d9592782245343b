"""The URLs of a crawl in memory: whether one is known, and what the rules ask of it all the time.

Every known URL takes some 35 bytes, in a table of hashes and in arrays by its id. The whole row of
a URL is in memory while something is about to happen to it, and until what has changed is durable:
it is read again when it is wanted. Rows that are in memory are always the truth; a database may
lag behind.
"""

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from gossamer.frontier.commits import Pending
from gossamer.frontier.contract import Link
from gossamer.frontier.counters import UrlCounts
from gossamer.model import Outcome
from gossamer.stores.columns import (
    HAS_LINKS,
    NO_QUEUE,
    REDIRECT,
    SITEMAP,
    URL_COLUMNS,
    blocks_of,
    pack_block,
    place_of,
    queue_where,
    unpack_block,
    url_values,
)
from gossamer.stores.counting import WITHOUT_CAUSE, Reason
from gossamer.stores.rows import (
    Changes,
    Rows,
    UrlChange,
    UrlRow,
    pack_links,
    unpack_links,
)
from gossamer.stores.url_record import Attempt, UrlState

BUCKETS: Final = 65_536
ID_BYTES: Final = 4
MOST_ROWS: Final = 50_000
"""How many rows of waiting URLs are in memory, over all queues, if others are in the database."""
CACHED_LINKS: Final = 8_000_000
"""How many bytes of links are kept in memory, of those used last: from this to twice as many."""
READ_AT_ONCE: Final = 1000
_STORED = {UrlState.ASSIGNED: UrlState.QUEUED, UrlState.LEASED: UrlState.QUEUED}
"""The states that are stored as others."""
_STORED_STATES: Final = bytes.maketrans(bytes(_STORED), bytes(_STORED.values()))
_SITEMAPS: Final = re.compile(rb"[\x04-\x07]")
"""The flags of sitemaps."""


class IdTable:
    """A table of ids from 1 to 2**32 - 1 by hashes, in a dozen bytes for each entry.

    Of one hash there may be several ids. Entries are in 65,536 small buckets by the first two bytes
    of the hash, one after another, and are found by searching the bytes. No bucket is ever large,
    so no entry waits for a whole table to grow. Eight more bytes of the hash are stored: of 100
    million entries two agree in all 80 bits with a probability of 4 in a billion.
    """

    def __init__(self, hash_bytes: int = 10) -> None:
        """Prepare for hashes of which so many bytes count."""
        self._buckets: list[bytes | bytearray] = [b""] * BUCKETS
        self._end = hash_bytes
        self._part = hash_bytes - 2
        self._stride = self._part + ID_BYTES
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, key: bytes) -> int:
        """Return the first id of a hash; 0 if there is none."""
        return self.find_all((key,))[0]

    def find_all(self, keys: Iterable[bytes]) -> list[int]:
        """Return the first id of each hash; 0 if there is none."""
        buckets, part, end = self._buckets, self._part, self._end
        stride, ids = self._stride, []
        for key in keys:
            bucket, wanted, number = buckets[key[0] << 8 | key[1]], key[2:end], 0
            at = bucket.find(wanted)
            while at >= 0:
                if not at % stride:
                    number = int.from_bytes(bucket[at + part : at + stride], "little")
                    break
                at = bucket.find(wanted, at + 1)
            ids.append(number)
        return ids

    def last(self, key: bytes, limit: int) -> list[int]:
        """Return the ids of a hash, the last ones first, at most `limit`."""
        bucket, ids = self._buckets[key[0] << 8 | key[1]], []
        for at in self._places(bucket, key[2 : self._end]):
            ids.append(int.from_bytes(bucket[at + self._part : at + self._stride], "little"))
            if len(ids) == limit:
                break
        return ids

    def add(self, key: bytes, number: int) -> None:
        """Add an id under a hash."""
        place = key[0] << 8 | key[1]
        bucket = self._buckets[place]
        if not isinstance(bucket, bytearray):
            bucket = self._buckets[place] = bytearray()
        bucket += key[2 : self._end] + number.to_bytes(ID_BYTES, "little")
        self._count += 1

    def load(self, entries: Iterable[tuple[bytes, int]]) -> None:
        """Add many ids, each after its hash."""
        buckets, end, size, count = self._buckets, self._end, ID_BYTES, self._count
        for key, number in entries:
            place = key[0] << 8 | key[1]
            entry = key[2:end] + number.to_bytes(size, "little")
            bucket = buckets[place]
            if bucket:
                bucket += entry  # one that has entries can grow
            else:
                buckets[place] = bytearray(entry)
            count += 1
        self._count = count

    def discard(self, key: bytes, number: int) -> None:
        """Remove an id from a hash, if it is there."""
        bucket = self._buckets[key[0] << 8 | key[1]]
        if isinstance(bucket, bytearray):
            wanted = number.to_bytes(ID_BYTES, "little")
            for at in self._places(bucket, key[2 : self._end]):
                if bucket[at + self._part : at + self._stride] == wanted:
                    del bucket[at : at + self._stride]
                    self._count -= 1
                    return

    def _places(self, bucket: bytes | bytearray, wanted: bytes) -> Iterator[int]:
        """Yield where entries of a hash begin, from the end."""
        stride = self._stride
        at = bucket.rfind(wanted)
        while at >= 0:
            if not at % stride:
                yield at
            # The last place that begins before this one: a match may overlap the one found.
            at = bucket.rfind(wanted, 0, at + len(wanted) - 1)


class UrlPath(msgspec.Struct, frozen=True):
    """How a URL was found: its path from a seed."""

    depth: int
    hops: int
    parent: int | None


class Repetition(NamedTuple):
    """The page that a URL repeats, if it does, and how similar they are."""

    duplicate_of: int | None = None
    similarity: float | None = None
    own_similarity: float | None = None


class UrlMemory:
    """What is known of every URL."""

    def __init__(self, rows: Rows, pending: Pending, *, with_times: bool) -> None:
        """Prepare; `with_times` if it matters when a URL was finished."""
        self._rows = rows
        self._pending = pending
        self.ids = IdTable()
        """By the key of a URL."""
        self.depths = array("H", [0])
        self.hops = bytearray(1)
        self.states = bytearray(1)
        self.hosts = array("I", [0])
        self.pages = array("I", [0])
        """The number of the page of each URL; 0: it has none."""
        self.finished_at = array("d", [0.0]) if with_times else None
        self._flags = bytearray(1)
        self.places = array("b", [NO_QUEUE])
        """In which queue each URL was stored last."""
        self.counts = UrlCounts()
        """How many URLs there are of each depth."""
        self.at_hand: dict[int, UrlRow] = {}
        """The rows that are in memory."""
        self.sitemaps: dict[str, int] = {}
        """How many sitemaps there are of each domain."""
        self._links: dict[int, bytes] = {}
        self._older_links: dict[int, bytes] = {}
        self._cached_bytes = 0

    @property
    def last_id(self) -> int:
        """The largest id of a URL; 0 if there is none."""
        return len(self.states) - 1

    def load(self) -> Counter[tuple[int, int]]:
        """Take in all URLs that are stored; return how many there are of each host and place."""
        last, arrays = self._rows.last_url(), self._arrays()
        depths, places = Counter[tuple[int, int, bool]](), Counter[tuple[int, int]]()

        def extend(columns: Sequence[Any]) -> None:
            for values, column in zip(arrays, columns, strict=False):
                values.extend(column)
            place, state, _, _, depth, host, page, *_ = columns
            places.update(zip(host, place, strict=True))
            depths.update(zip(depth, state, map(bool, page), strict=True))

        def read_rows(upto: int) -> None:
            if upto > self.last_id:
                rows = self._rows.known_urls(self.last_id + 1, upto)
                while some := [*map(url_values, islice(rows, READ_AT_ONCE))]:
                    extend([*zip(*some, strict=True)])

        for number, packed in self._rows.url_blocks():
            at, columns = place_of(number), unpack_block(packed, URL_COLUMNS)
            if columns is None or len(columns) < len(arrays):
                continue
            if len(columns[0]) == min(at.stop, last + 1) - at.start:
                read_rows(at.start - 1)
                extend([column[at.start == 0 :] for column in columns])
        read_rows(last)
        self.ids.load(self._rows.url_keys())
        assert len(self.ids) == self.last_id == last, "URLs are numbered without gaps"
        self.counts.load(depths)
        self._load_sitemaps()
        return places

    def _load_sitemaps(self) -> None:
        sitemaps = [match.start() for match in _SITEMAPS.finditer(self._flags)]
        for first in range(0, len(sitemaps), READ_AT_ONCE):
            for row in self._rows.read_urls(sitemaps[first : first + READ_AT_ONCE]):
                assert row.sitemap_of is not None
                self._count_sitemap(row.sitemap_of)

    def _arrays(self) -> list[Any]:
        """Return the columns of blocks."""
        arrays = [self.places, self.states, self.hops, self._flags, self.depths, self.hosts]
        more = [] if self.finished_at is None else [self.finished_at]
        return [*arrays, self.pages, *more]

    def pack(self, changes: Changes) -> dict[int, bytes]:
        """Return the blocks of all URLs that these changes are about, as they are from now on."""
        places = self.places
        for url_id, change in changes.url_changes.items():
            if change.state is not None:
                places[url_id] = queue_where(change.state, None)
        for row in changes.urls.values():
            places[row.id] = queue_where(row.state, row.queue)
        first, states, *rest = self._arrays()
        return {
            number: pack_block(
                [first[at], states[at].translate(_STORED_STATES), *[values[at] for values in rest]]
            )
            for number, at in blocks_of(changes.urls, changes.url_changes, changes.links).items()
        }

    def _append(self, depth: int, hops: int, state: int, host: int) -> None:
        self.depths.append(min(depth, 65_535))
        self.hops.append(min(hops, 255))
        self.states.append(state)
        self.hosts.append(host)
        self.pages.append(0)
        self._flags.append(0)
        self.places.append(NO_QUEUE)
        if self.finished_at is not None:
            self.finished_at.append(float("inf"))

    def _count_sitemap(self, domain: str) -> None:
        self.sitemaps[domain] = self.sitemaps.get(domain, 0) + 1

    # -- which there are -------------------------------------------------------------------------

    def add(self, link: Link, host: int, state: UrlState, path: UrlPath, now: float) -> int:
        """Add a URL that is not known, and return its id."""
        url_id = len(self.states)
        depth, hops = path.depth, path.hops
        row = UrlRow(
            url_id, link.url, link.key, host, state, depth, hops, path.parent, now, link.score
        )
        if link.listing is not None:
            row.lastmod, row.priority, row.sitemap_of = msgspec.structs.astuple(link.listing)
            if row.sitemap_of is not None:
                self._count_sitemap(row.sitemap_of)
        self.ids.add(link.key, url_id)
        self._append(depth, hops, state, host)
        self._flags[url_id] = SITEMAP * (row.sitemap_of is not None)
        self.counts.count(self.depths[url_id], 1)
        self.at_hand[url_id] = row
        self._pending.now.urls[url_id] = row
        return url_id

    # -- rows ------------------------------------------------------------------------------------

    def row(self, url_id: int) -> UrlRow:
        """Return the row of a URL, to be read."""
        return self.at_hand.get(url_id) or self.read([url_id])[0]

    def change(self, url_id: int) -> UrlRow:
        """Return the row of a URL, to be changed."""
        row = self.at_hand.get(url_id)
        if row is None:
            (row,) = self.read([url_id])
            self.at_hand[url_id] = row
        self._pending.now.urls[url_id] = row
        self._pending.now.url_changes.pop(url_id, None)
        return row

    def hold(self, ids: Iterable[int]) -> None:
        """Have the rows of these URLs at hand."""
        missing = [url_id for url_id in ids if url_id not in self.at_hand]
        self.at_hand.update((row.id, row) for row in self.read(missing))

    def read(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return rows, in this order; those that are not at hand are read at once."""
        missing = [url_id for url_id in ids if url_id not in self.at_hand]
        stored = {row.id: row for row in self._rows.read_urls(missing)} if missing else {}
        for url_id, row in stored.items():
            row.depth, row.hops = self.depths[url_id], self.hops[url_id]
            state = UrlState(self.states[url_id])
            row.state = _STORED.get(state, state)
            for changes in self._pending:
                if (change := changes.url_changes.get(url_id)) is not None:
                    row.parent = change.parent
                    break
        return [self.at_hand.get(url_id) or stored[url_id] for url_id in ids]

    def all(self) -> Iterator[UrlRow]:
        """Yield the rows of all URLs, in the order of discovery."""
        for first in range(1, self.last_id + 1, READ_AT_ONCE):
            yield from self.read(range(first, min(first + READ_AT_ONCE, self.last_id + 1)))

    def drop(self, url_id: int) -> None:
        """Let go of a row, unless something of it is not durable yet."""
        if not any(url_id in changes.urls for changes in self._pending):
            self.at_hand.pop(url_id, None)

    def referrers(self, wanted: Iterable[tuple[int, int]]) -> list[tuple[str, ...]]:
        """Return for each URL the last ones before it on its path, as many as it says at most."""
        chains: list[list[str]] = []
        steps: list[tuple[list[str], int, int]] = []
        for url_id, count in wanted:
            chains.append([])
            steps.append((chains[-1], url_id, count))
        while steps:
            rows = self.read([url_id for _, url_id, _ in steps])
            parents = [
                (chain, row.parent, count)
                for (chain, _, count), row in zip(steps, rows, strict=True)
                if count and row.parent is not None
            ]
            rows = self.read([parent for _, parent, _ in parents])
            for (chain, _, _), row in zip(parents, rows, strict=True):
                chain.append(row.url)
            steps = [(chain, parent, count - 1) for chain, parent, count in parents]
        return [tuple(chain[::-1]) for chain in chains]

    # -- changes ---------------------------------------------------------------------------------

    def set_path(self, url_id: int, path: UrlPath) -> None:
        """Store a shorter path."""
        if path.depth != (before := self.depths[url_id]):
            is_finished = self.states[url_id] == UrlState.DONE
            has_page = self.pages[url_id] > 0
            self.counts.count(before, -1, -is_finished, -has_page)
            self.counts.count(path.depth, 1, is_finished, has_page)
        self.depths[url_id], self.hops[url_id] = path.depth, path.hops
        row = self.at_hand.get(url_id)
        if row is None:
            self._change_stored(url_id, path.parent, None)
        else:
            row.depth, row.hops, row.parent = path.depth, path.hops, path.parent
            self._pending.now.urls[url_id] = row

    def bring_within(self, url_id: int, parent: int | None) -> None:
        """Let a URL wait that was too deep, and was found there now."""
        self.states[url_id] = UrlState.UNSCORED
        if url_id in self.at_hand:
            self.change(url_id).state = UrlState.UNSCORED
        else:
            self._change_stored(url_id, parent, UrlState.UNSCORED)

    def _change_stored(self, url_id: int, parent: int | None, state: UrlState | None) -> None:
        changes = self._pending.now.url_changes
        if state is None and (before := changes.get(url_id)) is not None:
            state = before.state
        changes[url_id] = UrlChange(self.depths[url_id], self.hops[url_id], parent, state)

    def set_score(self, url_id: int, score: float, queue: int) -> UrlRow:
        """Score a URL."""
        row = self.change(url_id)
        row.score, row.queue, row.state = score, queue, UrlState.QUEUED
        self.states[url_id] = UrlState.QUEUED
        return row

    def unscore(self, url_id: int) -> None:
        """Take the score of a waiting URL away."""
        row = self.change(url_id)
        row.score = row.queue = None
        row.state = UrlState.UNSCORED
        self.states[url_id] = UrlState.UNSCORED

    def reopen(self, url_id: int) -> Reason:
        """Let a finished URL wait again, to be revisited; return why it had ended."""
        row = self.change(url_id)
        reason = self._reason(row)
        row.score = row.queue = row.outcome = row.detail = row.duplicate_of = None
        row.similarity = row.own_similarity = row.finished_at = None
        row.state = UrlState.UNSCORED
        self.states[url_id] = UrlState.UNSCORED
        self.counts.count(self.depths[url_id], 0, finished=-1)
        if self.finished_at is not None:
            self.finished_at[url_id] = float("inf")
        return reason

    def _reason(self, row: UrlRow) -> Reason:
        assert row.outcome is not None
        outcome = Outcome(row.outcome)
        if outcome in WITHOUT_CAUSE or (outcome is Outcome.FETCHED and row.detail is None):
            return Reason(outcome)
        last = self.attempts(row.id)[-1]
        return Reason.of(last.outcome, last.cause, last.status)

    def add_attempt(self, row: UrlRow, attempt: Attempt) -> None:
        """Add a visit to the history of a URL."""
        row.attempts += 1
        self.counts.attempt(attempt.at)
        self._pending.now.attempts.setdefault(row.id, []).append(attempt)

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""
        count = self.row(url_id).attempts
        new = [
            attempt
            for changes in (*self._pending,)[::-1]
            for attempt in changes.attempts.get(url_id, ())
        ]
        stored = self._rows.read_attempts(url_id) if count > len(new) else []
        return [*stored[: count - len(new)], *new]

    def finish(
        self,
        url_id: int,
        attempt: Attempt,
        targets: Sequence[int],
        page: int | None,
        repeats: Repetition,
        *,
        redirect: bool,
    ) -> None:
        """Store how a URL has ended, with its page and the ids of the URLs that it links to.

        The page of an earlier visit stays if there is no other.
        """
        row = self.change(url_id)
        row.state, row.outcome, row.detail = UrlState.DONE, attempt.outcome, attempt.detail or None
        row.duplicate_of, row.similarity, row.own_similarity = repeats
        row.finished_at, row.redirect = attempt.at, redirect
        is_new_page = page is not None and not self.pages[url_id]
        self.counts.count(self.depths[url_id], 0, 1, is_new_page)
        if page is not None:
            row.page = self.pages[url_id] = page
        self.add_attempt(row, attempt)
        self.states[url_id] = UrlState.DONE
        if self.finished_at is not None:
            self.finished_at[url_id] = attempt.at
        if targets or self._flags[url_id] & HAS_LINKS:
            self._set_links(url_id, pack_links(targets))
        flags = HAS_LINKS * bool(targets) | REDIRECT * redirect
        self._flags[url_id] = self._flags[url_id] & SITEMAP | flags

    # -- links -----------------------------------------------------------------------------------

    def has_links(self, url_id: int) -> bool:
        """Tell whether the last visit of a URL has found any."""
        return bool(self._flags[url_id] & HAS_LINKS)

    def was_redirect(self, url_id: int) -> bool:
        """Tell whether the last visit of a URL was a redirect."""
        return bool(self._flags[url_id] & REDIRECT)

    def has_links_at_hand(self, url_id: int) -> bool:
        """Tell whether its links need not be read."""
        return not self.has_links(url_id) or self._find_links(url_id) is not None

    def links(self, url_id: int) -> Sequence[int]:
        """Return the URLs that a visited one links to."""
        if not self.has_links(url_id):
            return ()
        packed = self._find_links(url_id)
        if packed is None:
            self.hold_links([url_id])
            packed = self._find_links(url_id)
            assert packed is not None
        return unpack_links(packed)

    def hold_links(self, ids: Iterable[int]) -> None:
        """Have the links of these URLs at hand, for a while."""
        missing = [url_id for url_id in ids if not self.has_links_at_hand(url_id)]
        if missing:
            for url_id, packed in zip(missing, self._rows.read_links(missing), strict=True):
                self._cache_links(url_id, packed)

    def add_links(self, url_id: int, targets: Sequence[int]) -> None:
        """Add URLs to those that a visited one links to."""
        self._set_links(url_id, pack_links([*self.links(url_id), *targets]))
        self._flags[url_id] |= HAS_LINKS * bool(targets)

    def _set_links(self, url_id: int, packed: bytes) -> None:
        self._pending.now.links[url_id] = packed
        self._cache_links(url_id, packed)

    def _find_links(self, url_id: int) -> bytes | None:
        packed = self._links.get(url_id)
        if packed is None:
            packed = self._older_links.get(url_id)
        if packed is None:
            for changes in self._pending:
                if (packed := changes.links.get(url_id)) is not None:
                    break
        return packed

    def _cache_links(self, url_id: int, packed: bytes) -> None:
        if self._cached_bytes > CACHED_LINKS:
            self._older_links, self._links, self._cached_bytes = self._links, {}, 0
        self._older_links.pop(url_id, None)
        self._links[url_id] = packed
        self._cached_bytes += len(packed) + 100

    def let_go(self, changes: Changes, is_needed: Callable[[int], bool]) -> None:
        """Let go of rows that are durable and are not needed."""
        collected = self._pending.now.urls
        for url_id in changes.urls:
            if url_id not in collected and not is_needed(url_id):
                self.at_hand.pop(url_id, None)
