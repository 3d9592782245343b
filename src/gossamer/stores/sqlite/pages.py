"""Pages and their contents in tables."""

from collections.abc import Iterator

from gossamer.stores.contract import KeptPage, PageRecord
from gossamer.stores.sqlite.hosts import SqliteHosts
from gossamer.stores.sqlite.reader import SqliteReader


class SqlitePages(SqliteHosts):
    """The kept pages."""

    def add_page(self, url_id: int, page: KeptPage, depth: int) -> None:
        """Keep a page and its content, and the depth that the modules were told."""
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
        self._batch.twins[page.digest] = (fetched_at, number)

    def twin(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""
        fetched_at, number = self._batch.twins.get(digest, (since, 0))
        if fetched_at > since:
            return number
        found = self._db.execute(
            "SELECT id FROM pages WHERE digest = ? AND fetched_at > ? ORDER BY id DESC LIMIT 1",
            (digest, since),
        ).fetchone()
        return None if found is None else int(found[0])

    def set_told_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""
        self._batch.write()
        self._db.execute("UPDATE pages SET told_depth = ? WHERE id = ?", (depth, page_id))

    def untold(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""
        self._batch.write()
        return self._db.execute(
            "SELECT pages.id, depth FROM pages JOIN urls ON urls.id = pages.url "
            "WHERE told_depth <> depth ORDER BY pages.id"
        ).fetchall()

    def expire_content(self, before: float, limit: int) -> int:
        """Drop contents fetched before that moment, at most so many; return how many."""
        self._batch.write()
        return self._db.execute(
            "DELETE FROM contents WHERE page IN "
            "(SELECT page FROM contents WHERE fetched_at <= ? ORDER BY fetched_at LIMIT ?)",
            (before, limit),
        ).rowcount

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        self._batch.write()
        return SqliteReader(self._db).body(page_id)

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        self._batch.write()
        return SqliteReader(self._db).pages()
