"""For each scheme of `--store`: where it has its state, and what reads a crawl there.

What a kind needs is imported when it is used: a crawl in a file does not wait for the Redis client
to load. What opens a crawl to work on it is in `coordinator/coordinate.py`.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import msgspec

from gossamer.config import IN_DIRECTORY, StoreAddress
from gossamer.config.store_address import OWN_REDIS
from gossamer.model.errors import UsageError
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.directory import find_crawl, is_own_redis
from gossamer.stores.reader import CrawlReader


def needs_directory(address: StoreAddress) -> bool:
    """Tell whether the state of a crawl there is on the local disk, in the crawl's directory."""
    return address.scheme in {"sqlite", "own-redis"}


def address_in(directory: Path) -> StoreAddress:
    """Return the store of the crawl in a directory: its file, or a Redis of its own."""
    return OWN_REDIS if is_own_redis(directory) else IN_DIRECTORY


def open_for_reading(request: ReadRequest) -> AbstractAsyncContextManager[CrawlReader]:
    """Open a crawl to read it, whether or not a process works on it."""
    if request.address == IN_DIRECTORY:
        directory = find_crawl(request.directory, Path())
        address = address_in(directory)
        request = msgspec.structs.replace(request, address=address, directory=directory)
    match request.address.scheme:
        case "sqlite":
            from gossamer.stores.sqlite.rows import open_sqlite_reader  # noqa: PLC0415

            return open_sqlite_reader(request)
        case "redis":
            from gossamer.stores.redis.rows import open_redis_reader  # noqa: PLC0415

            return open_redis_reader(request)
        case "own-redis":
            from gossamer.stores.redis.own_server import open_own_redis_reader  # noqa: PLC0415

            return open_own_redis_reader(request)
    raise UsageError(
        "a crawl in memory cannot be read by another process: use a sqlite: or redis:// store"
    )


def reopening(request: ReadRequest) -> Callable[[], AbstractAsyncContextManager[CrawlReader]]:
    """Return what opens a crawl to read it, again and again, also when it has moved meanwhile."""
    if request.address.scheme == "redis":
        from gossamer.stores.redis.rows import reopening_redis_reader  # noqa: PLC0415

        return reopening_redis_reader(request)
    return partial(open_for_reading, request)
