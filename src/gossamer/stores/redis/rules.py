"""The rules of a crawl, as they lie in Redis and as the scripts get them."""

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.ledger import StoreRules

VERSION = 1
_UNDER_WAY = b"being restored: "


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


def write(rules: StoredRules) -> bytes:
    """Return everything that is laid down."""
    return msgspec.msgpack.encode(rules)


def read(stored: bytes, crawl: str) -> StoredRules:
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


def placeholder(partitions: int) -> bytes:
    """Return what lies in place of the rules while a crawl is brought into Redis."""
    return b"%s%d" % (_UNDER_WAY, partitions)


def partitions_of(stored: object, crawl: str) -> int:
    """Return into how many partitions something is divided, whole or half restored."""
    if not isinstance(stored, bytes):
        return 1
    count = stored.removeprefix(_UNDER_WAY)
    if count != stored and count.isdigit():
        return int(count)
    try:
        return read(stored, crawl).partitions
    except CrawlError:  # of another version, or no crawl at all
        return 1
