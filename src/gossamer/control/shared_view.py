"""A crawl in a shared store, copied into tables to be looked at.

The copy is of one moment, also while others work on the crawl, and nobody waits for it; it lies in
a temporary database that goes away with the view. It takes time in proportion to the number of URLs
(docs/shared-store.md tells how much), whatever is asked about them.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec
from redis import exceptions
from redis.asyncio import Redis

from gossamer.control.stored_crawl import StoredCrawl, View, read_options
from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.agreement import disagreements
from gossamer.stores.redis.client import CONNECT_S, connect
from gossamer.stores.redis.export import Parts, export
from gossamer.stores.redis.export_page import export_pages, last_page
from gossamer.stores.redis.export_state import CopiedCrawl
from gossamer.stores.redis.keys import REGISTRY
from gossamer.stores.redis.no_answer import explain
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
        name = asyncio.run(asking(address, lambda client: find_shared_crawl(client, crawl)))
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


async def asking(address: RedisAddress, question: Callable[[Redis], Awaitable[T]]) -> T:
    """Return the answer of a store; a CrawlError says why there is none."""
    client = connect(address)
    try:
        async with asyncio.timeout(CONNECT_S):  # a silent one is not waited for
            await client.ping()
        return await question(client)
    except (exceptions.RedisError, OSError) as error:
        raise CrawlError(str(explain(error, address, CONNECT_S))) from error
    finally:
        await client.aclose()


async def find_shared_crawl(client: Redis, crawl: str | None) -> str:
    """Return the name that was given, or that of the only crawl in the store."""
    if crawl is not None:
        return crawl
    names = sorted(
        one.decode() if isinstance(one, bytes) else one for one in await client.smembers(REGISTRY)
    )
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
    async def copy(client: Redis) -> tuple[CopiedCrawl | None, list[str] | None]:
        if view.page is not None:
            numbers = [view.page, await last_page(client, crawl)]
            await export_pages(client, crawl, connection, numbers)
            return None, None
        parts = Parts(links=view.links, bodies=view.audit)
        copied = await export(client, crawl, connection, parts)
        wrong = await disagreements(client, crawl, connection, copied) if view.audit else None
        return copied, wrong

    copied, wrong = asyncio.run(asking(address, copy))
    reader = SqliteReader(connection)
    where = f"the crawl {crawl} in {address}"
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
