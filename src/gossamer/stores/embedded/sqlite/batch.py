"""What is written together before a commit, and what nobody asks for before that."""

import sqlite3


class Batch:
    """Rows that wait to be written: many at once cost half of what they cost one by one."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.begun: set[int] = set()
        """Assigned URLs on which work has begun. Most of them are finished before the next commit.
        """
        self.attempts: list[tuple[object, ...]] = []
        self.pages: list[tuple[object, ...]] = []
        self.contents: list[tuple[object, ...]] = []
        self.duplicates: dict[bytes, tuple[float, int]] = {}
        """When pages of these digests were fetched, and their numbers."""
        self.sketches: dict[int, tuple[float, bytes, bytes]] = {}
        """When pages of these numbers were fetched, and the bands and samples of their sketches."""

    def write(self) -> None:
        """Write everything."""
        db = self._db
        if self.begun:
            db.executemany("UPDATE urls SET state = 3 WHERE id = ?", [(one,) for one in self.begun])
            self.begun.clear()
        if self.attempts:
            db.executemany("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)", self.attempts)
            self.attempts.clear()
        if self.pages:
            db.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self.pages)
            db.executemany("INSERT INTO contents VALUES (?, ?, ?)", self.contents)
            self.pages.clear()
            self.contents.clear()
            self.duplicates.clear()
        if self.sketches:
            rows = [(number, *sketch) for number, sketch in self.sketches.items()]
            db.executemany("INSERT INTO sketches VALUES (?, ?, ?, ?)", rows)
            self.sketches.clear()
