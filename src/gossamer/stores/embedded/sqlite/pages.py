"""The part of the SQLite backend for pages."""

from collections.abc import Iterable, Iterator, Sequence

from gossamer.content.similarity import Sketch
from gossamer.stores.claim import KeptPage
from gossamer.stores.embedded.sqlite.band_table import BandTable
from gossamer.stores.embedded.sqlite.relaxing import SqliteRelaxing

EXPIRED_NOTE = "expired_before"
"""The note of up to when pages may have lost their content, as its time was over."""


class SqlitePages(SqliteRelaxing):
    """Pages, contents and sketches in tables."""

    def add_page(
        self,
        url_id: int,
        page: KeptPage,
        depth: int,
        sketch: Sketch | None,
        own: bytes | None = None,
    ) -> None:
        """Store a page, its content, and the depth that was reported to the modules.

        And its sketch, with the sample of its own content if that is known.
        """
        number, fetched_at = page.page_id, page.fetched_at
        self._batch.pages.append(
            (
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
        )
        self._batch.contents.append((number, fetched_at, page.content))
        self._batch.duplicates[page.digest] = (fetched_at, number)
        if sketch is not None:
            bands = b"".join(sketch.bands)
            self._batch.sketches[number] = (fetched_at, bands, sketch.sample, own)

    def replace_page(self, url_id: int, page: KeptPage, depth: int, sketch: Sketch | None) -> None:
        """Store another version of a page, in place of what there is."""
        self._batch.write()
        self._db.execute("DELETE FROM pages WHERE id = ?", (page.page_id,))
        self._drop_content([page.page_id])
        self.add_page(url_id, page, depth, sketch)
        self._batch.write()  # nobody may find the earlier version any more, nor miss this one

    def page_of(self, url_id: int) -> int | None:
        """Return the number of the page of a URL; None if it has none."""
        (number,) = self._db.execute("SELECT page FROM urls WHERE id = ?", (url_id,)).fetchone()
        return None if number is None else int(number)

    def bands_of(self, page_id: int) -> bytes:
        """Return the bands of the sketch of a page, concatenated; none if it has no sketch."""
        self._batch.write()
        row = self._db.execute("SELECT bands FROM sketches WHERE page = ?", (page_id,)).fetchone()
        return b"" if row is None else bytes(row[0])

    def duplicate_of(self, digest: bytes, since: float) -> int | None:
        """Return a page with this digest that was fetched after `since`."""
        fetched_at, number = self._batch.duplicates.get(digest, (since, 0))
        if fetched_at > since:
            return number
        found = self._db.execute(
            "SELECT id FROM pages WHERE digest = ? AND fetched_at > ? ORDER BY id DESC LIMIT 1",
            (digest, since),
        ).fetchone()
        return None if found is None else int(found[0])

    def band_table(self) -> BandTable:
        """Return the bands of pages that are not kept in memory."""
        return BandTable(self._db)

    def bands(self, after: int, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages of larger numbers, fetched after `since`, with their bands concatenated.

        Only those that have a sketch.
        """
        self._batch.write()
        query = "SELECT page, bands FROM sketches WHERE page > ? AND fetched_at > ?"
        return self._db.execute(query, (after, since))

    def samples(self, page_id: int, since: float) -> tuple[bytes | None, bytes | None]:
        """Return the samples of a page's text and of its own content, as far as they are known.

        A page that was fetched up to `since` has none any more.
        """
        found = self._batch.sketches.get(page_id)
        if found is not None:
            fetched_at, _, sample, own = found
            return (sample, own) if fetched_at > since else (None, None)
        row: tuple[bytes, bytes | None] | None = self._db.execute(
            "SELECT sample, own FROM sketches WHERE page = ? AND fetched_at > ?", (page_id, since)
        ).fetchone()
        return (None, None) if row is None else row

    def keep_own(self, page_id: int, own: bytes) -> None:
        """Store the sample of a page's own content with its sketch, if it has one."""
        found = self._batch.sketches.get(page_id)
        if found is not None:
            self._batch.sketches[page_id] = (*found[:3], own)
        else:
            self._db.execute("UPDATE sketches SET own = ? WHERE page = ?", (own, page_id))

    def body(self, page_id: int) -> tuple[bytes | None, str]:
        """Return the packed content of a page and its content type; None if there is none."""
        self._batch.write()
        row: tuple[bytes, str] | None = self._db.execute(
            "SELECT content, content_type FROM contents JOIN pages ON pages.id = page "
            "WHERE page = ?",
            (page_id,),
        ).fetchone()
        return (None, "") if row is None else row

    def note_depth_changes(self, pages: Iterable[int]) -> None:
        """Note pages of which the modules know a larger depth."""
        self._batch.depth_changes.update(pages)

    def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note the depths of pages that were reported to the modules: the smallest counts."""
        reported = self._batch.reported_depths
        for page, depth in pages:
            reported[page] = min(depth, reported.get(page, depth))

    def pending_depth_changes(self, limit: int) -> list[tuple[int, int]]:
        """Return pages whose depth was not reported to the modules yet, with that depth."""
        self._batch.write()
        return self._db.execute(
            "SELECT pages.id, depth FROM depth_changes JOIN pages ON pages.id = depth_changes.page "
            "JOIN urls ON urls.id = pages.url ORDER BY pages.id LIMIT ?",
            (limit,),
        ).fetchall()

    def expire_content(self, before: float, limit: int) -> list[tuple[int, bytes]]:
        """Drop contents and sketches of pages fetched up to `before`, at most `limit`.

        Return the pages, with the bands of their sketches concatenated.
        """
        self._batch.write()
        rows = self._db.execute(
            "SELECT contents.page, coalesce(bands, x'') FROM contents LEFT JOIN sketches "
            "ON sketches.page = contents.page WHERE contents.fetched_at <= ? "
            "ORDER BY contents.fetched_at LIMIT ?",
            (before, limit),
        ).fetchall()
        if rows:
            self._drop_content([number for number, _ in rows])
            self.expire_rows(before, limit)
            expired = max(before, float(self.get(EXPIRED_NOTE) or b"-inf"))
            self.put(EXPIRED_NOTE, str(expired).encode())
        return rows

    def _drop_content(self, numbers: Iterable[int]) -> None:
        rows = [(number,) for number in numbers]
        self._db.executemany("DELETE FROM contents WHERE page = ?", rows)
        self._db.executemany("DELETE FROM sketches WHERE page = ?", rows)
