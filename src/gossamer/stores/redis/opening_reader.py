"""Opens the rows of a crawl in Redis to read them: no lead is taken, and nothing is written."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

from gossamer.stores.notes import RESTS_NOTE
from gossamer.stores.reading import ReadRequest
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.crawl_names import ask_server, find_crawl_name
from gossamer.stores.redis.nodes import Nodes
from gossamer.stores.redis.row_reads import RedisRowReads
from gossamer.stores.rows_reader import Presence, RowsReader, explained

log = logging.getLogger("gossamer.store")

T = TypeVar("T")


class ReadingThread:
    """A thread in which one reader asks the server, which may be away for long."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "gossamer-reader")

    async def __call__(self, work: Callable[[], T], /) -> T:
        """Return what comes of it, in its turn."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def end(self) -> None:
        """Do nothing else that was asked for."""
        self._executor.shutdown(wait=False, cancel_futures=True)


@asynccontextmanager
async def open_redis_rows_reader(
    request: ReadRequest, *, may_be_led: bool = True
) -> AsyncIterator[RowsReader]:
    """Connect to a crawl in Redis to read it; nobody is disturbed.

    If it cannot be led by anybody, a lead that stands there is that of a process that has died.
    """
    address = parse_address(request.address.url)
    name = await ask_server(address, lambda nodes: find_crawl_name(nodes, request.name))
    async with _reading(request, name, Nodes(address), may_be_led=may_be_led) as reader:
        yield reader


def remembering_rows_reader(
    request: ReadRequest,
) -> Callable[[], AbstractAsyncContextManager[RowsReader]]:
    """Return what connects to a crawl, at any server that it has learnt of by then."""
    assert request.name is not None
    return partial(_reading, request, request.name, Nodes(parse_address(request.address.url)))


@asynccontextmanager
async def _reading(
    request: ReadRequest, name: str, nodes: Nodes, *, may_be_led: bool = True
) -> AsyncIterator[RowsReader]:
    rows = RedisRowReads(parse_address(request.address.url), name, tell=log.warning, nodes=nodes)
    thread = ReadingThread()
    try:
        await thread(rows.open)
        with explained(rows, rows.where):
            yield RowsReader(
                rows,
                partial(_presence, rows, may_be_led=may_be_led),
                where=rows.where,
                name=name,
                directory=request.directory,
                run=thread,
            )
    finally:
        rows.close()  # what waits for the server gives up
        thread.end()


def _presence(rows: RedisRowReads, *, may_be_led: bool) -> Presence:
    """Return who works on a crawl: a process closes it before it lets go of the lead."""
    holder = rows.holder() if may_be_led else None
    closed, rests = rows.read_metadata(["closed", RESTS_NOTE])
    running = holder is not None and closed != b"yes"
    now = rows.server_time()
    resting_s = float(rests) - now if running and rests else 0.0
    return Presence(
        running=running,
        closed=closed == b"yes",
        led_by=str(holder) if running else None,
        standbys=tuple(map(str, rows.standbys())) if may_be_led else (),
        now=now,
        resting_s=max(0.0, resting_s),
    )
