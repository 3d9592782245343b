"""Reading the log of results of a crawl in Redis."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from redis import exceptions

from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.nodes import ANSWER_S
from gossamer.stores.redis.records import read_result
from gossamer.stores.results import Result, unpack_records


async def read_results(crawl: CrawlClient, after: int, limit: int) -> list[Result]:
    """Return the first results that come after a number; raise what `records` calls unreadable.

    The log is followed over one connection for hours, so a server that vanishes must be noticed.
    """
    start = max(after, 0)
    if limit <= 0:
        return []
    try:
        async with asyncio.timeout(ANSWER_S):
            found: Any = await crawl.client.lrange(crawl.key("results"), start, start + limit - 1)
            if not found:
                return []
            names = [f"{crawl.key('row')}{start + place}" for place in range(1, len(found) + 1)]
            rows: Any = await crawl.client.mget(names)
    except TimeoutError as error:
        raise exceptions.TimeoutError(f"no answer for {ANSWER_S:g} s") from error
    return [*_unpacked(start, found, rows)]


def _unpacked(after: int, found: Sequence[bytes], rows: Sequence[bytes | None]) -> Iterator[Result]:
    for number, (packed, row) in enumerate(zip(found, rows, strict=True), after + 1):
        one = read_result(packed)
        yield Result(
            number=number,
            url_id=one.url_id,
            page_id=one.page_id or None,
            settled_at=one.settled_at,
            records=unpack_records(one.records),
            row=row,
        )


async def read_last_result(crawl: CrawlClient) -> int:
    """Return the number of the last result; 0 when there is none."""
    return int(await crawl.client.llen(crawl.key("results")))
