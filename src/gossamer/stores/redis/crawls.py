"""The crawls that a Redis holds: their names, their formats, their sizes, and their deletion.

Crawls that an older version of Gossamer has left, whose rules were carried out on the server, can
be listed and deleted, and not be read.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from gossamer.model.errors import CrawlError, OlderFormatError, UsageError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import BlockingLink, linked
from gossamer.stores.redis.lead import CrawlLead, read_holder
from gossamer.stores.redis.row_keys import NAMES, REGISTRY, RowKeys

FORMAT: Final = 2
"""The number of the format that this version writes."""
DELETED_AT_ONCE: Final = 1_000
DELETING_S: Final = 30.0
"""How long nobody else may begin with a crawl after the last word of who deletes it."""
MOST_MEASURED: Final = 10_000
"""How many keys are looked through at most when the size of a crawl is asked."""
MEASURED_AT_ONCE: Final = 500

OLDER_LEADS: Final = (b"leader:coordinator", b"leader:frontier")
"""Keys of an older format that run out: who has a role."""
OLDER_WORKERS: Final = b"seen"
"""A key of an older format, a sorted set: workers by their last sign of life."""
OLDER_SILENT_S: Final = 60.0
"""After how long without a sign such a worker counts as gone."""


# -- names ---------------------------------------------------------------------------------------


def crawl_names(address: RedisAddress) -> list[str]:
    """Return the names of all crawls in a store; a CrawlError says why there is no answer."""
    with linked(address, REGISTRY) as link:
        return sorted(name.decode() for name in link.ask_one("SMEMBERS", REGISTRY))


def find_crawl_name(address: RedisAddress, name: str | None) -> str:
    """Return the name that was given, or that of the only crawl in the store."""
    if name is not None:
        return name
    names = crawl_names(address)
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError("the store has no crawl: start one with 'gossamer crawl'")
    raise UsageError(f"the store has several crawls: name one of {', '.join(names)} with --name")


def register_name(address: RedisAddress, name: str) -> None:
    """Have the name of a crawl listed."""
    with linked(address, REGISTRY) as link:
        link.ask_one("SADD", REGISTRY, name)


# -- formats -------------------------------------------------------------------------------------


@contextmanager
def linked_to_crawl(address: RedisAddress, name: str) -> Iterator[BlockingLink]:
    """Give a connection to the server that has a crawl in the format of this version."""
    keys = RowKeys(name)
    with linked(address, keys.prefix.decode()) as link:
        require_crawl(link, keys)
        yield link


def check_format(link: BlockingLink, keys: RowKeys) -> bool:
    """Refuse a crawl that another version of the program has begun; tell whether there is one."""
    stored, has_rules = link.ask(("GET", keys.format), ("EXISTS", keys.rules))
    where = keys.describe(link.address)
    if stored is not None and not stored.isdigit():
        raise CrawlError(f"{where} is damaged: its format is not a number; start over with --fresh")
    if has_rules or (stored is not None and int(stored) < FORMAT):
        raise OlderFormatError(
            f"{where} was begun with an older version of Gossamer, in a format that this one does "
            "not have: finish it with that version, or start over with --fresh"
        )
    if stored is not None and int(stored) > FORMAT:
        raise CrawlError(
            f"{where} was begun with a newer version of Gossamer, in a format that this one does "
            "not know: go on with that version, or start over with --fresh"
        )
    return stored is not None


def require_crawl(link: BlockingLink, keys: RowKeys) -> None:
    """Refuse a crawl in another format, and one that is not there."""
    if not check_format(link, keys):
        raise CrawlError(
            f"the store has no crawl with the name {keys.crawl}: 'gossamer crawls' lists those "
            "there"
        )


def store_format(link: BlockingLink, keys: RowKeys) -> None:
    """Store the format, unless another one is there, which is refused."""
    if not check_format(link, keys):
        link.ask_one("SET", keys.format, FORMAT, "NX")


# -- sizes ---------------------------------------------------------------------------------------


def memory_of(address: RedisAddress, name: str) -> int:
    """Return about how many bytes a crawl takes; in a small store it is exact.

    Keys of which a crawl has one each are all measured; they hold most of it. Of the others, of
    which there are several for each host, a bounded sample is, so that nobody has to wait.
    """
    keys = RowKeys(name)
    single = {getattr(keys, key) for key in NAMES}
    with linked(address, keys.prefix.decode()) as link:
        measured = _measure(link, single)
        size = link.ask_one("DBSIZE")
        seen, sampled, cursor = 0, 0, b""
        while cursor != b"0" and seen < MOST_MEASURED:
            cursor, names = link.ask_one("SCAN", cursor or 0, "COUNT", MEASURED_AT_ONCE)
            seen += len(names)
            of_crawl = {key for key in names if key.startswith(keys.everything)}
            sampled += _measure(link, of_crawl - single)
    scale = 1.0 if cursor == b"0" else size / max(1, seen)
    return measured + round(sampled * scale)


def _measure(link: BlockingLink, keys: Collection[bytes]) -> int:
    sizes = link.ask(*(("MEMORY", "USAGE", key) for key in keys)) if keys else []
    return sum(size or 0 for size in sizes)


# -- deletion ------------------------------------------------------------------------------------


def check_deletable(address: RedisAddress, name: str) -> None:
    """Refuse to delete a crawl that is not there, or on which a process works."""
    names = crawl_names(address)
    if name not in names:
        there = f"it has {', '.join(names)}" if names else "it has none"
        raise UsageError(f"there is no crawl {name} in {address}: {there}")
    keys = RowKeys(name)
    with linked(address, keys.prefix.decode()) as link:
        holder = read_holder(link.ask_one("GET", keys.lead))
        if holder is not None or _has_older_processes(link, keys):
            raise _worked_on(link, keys, "" if holder is None else f" by {holder}")


def delete_crawl(address: RedisAddress, name: str) -> None:
    """Delete a crawl on which nobody works, in small steps that hold up nobody else.

    Whoever deletes it has its lead, so that nobody begins with it meanwhile. Its name goes last but
    for the lead, so that what was broken off can be found and deleted.
    """
    check_deletable(address, name)
    keys = RowKeys(name)
    with linked(address, keys.prefix.decode()) as link, linked(address, REGISTRY) as registry:
        lead = CrawlLead(link, keys, DELETING_S)
        if not lead.try_to_take():
            holder = read_holder(link.ask_one("GET", keys.lead))
            raise _worked_on(link, keys, f" by {holder or 'another process'}")
        delete_rows(link, keys, lead.renew)
        registry.ask_one("SREM", REGISTRY, name)
        lead.renew()  # nobody has taken it meanwhile
        link.ask_one("DEL", keys.commit, keys.lead)


def delete_rows(link: BlockingLink, keys: RowKeys, renew_lead: Callable[[], None]) -> None:
    """Delete all of a crawl but its lead, in whatever format it is."""
    cursor, pattern = b"0", keys.everything + b"*"
    while True:
        cursor, names = link.ask_one("SCAN", cursor, "MATCH", pattern, "COUNT", DELETED_AT_ONCE)
        if gone := {*names} - {keys.lead, keys.commit}:
            link.ask_one("UNLINK", *gone)
        renew_lead()
        if cursor == b"0":
            return


def _has_older_processes(link: BlockingLink, keys: RowKeys) -> bool:
    """Tell whether processes of an older version work on a crawl."""
    seen: list[bytes]
    moment: list[Any]
    led, seen, moment = link.ask(
        ("EXISTS", *(keys.everything + name for name in OLDER_LEADS)),
        ("ZRANGE", keys.everything + OLDER_WORKERS, 0, 0, "REV", "WITHSCORES"),
        ("TIME",),
    )
    return bool(led) or bool(seen and float(seen[1]) + OLDER_SILENT_S > int(moment[0]))


def _worked_on(link: BlockingLink, keys: RowKeys, by_whom: str) -> CrawlError:
    where = keys.describe(link.address)
    return CrawlError(
        f"{where} is worked on{by_whom}: stop its 'gossamer crawl', frontiers and workers first, "
        "and let them end"
    )
