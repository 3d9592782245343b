"""Reading the log of results of a crawl in Redis."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redis import exceptions

from gossamer.stores.redis import library
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.nodes import ANSWER_S
from gossamer.stores.redis.records import ResultRow, read_result
from gossamer.stores.results import Result, unpack_records


async def read_results(
    crawl: CrawlClient, after: int, limit: int, part: int | None
) -> list[Result]:
    """Return the first results that come after a number; raise what `records` calls unreadable.

    The log is followed over one connection for hours, so a server that vanishes must be noticed.
    """
    start = max(after, 0)
    if limit <= 0:
        return []
    try:
        async with asyncio.timeout(ANSWER_S):
            found = [*map(read_result, await _read(crawl, start, limit, part))]
            numbered = [*enumerate(found, start + 1)]
            wanted = [number for number, one in numbered if part in (None, one.part)]
            rows = await _read_rows(crawl, wanted)
    except TimeoutError as error:
        raise exceptions.TimeoutError(f"no answer for {ANSWER_S:g} s") from error
    return [*_unpacked(numbered, rows)]


async def _read(crawl: CrawlClient, start: int, limit: int, part: int | None) -> Sequence[bytes]:
    """Return packed results; the server leaves out what is of other parts."""
    found: Any
    if part is None:
        found = await crawl.client.lrange(crawl.key("results"), start, start + limit - 1)
    else:
        found = await library.call(crawl.client, "read_part", crawl.prefix, start, limit, part)
    return found  # type: ignore[no-any-return]


async def _read_rows(crawl: CrawlClient, numbers: Sequence[int]) -> Mapping[int, bytes | None]:
    if not numbers:
        return {}
    names = [f"{crawl.key('row')}{number}" for number in numbers]
    rows: Any = await crawl.client.mget(names)
    return dict(zip(numbers, rows, strict=True))


def _unpacked(
    found: Sequence[tuple[int, ResultRow]], rows: Mapping[int, bytes | None]
) -> Iterator[Result]:
    for number, one in found:
        yield Result(
            number=number,
            url_id=one.url_id,
            page_id=one.page_id or None,
            settled_at=one.settled_at,
            records=unpack_records(one.records),
            part=one.part,
            row=rows.get(number),
        )


async def read_last_result(crawl: CrawlClient) -> int:
    """Return the number of the last result; 0 when there is none."""
    return int(await crawl.client.llen(crawl.key("results")))
