"""The registry of stores: for each scheme of `--store`, what opens a crawl there.

This is the one place that goes by the scheme. What a kind needs is imported when it is used: a
crawl in a file does not wait for the Redis client to load.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from gossamer.config import IN_DIRECTORY, OWN_REDIS, StoreAddress
from gossamer.stores.contract import Store
from gossamer.stores.embedded.directory import find_crawl
from gossamer.stores.opening import IdleCrawl, IdleRequest, OpenedCrawl, OpenRequest
from gossamer.stores.own_redis.folder import is_own_redis
from gossamer.stores.reading import CrawlReader, ReadRequest


class StoreKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of store."""

    shared: bool
    """Whether several processes, on any machine, may work on a crawl there."""
    in_directory: bool
    """Whether its state is on the local disk, so that a crawl needs a directory."""
    for_work: str
    """`module:function` that opens a crawl to work on it, given an `OpenRequest`."""
    for_reading: str
    """`module:function` that opens a crawl to read it, given a `ReadRequest`."""
    for_reopening: str | None = None
    """`module:function` that returns what opens it again and again, given a `ReadRequest`; None:
    nothing is learnt from opening it once."""
    idle: str | None = None
    """`module:function` that keeps others from working on a crawl, given an `IdleRequest`."""
    for_joining: str | None = None
    """`module:function` that opens a crawl to take part in it; None: a process that works on it has
    another address."""


STORES: Mapping[str, StoreKind] = MappingProxyType(
    {
        "memory": StoreKind(
            shared=False,
            in_directory=False,
            for_work="gossamer.stores.embedded.opening:open_memory_crawl",
            for_reading="gossamer.stores.embedded.opening:no_memory_reader",
        ),
        "sqlite": StoreKind(
            shared=False,
            in_directory=True,
            for_work="gossamer.stores.embedded.opening:open_sqlite_crawl",
            for_reading="gossamer.stores.embedded.sqlite.reader:open_sqlite_reader",
            idle="gossamer.stores.embedded.opening:open_idle_sqlite_crawl",
        ),
        "redis": StoreKind(
            shared=True,
            in_directory=False,
            for_work="gossamer.stores.redis.opening:open_redis_crawl",
            for_reading="gossamer.stores.redis.opening_reader:open_redis_rows_reader",
            for_reopening="gossamer.stores.redis.opening_reader:remembering_rows_reader",
            idle="gossamer.stores.redis.opening:open_idle_redis_crawl",
            for_joining="gossamer.stores.redis.opening:join_redis_crawl",
        ),
        "own-redis": StoreKind(
            shared=True,
            in_directory=True,
            for_work="gossamer.stores.own_redis.opening:open_own_redis_crawl",
            for_reading="gossamer.stores.own_redis.opening:open_own_redis_reader",
            idle="gossamer.stores.own_redis.opening:open_idle_own_redis_crawl",
        ),
    }
)


def kind_of(address: StoreAddress) -> StoreKind:
    """Return the kind of store that an address names."""
    return STORES[address.scheme]


def address_in(directory: Path) -> StoreAddress:
    """Return the store of the crawl in a directory: its file, or a Redis of its own."""
    return OWN_REDIS if is_own_redis(directory) else IN_DIRECTORY


def open_for_work(request: OpenRequest) -> AbstractAsyncContextManager[OpenedCrawl]:
    """Open a crawl, new or as it was left, and be the one that coordinates it."""
    crawl: AbstractAsyncContextManager[OpenedCrawl]
    crawl = _load(kind_of(request.address).for_work)(request)
    return crawl


def open_to_join(address: StoreAddress, name: str) -> AbstractAsyncContextManager[Store]:
    """Open a crawl that another process coordinates, to take part in it."""
    reference = kind_of(address).for_joining
    assert reference is not None, "only a shared store has crawls to take part in"
    store: AbstractAsyncContextManager[Store] = _load(reference)(address, name)
    return store


def open_for_reading(request: ReadRequest) -> AbstractAsyncContextManager[CrawlReader]:
    """Open a crawl to read it, whether or not a process works on it."""
    if request.address == IN_DIRECTORY:
        directory = find_crawl(request.directory, Path())
        address = address_in(directory)
        request = msgspec.structs.replace(request, address=address, directory=directory)
    reader: AbstractAsyncContextManager[CrawlReader]
    reader = _load(kind_of(request.address).for_reading)(request)
    return reader


def reopening(request: ReadRequest) -> Callable[[], AbstractAsyncContextManager[CrawlReader]]:
    """Return what opens a crawl to read it, again and again, also when it has moved meanwhile."""
    reference = kind_of(request.address).for_reopening
    if reference is None:
        return partial(open_for_reading, request)
    opening: Callable[[], AbstractAsyncContextManager[CrawlReader]] = _load(reference)(request)
    return opening


def open_idle(request: IdleRequest) -> AbstractAsyncContextManager[IdleCrawl]:
    """Open a crawl that nobody works on, and keep it so; a CrawlError if somebody does."""
    reference = kind_of(request.address).idle
    assert reference is not None, "a crawl in memory is not there without who works on it"
    crawl: AbstractAsyncContextManager[IdleCrawl] = _load(reference)(request)
    return crawl


def _load(reference: str) -> Any:  # noqa: ANN401 -- whoever asks knows what it is
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
