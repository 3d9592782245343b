"""The pages of a crawl in memory: which numbers there are, and what their contents are known by.

The contents themselves, and what near duplicates are compared with, are in the database.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence

from gossamer.frontier.contract import KeptPage
from gossamer.frontier.id_table import IdTable
from gossamer.frontier.url_memory import Pending
from gossamer.model.names import Sketch
from gossamer.stores.rows import KnownPage, PageRow, ResultRow, Rows, SketchRow
from gossamer.stores.url_record import Record, pack_records


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

    def load(self, known: KnownPage) -> None:
        """Take in a page that is stored."""
        self._add(*known)

    def _add(self, number: int, url: int, digest: bytes, fetched_at: float, depth: int) -> None:
        while number > self.last_number:
            self._urls.append(0)
            self._fetched_at.append(0.0)
            self._reported.append(0)
        self._urls[number], self._fetched_at[number] = url, fetched_at
        self._reported[number] = min(depth, 65_535)
        self._digests.add(digest, number)
        self.count += 1

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
        self._add(number, url_id, page.digest, fetched_at, depth)
        changes = self._pending.now
        changes.pages[number] = PageRow(
            number,
            url_id,
            page.size,
            page.digest,
            page.content_type,
            page.encoding,
            page.title,
            fetched_at,
            depth,
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
            if (found := changes.pages.get(number)) is not None:
                return found
        return self._rows.read_page(number)

    def duplicate_of(self, digest: bytes, since: float) -> int | None:
        """Return the last page with this digest that was fetched after `since`."""
        if not self._digests.find(digest):
            return None
        same = self._digests.last(digest, self.count)
        return max((one for one in same if self._fetched_at[one] > since), default=None)

    # -- contents and sketches -------------------------------------------------------------------

    def content(self, number: int) -> tuple[bytes | None, str]:
        """Return the packed content of a page and its content type; None if there is none."""
        page = self.row(number)
        if page is None:
            return None, ""
        packed = self._content(number)
        return packed, page.content_type if packed is not None else ""

    def _content(self, number: int) -> bytes | None:
        for changes in self._pending:
            if (found := changes.contents.get(number)) is not None:
                return found[1]
            if number in changes.dropped:
                return None
        return self._rows.read_content(number)

    def sketches(self, numbers: Sequence[int], since: float) -> dict[int, SketchRow]:
        """Return the sketches of those pages that have one and were fetched after `since`."""
        found: dict[int, SketchRow] = {}
        missing = []
        for number in numbers:
            for changes in self._pending:
                if (sketch := changes.sketches.get(number)) is not None:
                    found[number] = sketch
                    break
                if number in changes.dropped:
                    break
            else:
                missing.append(number)
        if missing:
            stored = self._rows.read_sketches(missing)
            found |= {one.page: one for one in stored if one is not None}
        return {number: one for number, one in found.items() if one.fetched_at > since}

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
        numbers = [one for one in stored if one not in gone and self._fetched_at[one] <= before][
            :limit
        ]
        if not numbers:
            return []
        sketches = self.sketches(numbers, float("-inf"))
        self._drop_content(numbers)
        changes = self._pending.now
        changes.rows_expired = max(changes.rows_expired, before)
        return [(one, sketches[one].bands if one in sketches else b"") for one in numbers]

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
