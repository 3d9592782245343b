"""The part of the LSH index that is in the file of a crawl, because memory is bounded."""

import sqlite3
from collections.abc import Iterable

from gossamer.stores.embedded.sqlite.queries import read_note

COMPLETE_NOTE = "stored_bands"
"""Up to which number the bands of all pages are here."""


class BandTable:
    """Bands and the pages that have them, in a table."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        if not self.complete_to:  # what a process has begun that did not live to complete it
            db.execute("DELETE FROM bands")

    @property
    def complete_to(self) -> int:
        """Up to which number all pages are here; 0: none."""
        return int(read_note(self._db, COMPLETE_NOTE) or b"0")

    def put(self, rows: Iterable[tuple[int, int]]) -> None:
        """Take in keys of bands, each with a page that has it."""
        self._db.executemany("INSERT OR IGNORE INTO bands VALUES (?, ?)", rows)

    def complete(self, number: int) -> None:
        """Note that all pages up to this number are here."""
        value = str(number).encode()
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (COMPLETE_NOTE, value))

    def discard(self, rows: Iterable[tuple[int, int]]) -> None:
        """Remove keys with their pages."""
        self._db.executemany("DELETE FROM bands WHERE key = ? AND page = ?", rows)

    def last(self, key: int, limit: int) -> list[int]:
        """Return the pages with the largest numbers that have a band, at most `limit`."""
        query = "SELECT page FROM bands WHERE key = ? ORDER BY page DESC LIMIT ?"
        return [page for (page,) in self._db.execute(query, (key, limit))]
