"""The part of the SQLite backend for the log of results."""

import sqlite3
from collections.abc import Sequence

from gossamer.stores.embedded.sqlite.hosts import SqliteHosts
from gossamer.stores.embedded.sqlite.queries import read_last_result, read_number
from gossamer.stores.results import Record, ReplayedPage, pack_records


class SqliteResults(SqliteHosts):
    """The log of results in tables: what was settled, in order."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db)
        self._last_result = read_last_result(db)

    def add_result(
        self,
        url_id: int,
        page_id: int | None,
        settled_at: float,
        records: Sequence[Record] | None,
        row: bytes | None,
    ) -> None:
        """Append a result to the log."""
        self._last_result = number = self._last_result + 1
        packed = pack_records(records) or None
        self._batch.results.append((number, url_id, page_id, settled_at, packed))
        if row is not None:
            self._batch.result_rows.append((number, row))

    def add_replayed(self, replayed: ReplayedPage, now: float) -> None:
        """Append what a module has extracted from a kept page, and store how far it is."""
        if replayed.records:
            query = "SELECT url FROM pages WHERE id = ?"
            url_id = read_number(self._db, query, replayed.page_id)
            self.add_result(url_id, None, now, replayed.records, None)
        self.put(replayed.note, replayed.progress)

    def drop_rows(self, upto: int) -> None:
        """Forget the rows of the results up to a number."""
        self._batch.write()
        self._db.execute("DELETE FROM result_rows WHERE number <= ?", (upto,))

    def expire_rows(self, before: float, limit: int) -> None:
        """Forget those of the oldest `limit` rows whose results were settled up to `before`."""
        self._db.execute(
            "DELETE FROM result_rows WHERE number IN (SELECT number FROM ("
            "SELECT number, settled_at FROM result_rows JOIN results USING (number) "
            "ORDER BY number LIMIT ?) WHERE settled_at <= ?)",
            (limit, before),
        )
