"""The rules of a crawl, as they lie in Redis and as the scripts get them."""

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.ledger import StoreRules

VERSION = 1


class StoredRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the first process has laid down for all of them."""

    version: int = VERSION
    rules: StoreRules
    partitions: int = 1
    """Into how many the crawl is divided, for ever."""


class ScriptRules(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rules by the names that the scripts use."""

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
    partitions: int = 1
    partition: int | None = None
    """Which of them the script works on; the centre is the one after the last."""


def for_scripts(
    rules: StoreRules, *, given: bool, partitions: int = 1, partition: int | None = None
) -> bytes:
    """Return the rules as every script gets them."""
    desk = rules.desk
    packed = ScriptRules(
        queues=desk.queues,
        strict=desk.strict,
        delay_s=desk.delay_s,
        host_connections=desk.host_connections,
        worker_queue=max(1, desk.worker_queue // partitions),  # every worker serves all of them
        domain_ttl_s=desk.domain_ttl_s,
        lease_s=desk.lease_s,
        max_depth=rules.max_depth,
        max_pages=rules.max_pages,
        max_bytes=rules.max_bytes,
        max_page_bytes=rules.max_page_bytes,
        ttl_s=rules.ttl_s,
        similarity=rules.similarity,
        given=given,
        partitions=partitions,
        partition=partition,
    )
    return msgspec.msgpack.encode(packed)


def write(rules: StoreRules) -> bytes:
    """Return the rules of a crawl that is not divided, as they are laid down."""
    return write_all(StoredRules(rules=rules))


def write_all(rules: StoredRules) -> bytes:
    """Return everything that is laid down."""
    return msgspec.msgpack.encode(rules)


def read(stored: bytes, crawl: str) -> StoreRules:
    """Return the rules that were laid down for a crawl that is not divided."""
    found = read_all(stored, crawl)
    if found.partitions > 1:
        raise CrawlError(
            f"the crawl {crawl} is divided into {found.partitions} partitions: it can be worked "
            "on, but not be looked at or moved as a whole"
        )
    return found.rules


def read_all(stored: bytes, crawl: str) -> StoredRules:
    """Return the rules that were laid down, and into how many partitions the crawl is divided."""
    try:
        found = msgspec.msgpack.decode(stored, type=StoredRules)
    except msgspec.MsgspecError as error:
        raise CrawlError(
            f"what lies in the store under the name {crawl} is no crawl of this version: choose "
            "another name, or delete it"
        ) from error
    if found.version != VERSION:
        raise CrawlError(
            f"the crawl {crawl} was kept by another version of Gossamer (format {found.version}, "
            f"this is {VERSION}): continue it with that one, or choose another name"
        )
    return found
