"""The databases that the tests of rows run with: each holds one crawl, and can be opened again."""

from typing import Protocol

from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import ResultRow, Rows


class RowsSetup(Protocol):
    """A crawl in a database."""

    def open(self) -> Rows:
        """Open it, new or as it was left, after letting go of it if it was open."""

    def read_results(self) -> list[ResultRow]:
        """Return all results of the opened crawl, with the rows that are left."""

    def close(self) -> None:
        """Let go of it for good."""


class RedisRowsSetup:
    """A crawl in Redis."""

    def __init__(self, url: str, crawl: str) -> None:
        self._address = parse_address(url)
        self._crawl = crawl
        self._rows: RedisRows | None = None

    def open(self) -> RedisRows:
        self.close()
        self._rows = rows = RedisRows(self._address, self._crawl)
        rows.take_lead()
        return rows

    def read_results(self) -> list[ResultRow]:
        assert self._rows is not None
        return self._rows.read_results(0, self._rows.last_result() + 1)

    def close(self) -> None:
        if self._rows is not None:
            self._rows.resign()
            self._rows.close()
            self._rows = None
