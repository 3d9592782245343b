"""Rows of any crawl as they are copied into the tables of a file: what does not fit is told."""

import sqlite3
from collections.abc import Iterator

from gossamer.stores.rows import Changes
from gossamer.stores.sqlite.file import make_tables
from gossamer.stores.sqlite.writing import write_changes

_MISFITS = (sqlite3.IntegrityError, sqlite3.InterfaceError, OverflowError, UnicodeEncodeError)
"""What a row raises that the tables cannot hold."""
_ROWS = (
    *("urls", "links", "attempts", "hosts", "domains", "metadata", "leases", "relaxing"),
    *("pages", "contents", "sketches"),
)


class CopiedTables:
    """Empty tables, into which rows are copied; those that are there are replaced."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Take a connection to an empty database, in which each statement is on its own."""
        self.connection = connection
        self.misfits: list[str] = []
        """The rows that could not be copied, in sentences."""
        self._last_id = 0
        make_tables(connection)
        connection.execute("BEGIN")

    def write(self, changes: Changes) -> None:
        """Take rows in."""
        if not self._try(changes):
            for what, single in _single(changes):
                if not self._try(single):
                    self.misfits.append(f"{what} cannot be copied: it breaks the form of its table")
        self._last_id = max(self._last_id, max(changes.urls, default=0))

    def _try(self, changes: Changes) -> bool:
        self.connection.execute("SAVEPOINT rows")
        try:
            write_changes(self.connection, changes, self._last_id)
        except _MISFITS:
            self.connection.execute("ROLLBACK TO rows")
            return False
        finally:
            self.connection.execute("RELEASE rows")
        return True

    def clear(self) -> None:
        """Forget everything that was copied."""
        self.misfits.clear()
        self._last_id = 0
        tables = self.connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        for (table,) in tables:
            self.connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- our own names


def _single(changes: Changes) -> Iterator[tuple[str, Changes]]:
    """Yield each row on its own, with what it is called."""
    for table in _ROWS:
        for name, row in getattr(changes, table).items():
            single = Changes()
            getattr(single, table)[name] = row
            yield f"row {name} of {table}", single
    for page in changes.dropped:
        single = Changes()
        single.dropped.add(page)
        yield f"page {page}", single
    for result in changes.results:
        single = Changes()
        single.results.append(result)
        yield f"row {result.number} of results", single
