"""The batch of rows that are written together before a commit."""

import sqlite3

from gossamer.stores.url_record import Attempt


class Batch:
    """Rows to be written: as a batch they take half the time of one by one."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.leased: set[int] = set()
        """URLs that were leased; most of them are finished before the next commit."""
        self.attempts: list[tuple[object, ...]] = []
        self.pages: list[tuple[object, ...]] = []
        self.contents: list[tuple[object, ...]] = []
        self.results: list[tuple[object, ...]] = []
        self.result_rows: list[tuple[int, bytes]] = []
        self.duplicates: dict[bytes, tuple[float, int]] = {}
        """Time and number of the pages with these digests."""
        self.sketches: dict[int, tuple[float, bytes, bytes, bytes | None]] = {}
        """Time, bands and samples of the pages with these numbers."""
        self.depth_changes: set[int] = set()
        """Pages of which the modules know a larger depth."""
        self.reported_depths: dict[int, int] = {}
        """The depths of pages that were reported to the modules."""

    def add_attempt(self, url_id: int, attempt: Attempt) -> None:
        """Add a row about a visit."""
        cause = attempt.cause.name if attempt.cause else None
        row = (url_id, attempt.at, attempt.outcome, cause, attempt.detail, attempt.status)
        self.attempts.append(row)

    def write(self) -> None:
        """Write all rows."""
        db = self._db
        if self.leased:
            db.executemany(
                "UPDATE urls SET state = 3 WHERE id = ?", [(one,) for one in self.leased]
            )
            self.leased.clear()
        if self.attempts:
            db.executemany("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)", self.attempts)
            self.attempts.clear()
        if self.results:
            db.executemany("INSERT INTO results VALUES (?, ?, ?, ?, ?)", self.results)
            self.results.clear()
        if self.result_rows:
            db.executemany("INSERT INTO result_rows VALUES (?, ?)", self.result_rows)
            self.result_rows.clear()
        if self.pages:
            db.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.pages)
            db.executemany("INSERT INTO contents VALUES (?, ?, ?)", self.contents)
            self.pages.clear()
            self.contents.clear()
            self.duplicates.clear()
        if self.sketches:
            rows = [(number, *sketch) for number, sketch in self.sketches.items()]
            db.executemany("INSERT INTO sketches VALUES (?, ?, ?, ?, ?)", rows)
            self.sketches.clear()
        self._write_depths()

    def _write_depths(self) -> None:
        db = self._db
        if self.depth_changes:
            db.executemany(
                "INSERT OR IGNORE INTO depth_changes VALUES (?)",
                [(page,) for page in self.depth_changes],
            )
            self.depth_changes.clear()
        if self.reported_depths:
            reported = [*self.reported_depths.items()]
            db.executemany(
                "UPDATE pages SET reported_depth = ?2 WHERE id = ?1 AND reported_depth > ?2",
                reported,
            )
            db.executemany(
                "DELETE FROM depth_changes WHERE page = ?1 AND ?2 <= (SELECT depth FROM urls "
                "WHERE id = (SELECT url FROM pages WHERE id = ?1))",
                reported,
            )
            self.reported_depths.clear()
