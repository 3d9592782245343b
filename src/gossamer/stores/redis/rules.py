"""The rules of a crawl, as they are stored in Redis and as the function library gets them."""

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.rules import StoreRules

VERSION = 3
"""The version of the format in which crawls are stored."""
PLACEHOLDER = b"being restored"
"""What stands in place of the rules while a crawl is being restored."""


class StoredRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, with the version of the format in which the crawl is stored."""

    version: int = VERSION
    rules: StoreRules


class ScriptRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules by the names that the Lua code uses."""

    queues: int
    strict: bool
    delay_s: float
    host_connections: int
    worker_queue: int
    domain_ttl_s: float
    lease_s: float
    max_depth: int | None = None
    max_pages: int
    max_bytes: int
    max_page_bytes: int
    ttl_s: float
    similarity: float | None = None
    given: bool = False
    """Whether the caller says what time it is."""


def for_scripts(rules: StoreRules, *, given: bool) -> bytes:
    """Return the rules as every step gets them."""
    scheduler = rules.scheduler
    packed = ScriptRules(
        queues=scheduler.queues,
        strict=scheduler.strict,
        delay_s=scheduler.delay_s,
        host_connections=scheduler.host_connections,
        worker_queue=scheduler.worker_queue,
        domain_ttl_s=scheduler.domain_ttl_s,
        lease_s=scheduler.lease_s,
        max_depth=rules.max_depth,
        max_pages=rules.max_pages,
        max_bytes=rules.max_bytes,
        max_page_bytes=rules.max_page_bytes,
        ttl_s=rules.ttl_s,
        similarity=rules.similarity,
        given=given,
    )
    return msgspec.msgpack.encode(packed)


def write(rules: StoreRules) -> bytes:
    """Return the rules as they are stored."""
    return msgspec.msgpack.encode(StoredRules(rules=rules))


def read(stored: bytes, crawl: str) -> StoreRules:
    """Return the rules of a stored crawl."""
    try:
        found = msgspec.msgpack.decode(stored, type=StoredRules)
    except msgspec.MsgspecError as error:
        raise CrawlError(
            f"the key of the crawl {crawl} does not hold a crawl of this version: choose another "
            "name, or delete the crawl"
        ) from error
    if found.version != VERSION:
        raise CrawlError(
            f"the crawl {crawl} was stored by another version of Gossamer (format "
            f"{found.version}, this is {VERSION}): continue it with that one, or choose another "
            "name"
        )
    return found.rules
