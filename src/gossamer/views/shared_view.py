"""A crawl in a shared store, copied into tables to be looked at.

The copy is a consistent snapshot, also while others work on the crawl, and nobody waits for it. It
lies in a temporary database that goes away with the view. It takes time in proportion to the number
of URLs (docs/shared-store.md tells how much), whatever is asked about them.
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from gossamer.coordinator.stored_options import read_options
from gossamer.errors import CrawlError
from gossamer.stores.embedded.sqlite.file import make_tables
from gossamer.stores.embedded.sqlite.reader import SqliteReader
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.crawl_client import ask_server, find_crawl_name, stored_crawl
from gossamer.stores.redis.nodes import Nodes
from gossamer.transfer.check_indexes import check_indexes
from gossamer.transfer.export import Parts, export
from gossamer.transfer.export_page import export_pages, last_page
from gossamer.transfer.export_state import CopiedCrawl
from gossamer.views.stored_crawl import StoredCrawl, View

T = TypeVar("T")


@contextmanager
def open_shared_crawl(
    url: str, crawl: str | None, view: View, results: Path | None = None
) -> Iterator[StoredCrawl]:
    """Open a crawl to look at it; without a name the only one that the store has."""
    address = parse_address(url)
    connection = sqlite3.connect("", isolation_level=None)
    try:
        make_tables(connection)
        connection.execute("BEGIN")
        name = asyncio.run(ask_server(address, lambda nodes: find_crawl_name(nodes, crawl)))
        yield _viewed(address, name, connection, view, results)
    except sqlite3.Error as error:
        raise CrawlError(f"the copy of the crawl cannot be made or read: {error}") from error
    except msgspec.ValidationError as error:
        raise CrawlError(
            f"the crawl {crawl} is damaged: {error}; 'gossamer verify' tells all that is wrong "
            "with it"
        ) from error
    finally:
        connection.close()


def _viewed(
    address: RedisAddress,
    crawl: str,
    connection: sqlite3.Connection,
    view: View,
    results: Path | None,
) -> StoredCrawl:
    reader = SqliteReader(connection)
    where = f"the crawl {crawl} in {address}"

    async def view_of(nodes: Nodes) -> StoredCrawl:
        async with stored_crawl(nodes, crawl) as (rules, client):
            if view.page is not None:
                await export_pages(client, connection, [view.page, await last_page(client)])
                return crawl_of(None, None)
            parts = Parts(links=view.links, bodies=view.audit)
            copied = await export(client, rules, connection, parts)
            wrong = await check_indexes(client, connection, copied) if view.audit else None
            return crawl_of(copied, wrong)

    def crawl_of(copied: CopiedCrawl | None, wrong: list[str] | None) -> StoredCrawl:
        return StoredCrawl(
            name=where,
            results=results,
            connection=connection,
            reader=reader,
            options=read_options(reader.note("options"), where),
            running=copied is not None and copied.is_running,
            closed=copied is not None and copied.is_closed,
            broken_indexes=wrong,
        )

    return asyncio.run(ask_server(address, view_of))
