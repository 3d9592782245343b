"""Looks on: what a crawl in Redis knows of its URLs and pages.

Reading changes nothing, with one exception: what nobody can read is put aside into the quarantine,
and counted.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

import msgspec
import zstandard

from gossamer.frontier import QueueTable
from gossamer.model import HostKey
from gossamer.stores.contract import Attempt, PageRecord, UrlRecord, UrlState
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.unpack import SeenUrl, unpack_host, unpack_page, unpack_url

T = TypeVar("T")

AT_ONCE = 500
"""How many records are read with one command."""


class RedisReader:
    """Reads one crawl, with a connection of its own."""

    def __init__(self, crawl: CrawlClient, queues: int) -> None:
        self._client = crawl.client
        self._crawl = crawl
        self._table = QueueTable(queues)

    def __repr__(self) -> str:
        return f"<RedisReader: {self._crawl.prefix}>"

    async def close(self) -> None:
        """Let go of the connection."""
        await self._client.aclose()

    async def records(self) -> AsyncIterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""
        count = int(await self._client.hget(self._key("counts"), "urls") or 0)
        for first in range(1, count + 1, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, count + 1))
            rows = await self._read("urls", numbers, unpack_url)
            hosts = {row.host for row in rows.values()}
            names = await self._read("hosts", sorted(hosts), unpack_host)
            for url_id, row in rows.items():
                if row.host in names:
                    yield self._record(url_id, row, *names[row.host])

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        rows = await self._read("urls", [url_id], unpack_url)
        return rows[url_id].attempts if url_id in rows else []

    async def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        numbers = sorted(map(int, await self._client.hkeys(self._key("pages"))))
        for first in range(0, len(numbers), AT_ONCE):
            pages = await self._read("pages", numbers[first : first + AT_ONCE], unpack_page)
            ids = sorted({page.url_id for page in pages.values()})
            rows = await self._read("urls", ids, unpack_url)
            for number, page in pages.items():
                if page.url_id in rows:
                    yield page.record(number, rows[page.url_id])

    async def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        packed = await self._client.get(f"{self._key('content')}{page_id}")
        return zstandard.decompress(packed) if isinstance(packed, bytes) else None

    async def quarantined(self) -> int:
        """Return how many records nobody could read."""
        return int(await self._client.llen(self._key("quarantine")))

    def _key(self, name: str) -> str:
        return self._crawl.key(name)

    async def _read(
        self, name: str, numbers: Iterable[int], unpack: Callable[[bytes], T]
    ) -> dict[int, T]:
        """Return the records of a hash under these numbers, as far as they are there and sound."""
        fields = [*map(str, numbers)]
        records: dict[int, T] = {}
        if not fields:
            return records
        for field, packed in zip(
            fields, await self._client.hmget(self._key(name), fields), strict=True
        ):
            if not isinstance(packed, bytes):
                continue
            try:
                records[int(field)] = unpack(packed)
            except ValueError:
                await self._put_aside(name, field, packed)
        return records

    async def _put_aside(self, name: str, field: str, packed: bytes) -> None:
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.rpush(self._key("quarantine"), msgspec.msgpack.encode((name, field, packed)))
            pipe.hdel(self._key(name), field)
            pipe.hincrby(self._key("counts"), "broken", 1)
            await pipe.execute()

    def _record(self, url_id: int, row: SeenUrl, host: HostKey, domain: str) -> UrlRecord:
        is_finished = row.state is UrlState.DONE
        last = row.attempts[-1] if row.attempts and is_finished else None
        return UrlRecord(
            id=url_id,
            url=row.url,
            host=host,
            domain=domain,
            state=row.state,
            depth=row.depth,
            parent=row.parent,
            score=row.score,
            queue=None if row.score is None else self._table.queue_of(row.score),
            outcome=last.outcome if last else None,
            detail=last.detail if last else "",
            page_id=row.page_id,
            found_at=row.found_at,
            finished_at=row.finished_at if is_finished else None,
            attempts=len(row.attempts),
        )
