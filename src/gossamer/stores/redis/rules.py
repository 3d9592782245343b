"""The rules of a crawl, as they are stored in Redis and as the function library gets them."""

import msgspec
from msgspec.structs import asdict

from gossamer.errors import CrawlError
from gossamer.stores.rules import StoreRules

VERSION = 8
"""The version of the format in which crawls are stored."""


class StoredRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules, with the version of the format in which the crawl is stored."""

    version: int = VERSION
    rules: StoreRules


def for_scripts(rules: StoreRules, *, given: bool) -> bytes:
    """Return the rules as every step gets them; `given`: the caller says what time it is."""
    named = {**asdict(rules.scheduler), **asdict(rules), "given": given or None}
    named["may_share"] = rules.scheduler.may_share
    del named["scheduler"]
    return msgspec.msgpack.encode({name: one for name, one in named.items() if one is not None})


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
