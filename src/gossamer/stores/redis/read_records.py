"""The packed records of a crawl in Redis, read by number."""

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from gossamer.errors import CrawlError
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import UNREADABLE

_KINDS = {
    "urls": "URL",
    "hosts": "host",
    "pages": "page",
    "targets": "URL's links",
    "listings": "URL's listing",
}

T = TypeVar("T")


class RecordReader:
    """Reads records of a crawl, and remembers those that cannot be read.

    So a list goes on past them, and says so at its end (`check`).
    """

    def __init__(self, crawl: CrawlClient, where: str) -> None:
        self._crawl = crawl
        self._where = where
        self._unreadable: list[str] = []

    async def read(
        self,
        name: str,
        numbers: Iterable[int],
        unpack: Callable[[bytes], T],
        *,
        needed: bool = False,
    ) -> dict[int, T]:
        """Return the records of a hash under these numbers, as far as they are there and sound.

        One that is needed must be there.
        """
        fields = [*map(str, numbers)]
        records: dict[int, T] = {}
        if not fields:
            return records
        found = await self._crawl.client.hmget(self._crawl.key(name), fields)
        for field, packed in zip(fields, found, strict=True):
            if not isinstance(packed, bytes):
                if needed:
                    self._unreadable.append(f"{name} {field}, which is missing")
                continue
            try:
                records[int(field)] = unpack(packed)
            except UNREADABLE as error:
                what = f"no record of a {_KINDS[name]}: {error}"
                self._unreadable.append(f"{name} {field}, {what}")
        return records

    async def read_one(self, name: str, number: int, unpack: Callable[[bytes], T]) -> T | None:
        """Return one record; None if it is not there, a CrawlError if it cannot be read."""
        found = await self.read(name, [number], unpack)
        self.check()
        return found.get(number)

    async def read_needed(self, name: str, number: int, unpack: Callable[[bytes], T]) -> T:
        """Return one record that must be there."""
        found = await self.read(name, [number], unpack, needed=True)
        self.check()
        return found[number]

    def check(self) -> None:
        """Raise a CrawlError if records could not be read."""
        if self._unreadable:
            count = len(self._unreadable)
            records = "1 record" if count == 1 else f"{count:,} records"
            self.complain(f"{records} cannot be read ({self._unreadable[0]})")

    def complain(self, what: str) -> NoReturn:
        """Raise a CrawlError that says what is damaged."""
        raise CrawlError(
            f"{self._where} is damaged: {what}; run 'gossamer verify' for everything that is wrong"
        )
