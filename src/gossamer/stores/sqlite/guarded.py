"""A connection that ends with its first failure.

When a disk is full or broken SQLite may roll the transaction back by itself
(https://sqlite.org/lang_transaction.html, section 3). Whatever was executed then would be committed
statement by statement, onto a state that is no longer the one in our memory. So nothing is: what
was last committed is whole, and the crawl goes on from there another time.
"""

import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from gossamer.errors import CrawlError

if TYPE_CHECKING:
    from sqlite3 import _Parameters as Parameters  # typeshed's name for what can be bound
else:
    Parameters: TypeAlias = object


class GuardedConnection(sqlite3.Connection):
    """Executes statements until one fails; that and all later ones are one `CrawlError`."""

    failure: CrawlError | None = None

    def execute(self, statement: str, values: Parameters = (), /) -> sqlite3.Cursor:
        """Execute a statement."""
        if self.failure is not None:
            raise self.failure
        try:
            return super().execute(statement, values)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def executemany(self, statement: str, rows: Iterable[Parameters], /) -> sqlite3.Cursor:
        """Execute a statement for each row."""
        if self.failure is not None:
            raise self.failure
        try:
            return super().executemany(statement, rows)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> CrawlError:
        self.failure = CrawlError(
            f"cannot write the state of the crawl: {error}; what was written before is whole, and "
            "the same command continues when this is mended"
        )
        return self.failure
