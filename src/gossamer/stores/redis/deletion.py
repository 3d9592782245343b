"""Deleting a crawl from a Redis, in whatever format it is, while nobody works on it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from gossamer.errors import CrawlError, UsageError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.lead import CrawlLead, read_holder
from gossamer.stores.redis.older_format import is_worked_on
from gossamer.stores.redis.row_format import RowFormat
from gossamer.stores.redis.row_keys import REGISTRY, RowKeys

log = logging.getLogger("gossamer.store")

LEAD_S: Final = 30.0
"""How long nobody else may begin with the crawl after the last word of who deletes it."""


def crawl_names(address: RedisAddress) -> list[str]:
    """Return the names of all crawls in a store."""
    with _linked(address, REGISTRY) as link:
        (names,) = link.ask(("SMEMBERS", REGISTRY))
    return sorted(name.decode() for name in names)


def check_deletable(address: RedisAddress, name: str) -> None:
    """Refuse to delete a crawl that is not there, or on which a process works."""
    names = crawl_names(address)
    if name not in names:
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise UsageError(f"there is no crawl {name} in {address}: {there}")
    keys = RowKeys(name)
    with _linked(address, keys.prefix.decode()) as link:
        (stored,) = link.ask(("GET", keys.lead))
        holder = read_holder(stored)
        if holder is not None:
            raise _worked_on(address, name, f" by {holder}")
        if is_worked_on(link, keys):
            raise _worked_on(address, name, "")


def delete_shared_crawl(address: RedisAddress, name: str) -> None:
    """Delete a crawl on which nobody works, in small steps that hold up nobody else.

    Whoever deletes it has its lead, so that nobody begins with it meanwhile. Its name goes last but
    for the lead, so that what was broken off can be found and deleted.
    """
    check_deletable(address, name)
    keys, where = RowKeys(name), f"the crawl {name} in {address}"
    with _linked(address, keys.prefix.decode()) as link:
        lead = CrawlLead(link, keys, where, LEAD_S)
        if not lead.try_to_take():
            raise _worked_on(address, name, f" by {lead.holder() or 'another process'}")
        RowFormat(keys, name, where).delete(link, lead.renew)
        with _linked(address, REGISTRY) as registry:
            registry.ask(("SREM", REGISTRY, name))
        lead.renew()  # nobody has taken it meanwhile
        link.ask(("DEL", keys.commit, keys.lead))


def _worked_on(address: RedisAddress, name: str, by_whom: str) -> CrawlError:
    return CrawlError(
        f"the crawl {name} in {address} is worked on{by_whom}: stop its 'gossamer crawl', "
        "frontiers and workers first, and let them end"
    )


@contextmanager
def _linked(address: RedisAddress, key: str) -> Iterator[BlockingLink]:
    """Give a connection to the server that has a key."""
    link = BlockingLink(address, key, log.warning)
    link.open()
    try:
        yield link
    finally:
        link.close()
