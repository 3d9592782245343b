"""Copies single pages of a crawl out of Redis, for who wants no more than those."""

import sqlite3
from collections.abc import Iterable

from gossamer.errors import CrawlError
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import UNREADABLE, read_host, read_url
from gossamer.stores.redis.unpack import unpack_page
from gossamer.transfer.sqlite_importer import SqliteImporter


async def export_pages(
    crawl: CrawlClient, connection: sqlite3.Connection, numbers: Iterable[int]
) -> None:
    """Copy those of the pages that there are, with their contents, into empty tables."""
    importer = SqliteImporter(connection, queues=1)
    for number in sorted(set(numbers)):
        try:
            await _copy(crawl, importer, number)
        except UNREADABLE as error:
            raise CrawlError(f"the record of page {number} cannot be read: {error}") from error
    importer.finish((), {})


async def last_page(crawl: CrawlClient) -> int:
    """Return the largest number that was given to a page."""
    found = await crawl.client.hget(crawl.key("counts"), "page")
    return int(found or 0)


async def _copy(crawl: CrawlClient, importer: SqliteImporter, number: int) -> None:
    client = crawl.client
    packed = await client.hget(crawl.key("pages"), str(number))
    if not isinstance(packed, bytes):
        return
    page = unpack_page(packed)
    record = await client.hget(crawl.key("urls"), str(page.url_id))
    if not isinstance(record, bytes):
        raise CrawlError(f"page {number} is of a URL that is not there: see 'gossamer verify'")
    url = read_url(record)
    host = await client.hget(crawl.key("hosts"), str(url.host))
    body = await client.get(f"{crawl.key('content')}{number}")
    importer.add_pages([(number, page.fetched_at, page.url_id, page.note)])
    importer.add_urls([(page.url_id, url, None)])
    if isinstance(host, bytes):
        importer.add_hosts([(url.host, read_host(host))], 0.0)
    if isinstance(body, bytes):
        importer.add_bodies([(number, page.fetched_at, body)])
