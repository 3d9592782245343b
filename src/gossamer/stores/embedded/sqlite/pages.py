"""The part of the SQLite backend for pages."""

from collections.abc import Iterable, Iterator

from gossamer.content.similarity import Sketch
from gossamer.stores.contract import KeptPage
from gossamer.stores.embedded.sqlite.hosts import SqliteHosts


class SqlitePages(SqliteHosts):
    """Pages, contents and sketches in tables."""

    def add_page(self, url_id: int, page: KeptPage, depth: int, sketch: Sketch | None) -> None:
        """Store a page, its content, its sketch, and the depth that was reported to the modules."""
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
            self._batch.sketches[number] = (fetched_at, b"".join(sketch.bands), sketch.sample)

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

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages with a sketch fetched after `since`, with its bands concatenated."""
        self._batch.write()
        return self._db.execute("SELECT page, bands FROM sketches WHERE fetched_at > ?", (since,))

    def sample(self, page_id: int, since: float) -> bytes | None:
        """Return the sample of a page's sketch, if it has one and was fetched after `since`."""
        found = self._batch.sketches.get(page_id)
        if found is not None:
            fetched_at, _, sample = found
            return sample if fetched_at > since else None
        row = self._db.execute(
            "SELECT sample FROM sketches WHERE page = ? AND fetched_at > ?", (page_id, since)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def confirm_depth_changes(self, pages: Iterable[tuple[int, int]]) -> None:
        """Note the depths of pages that were reported to the modules: the smallest counts."""
        self._batch.write()
        self._db.executemany(
            "UPDATE pages SET reported_depth = ?2 WHERE id = ?1 AND reported_depth > ?2", pages
        )

    def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages whose depth was not reported to the modules yet, with that depth."""
        self._batch.write()
        return self._db.execute(
            "SELECT pages.id, depth FROM pages JOIN urls ON urls.id = pages.url "
            "WHERE reported_depth <> depth ORDER BY pages.id"
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
        numbers = [(number,) for number, _ in rows]
        self._db.executemany("DELETE FROM contents WHERE page = ?", numbers)
        self._db.executemany("DELETE FROM sketches WHERE page = ?", numbers)
        return rows
