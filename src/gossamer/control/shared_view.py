"""A crawl in a shared store, copied into tables to be looked at.

The copy is a consistent snapshot, also while others work on the crawl, and nobody waits for it. It
lies in a temporary database that goes away with the view. It takes time in
proportion to the number of URLs (docs/shared-store.md tells how much), whatever is asked about them.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from redis import exceptions

from gossamer.control.stored_crawl import StoredCrawl, View, read_options
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.agreement import disagreements
from gossamer.stores.redis.client import CONNECT_S, connect
from gossamer.stores.redis.crawl_client import stored_crawl
from gossamer.stores.redis.export import Parts, export
from gossamer.stores.redis.export_page import export_pages, last_page
from gossamer.stores.redis.export_state import CopiedCrawl
from gossamer.stores.redis.keys import REGISTRY
from gossamer.stores.redis.no_answer import explain
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.sqlite.file import make_tables
from gossamer.stores.sqlite.reader import SqliteReader

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
        name = asyncio.run(asking(address, lambda nodes: find_shared_crawl(nodes, crawl)))
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


async def asking(address: RedisAddress, question: Callable[[Nodes], Awaitable[T]]) -> T:
    """Return the answer of a store; a CrawlError says why there is none."""
    try:
        async with asyncio.timeout(CONNECT_S), connect(address) as client:
            await client.ping()  # a silent one is not waited for
        return await question(Nodes(address))
    except (exceptions.RedisError, OSError) as error:
        raise CrawlError(str(explain(error, address, CONNECT_S))) from error


async def find_shared_crawl(nodes: Nodes, crawl: str | None) -> str:
    """Return the name that was given, or that of the only crawl in the store."""
    if crawl is not None:
        return crawl
    async with connect(await nodes.find(REGISTRY)) as client:
        found = await client.smembers(REGISTRY)
    names = sorted(one.decode() if isinstance(one, bytes) else one for one in found)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError("the store has no crawl")
    raise UsageError(f"the store has several crawls: name one of {', '.join(names)} with --crawl")


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
            wrong = await disagreements(client, connection, copied) if view.audit else None
            return crawl_of(copied, wrong)

    def crawl_of(copied: CopiedCrawl | None, wrong: list[str] | None) -> StoredCrawl:
        return StoredCrawl(
            name=where,
            results=results,
            connection=connection,
            reader=reader,
            options=read_options(reader, where),
            running=copied is not None and copied.is_running,
            closed=copied is not None and copied.is_closed,
            disagreements=wrong,
        )

    return asyncio.run(asking(address, view_of))
