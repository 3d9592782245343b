"""The part of the SQLite backend for URLs that have come nearer, their links not yet."""

from collections.abc import Sequence

from gossamer.stores.embedded.rows import RelaxingUrl
from gossamer.stores.embedded.sqlite.listings import SqliteListings
from gossamer.stores.embedded.sqlite.queries import has_relaxing

_RELAXING = "SELECT depth, hops, url, done FROM relaxing"


class SqliteRelaxing(SqliteListings):
    """The URLs whose links are to be followed over a shorter path, in a table."""

    def has_relaxing(self) -> bool:
        """Return whether the links of any URL that has come nearer are still to be followed."""
        return has_relaxing(self._db)

    def nearest_relaxing(self, limit: int) -> list[RelaxingUrl]:
        """Return the nearest of those URLs."""
        rows = self._db.execute(f"{_RELAXING} ORDER BY depth, hops, url LIMIT ?", (limit,))
        return [*map(RelaxingUrl._make, rows)]

    def find_relaxing(self, url_id: int) -> RelaxingUrl | None:
        """Return a URL if it is one of those."""
        row = self._db.execute(f"{_RELAXING} WHERE url = ?", (url_id,)).fetchone()
        return None if row is None else RelaxingUrl._make(row)

    def replace_relaxing(self, before: Sequence[RelaxingUrl], left: Sequence[RelaxingUrl]) -> None:
        """Store URLs in place of others; of one that is there more than once the last counts."""
        gone, stored = set(before).difference(left), set(before)
        self._db.executemany("DELETE FROM relaxing WHERE url = ?", [(one.url_id,) for one in gone])
        self._db.executemany(
            "INSERT OR REPLACE INTO relaxing (depth, hops, url, done) VALUES (?, ?, ?, ?)",
            [one for one in left if one not in stored],
        )
