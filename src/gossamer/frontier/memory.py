"""A crawl in memory, over its rows in a database: its pages, and how all of it is loaded.

The rules ask and change it, without waiting for anything. What they change is collected, and
written with `commit` whenever its owner says so; what only the database has is read when it is
wanted. Of a page that is what its content is known by; the contents themselves, and what near
duplicates are compared with, are in the database.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from gossamer.frontier.commits import Pending
from gossamer.frontier.contract import KeptPage
from gossamer.frontier.politeness import HostMemory
from gossamer.frontier.url_memory import IdTable, UrlMemory
from gossamer.frontier.waiting import HEAD, WaitingUrls
from gossamer.model.names import Sketch
from gossamer.policy.cookies import MAX_COOKIE_DOMAINS, Cookie, CookieChanges, change_jar
from gossamer.stores.columns import (
    PAGE_COLUMNS,
    blocks_of,
    pack_block,
    page_values,
    place_of,
    unpack_block,
)
from gossamer.stores.counting import COUNTS_NAME, unpack_counts
from gossamer.stores.crawl_views import read_counters
from gossamer.stores.rows import ALL, Changes, PageRow, ResultRow, Rows, SketchRow
from gossamer.stores.url_record import Record, UrlState, pack_records

EXPIRED_NOTE: Final = "expired_before"
"""The note of up to when pages may have lost their content, as its time was over."""
COOKIES_NOTE = "cookies:"
"""How the name of the note begins in which the cookies of a domain are; the domain follows."""
COOKIE_DOMAINS_NOTE = "cookie_domains"
"""The note that counts them."""

_decode_jar = msgspec.msgpack.Decoder(list[Cookie]).decode


class PageMemory:
    """What is known of every page, and the log of results."""

    def __init__(self, rows: Rows, pending: Pending, last_result: int) -> None:
        self._rows = rows
        self._pending = pending
        self._last_result = last_result
        self._digests = IdTable()
        self.count = 0
        """How many pages are kept."""
        self._urls = array("I", [0])
        """The URL of each page by its number; 0: there is no such page."""
        self._fetched_at = array("d", [0.0])
        self._reported = array("H", [0])

    def load(self) -> None:
        """Take in all pages that are stored."""
        following = 1
        for number, packed in self._rows.page_blocks():
            at, columns = place_of(number), unpack_block(packed, PAGE_COLUMNS)
            if columns is None or len(columns) < len(PAGE_COLUMNS):
                continue
            if following < at.start:
                self._read_rows(following, at.start - 1)
            self._extend(at.start)
            for values, column in zip(self._arrays(), columns, strict=True):
                values.extend(column[at.start == 0 :])
            following = at.stop
        self._read_rows(following, ALL)
        self._digests.load(self._rows.page_digests())
        self.count = len(self._digests)

    def _read_rows(self, first: int, last: int) -> None:
        """Take in pages of which there is no block."""
        for page in self._rows.known_pages(first, last):
            self._set(page.number, *page_values(page))

    def _arrays(self) -> tuple[Any, ...]:
        """Return the columns of blocks."""
        return self._urls, self._fetched_at, self._reported

    def _extend(self, length: int) -> None:
        if (more := length - len(self._urls)) > 0:
            for values in self._arrays():
                values.extend([0] * more)

    def _set(self, number: int, *values: float) -> None:
        self._extend(number + 1)
        for column, value in zip(self._arrays(), values, strict=True):
            column[number] = value

    def pack(self, changes: Changes) -> dict[int, bytes]:
        """Return the blocks of all pages that these changes are about, as they are from now on."""
        arrays = self._arrays()
        return {
            number: pack_block([values[at] for values in arrays])
            for number, at in blocks_of(changes.pages, changes.reported).items()
        }

    @property
    def last_number(self) -> int:
        """The largest number of a page; 0 if there is none."""
        return len(self._urls) - 1

    def gaps(self) -> list[int]:
        """Return the smaller numbers that no page has."""
        if self.count == self.last_number:
            return []
        return [number for number, url in enumerate(self._urls) if number and not url]

    # -- pages -----------------------------------------------------------------------------------

    def add(
        self,
        url_id: int,
        page: KeptPage,
        depth: int,
        sketch: Sketch | None,
        own: bytes | None = None,
    ) -> None:
        """Store a page, its content, and the depth that the modules know.

        And its sketch, with the sample of its own content if that is known.
        """
        number, fetched_at = page.page_id, page.fetched_at
        self._set(number, url_id, fetched_at, min(depth, 65_535))
        self._digests.add(page.digest, number)
        self.count += 1
        changes = self._pending.now
        changes.pages[number] = PageRow(
            number, url_id, page.size, page.digest, page.attributes, fetched_at, depth
        )
        changes.reported.pop(number, None)
        changes.contents[number] = fetched_at, page.content
        if sketch is not None:
            bands = b"".join(sketch.bands)
            changes.sketches[number] = SketchRow(number, fetched_at, bands, sketch.sample, own)

    def replace(self, url_id: int, page: KeptPage, depth: int, sketch: Sketch | None) -> None:
        """Store another version of a page, in place of what there is."""
        number = page.page_id
        before = self.row(number)
        assert before is not None
        self._digests.discard(before.digest, number)
        self.count -= 1
        self._drop_content([number])
        self.add(url_id, page, depth, sketch)

    def row(self, number: int) -> PageRow | None:
        """Return what is stored of a page; None if no page has that number."""
        for changes in self._pending:
            if (page := changes.pages.get(number)) is not None:
                return page
        return self._rows.read_page(number)

    def duplicate_of(self, digest: bytes, since: float) -> int | None:
        """Return the last page with this digest that was fetched after `since`."""
        if not self._digests.find(digest):
            return None
        same = self._digests.last(digest, self.count)
        return max((number for number in same if self._fetched_at[number] > since), default=None)

    # -- contents and sketches -------------------------------------------------------------------

    def content(self, number: int) -> tuple[bytes, bytes] | None:
        """Return the packed content of a page and its attributes; None if there is none."""
        page = self.row(number)
        packed = None if page is None else self._content(number)
        return None if page is None or packed is None else (packed, page.attributes)

    def _content(self, number: int) -> bytes | None:
        for changes in self._pending:
            if (content := changes.contents.get(number)) is not None:
                return content[1]
            if number in changes.dropped:
                return None
        return self._rows.read_content(number)

    def sketches(self, numbers: Sequence[int], since: float) -> dict[int, SketchRow]:
        """Return the sketches of those pages that have one and were fetched after `since`."""
        sketches: dict[int, SketchRow] = {}
        missing = []
        for number in numbers:
            for changes in self._pending:
                if (sketch := changes.sketches.get(number)) is not None:
                    sketches[number] = sketch
                    break
                if number in changes.dropped:
                    break
            else:
                missing.append(number)
        if missing:
            stored = self._rows.read_sketches(missing)
            sketches |= {sketch.page: sketch for sketch in stored if sketch is not None}
        return {number: row for number, row in sketches.items() if row.fetched_at > since}

    def set_own(self, number: int, own: bytes) -> None:
        """Store the sample of a page's own content with its sketch, if it has one."""
        sketch = self.sketches([number], float("-inf")).get(number)
        if sketch is not None:
            self._pending.now.sketches[number] = SketchRow(
                number, sketch.fetched_at, sketch.bands, sketch.sample, own
            )

    def expired(self, before: float, limit: int) -> list[tuple[int, bytes]]:
        """Drop contents and sketches of pages fetched up to `before`, at most `limit`.

        Return the pages, with the bands of their sketches. Only what is stored is dropped.
        """
        gone = {number for changes in self._pending for number in changes.dropped}
        stored = self._rows.read_expired(before, limit + len(gone))
        # A page may have been visited again since it was stored.
        numbers = [
            number for number in stored if number not in gone and self._fetched_at[number] <= before
        ][:limit]
        if not numbers:
            return []
        sketches = self.sketches(numbers, float("-inf"))
        self._drop_content(numbers)
        changes = self._pending.now
        changes.rows_expired = max(changes.rows_expired, before)
        return [
            (number, sketches[number].bands if number in sketches else b"") for number in numbers
        ]

    def _drop_content(self, numbers: Iterable[int]) -> None:
        changes = self._pending.now
        for number in numbers:
            changes.contents.pop(number, None)
            changes.sketches.pop(number, None)
            changes.dropped.add(number)

    # -- depths ----------------------------------------------------------------------------------

    def too_deep(self, depths: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield the pages of which the modules know a larger depth, with that of their URL."""
        for number, url in enumerate(self._urls):
            if url and depths[url] < self._reported[number]:
                yield number, depths[url]

    def report(self, number: int, depth: int) -> None:
        """Note that the modules know this depth of a page."""
        if depth < self._reported[number]:
            self._reported[number] = depth
            changes = self._pending.now
            if (page := changes.pages.get(number)) is not None:
                page.reported_depth = depth
            else:
                changes.reported[number] = depth

    # -- the log of results ----------------------------------------------------------------------

    def add_result(
        self,
        url_id: int,
        page: int | None,
        settled_at: float,
        records: Sequence[Record] | None,
        row: bytes | None,
    ) -> None:
        """Append a result to the log."""
        self._last_result = number = self._last_result + 1
        packed = pack_records(records) or None
        self._pending.now.results.append(ResultRow(number, url_id, page, settled_at, packed, row))

    def drop_rows(self, upto: int) -> None:
        """Forget the rows of results up to a number."""
        changes = self._pending.now
        changes.rows_dropped = max(changes.rows_dropped, min(upto, self._last_result))


class CrawlMemory:
    """Everything that the rules of a crawl ask and change."""

    def __init__(self, rows: Rows, *, with_times: bool, head: int = HEAD) -> None:
        """Load a crawl; `with_times` if it matters when a URL was finished."""
        self.rows = rows
        self.pending = Pending()
        self._notes = rows.metadata()
        self.counters = read_counters(self.get)
        self._stored_counters = msgspec.structs.asdict(self.counters)
        self.hosts = HostMemory(rows, self.pending)
        self.urls = UrlMemory(rows, self.pending, with_times=with_times)
        self.waiting = WaitingUrls(rows, self.pending, self.urls, head=head)
        self.pages = PageMemory(rows, self.pending, rows.last_result())
        self.leases = {lease.url: lease for lease in rows.leases()}
        """The leases that were stored when it was loaded."""
        self._load()

    def _load(self) -> None:
        for host in self.rows.hosts():
            self.hosts.load(host)
        for domain in self.rows.domains():
            self.hosts.load_domain(domain)
        urls, waiting = self.urls, self.waiting
        places = urls.load()
        for url_id in self.leases:
            if urls.states[url_id] == UrlState.QUEUED:
                urls.states[url_id] = UrlState.LEASED
                places[urls.hosts[url_id], urls.places[url_id]] -= 1
        for (host_id, place), count in places.items():
            if place >= 0 and count:
                waiting.load(host_id, place, count)
        unscored = urls.states.find(UrlState.UNSCORED, 1)
        while unscored > 0:
            waiting.add_unscored(unscored)
            unscored = urls.states.find(UrlState.UNSCORED, unscored + 1)
        stored = unpack_counts(self.get(COUNTS_NAME))
        urls.counts.first_attempt_at = stored.first_attempt_at
        urls.counts.last_attempt_at = stored.last_attempt_at
        self.pages.load()

    def sort_again(self, queue_of: Callable[[float], int]) -> None:
        """Put every URL that has a score into the queue of its score in a new table."""
        urls, waiting = self.urls, WaitingUrls(self.rows, self.pending, self.urls)
        for row in urls.all():
            if row.state == UrlState.UNSCORED:
                waiting.add_unscored(row.id)
            elif row.score is not None:
                urls.change(row.id).queue = queue_of(row.score)
                if urls.states[row.id] == UrlState.QUEUED:
                    waiting.push(urls.at_hand[row.id])
        self.waiting = waiting

    # -- what is kept with the crawl as a whole --------------------------------------------------

    def get(self, name: str) -> bytes | None:
        """Return what is stored with the crawl under a name."""
        return self._notes.get(name)

    def put(self, name: str, value: bytes) -> None:
        """Store something with the crawl under a name."""
        if self._notes.get(name) != value:
            self._notes[name] = self.pending.now.metadata[name] = value

    def remove(self, name: str) -> None:
        """Remove what is stored with the crawl under a name, if there is anything."""
        if self._notes.pop(name, None) is not None:
            self.pending.now.metadata[name] = None

    # -- durability ------------------------------------------------------------------------------

    def write(self) -> Callable[[], None] | None:
        """Begin to make durable what has changed; None: it is already."""
        for name, value in msgspec.structs.asdict(self.counters).items():
            if value != self._stored_counters[name]:
                self._stored_counters[name] = value
                self.put(name, str(value).encode())
        changes = self.pending.now
        if not changes:
            return None
        changes.url_blocks, changes.page_blocks = self.urls.pack(changes), self.pages.pack(changes)
        finish = self.pending.write(self.rows)
        if finish is None:
            self.end_write()
        return finish

    def end_write(self) -> None:
        """Let go of what is durable now."""
        changes = self.pending.end()
        self.urls.let_go(changes, self.waiting.holds)

    def note_expired(self, before: float) -> None:
        """Note that pages fetched up to then may have lost their content."""
        expired = max(before, float(self.get(EXPIRED_NOTE) or b"-inf"))
        self.put(EXPIRED_NOTE, str(expired).encode())


def read_jar(note: bytes | None) -> list[Cookie]:
    """Return the cookies of a domain, those that were set last at the end."""
    return [] if note is None else _decode_jar(note)


def change_cookies(memory: CrawlMemory, domain: str, changes: CookieChanges) -> None:
    """Change the cookies of a domain."""
    name = COOKIES_NOTE + domain
    before = memory.get(name)
    domains = int(memory.get(COOKIE_DOMAINS_NOTE) or b"0")
    jar = change_jar(read_jar(before), changes)
    if jar and (before is not None or domains < MAX_COOKIE_DOMAINS):
        memory.put(name, msgspec.msgpack.encode(jar))
        domains += before is None
    elif before is not None:
        memory.remove(name)
        domains -= 1
    memory.put(COOKIE_DOMAINS_NOTE, str(domains).encode())
