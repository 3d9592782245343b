"""Looks on at a crawl that is divided into partitions."""

from collections.abc import AsyncIterator, Sequence

from gossamer.stores.contract import Attempt, PageRecord, UrlRecord
from gossamer.stores.redis.partitions import partition_of_id
from gossamer.stores.redis.reader import RedisReader


class DividedReader:
    """Reads all partitions of one crawl."""

    def __init__(self, parts: Sequence[RedisReader]) -> None:
        self._parts = parts

    def __repr__(self) -> str:
        return f"<DividedReader: {len(self._parts)} partitions>"

    async def close(self) -> None:
        """Let go of the connections."""
        for part in self._parts:
            await part.close()

    async def records(self) -> AsyncIterator[UrlRecord]:
        """Yield all that is known of every URL, in each partition in the order of discovery."""
        for part in self._parts:
            async for record in part.records():
                yield record

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        return await self._parts[partition_of_id(url_id, len(self._parts))].attempts(url_id)

    async def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        found = [page for part in self._parts async for page in part.pages()]
        for page in sorted(found, key=lambda page: page.id):
            yield page

    async def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        for part in self._parts:
            if (content := await part.content(page_id)) is not None:
                return content
        return None

    async def quarantined(self) -> int:
        """Return how many records nobody could read."""
        return sum([await part.quarantined() for part in self._parts])
