"""Reading a priority queue from any place: a sorted set, where equal scores are by number.

The server finds a score in a sorted set, and the place of a member; it cannot find a member that is
not there among others of its score. So what is read begins at the first of that score, and where
that is far too early, the place is searched for.
"""

from typing import Any

from redis import exceptions

from gossamer.stores.redis.blocking_link import BlockingLink, Command, pack
from gossamer.stores.redis.row_keys import member, number_of
from gossamer.stores.rows import Item

EQUALS = 16
"""How many of the same score are read in passing."""


def read_items(link: BlockingLink, key: bytes, after: Item, limit: int) -> list[Item]:
    """Return the first items that come after one, which may be there or not."""
    score, wanted = repr(after[0]), limit + EQUALS
    command = ("ZRANGE", key, score, "+inf", "BYSCORE", "LIMIT", 0, wanted, "WITHSCORES")
    (stored,) = link.ask(command)
    read = _items(stored)
    items = [item for item in read if item > after]
    if len(items) >= limit or len(read) < wanted:
        return items[:limit]
    return link.patiently(lambda: _read_by_place(link, key, after, limit))


def _read_by_place(link: BlockingLink, key: bytes, after: Item, limit: int) -> list[Item]:
    """Read by places, which change with every write: so nothing may be written meanwhile."""
    while True:
        answers = _ask(link, ("WATCH", key))
        first = _place_after(link, key, after)
        read = pack(("ZRANGE", key, first, first + limit - 1, "WITHSCORES"))
        answers = link.answers(pack(("MULTI",)) + read + pack(("EXEC",)), 3, same=True)
        for answer in answers:
            if isinstance(answer, exceptions.ResponseError):
                raise answer
        if answers[2] is not None:
            return _items(answers[2][0])


def _place_after(link: BlockingLink, key: bytes, after: Item) -> int:
    """Return the place of the first item that comes after one."""
    score, packed = repr(after[0]), member(after[1])
    stored, place, low, high = _ask(
        link,
        ("ZSCORE", key, packed),
        ("ZRANK", key, packed),
        ("ZCOUNT", key, "-inf", f"({score}"),
        ("ZCOUNT", key, "-inf", score),
        is_watched=True,
    )
    if stored is not None and float(stored) == after[0]:
        return int(place) + 1
    while low < high:
        middle = (low + high) // 2
        ((found,),) = _ask(link, ("ZRANGE", key, middle, middle), is_watched=True)
        if number_of(found) > after[1]:
            high = middle
        else:
            low = middle + 1
    return int(low)


def _ask(link: BlockingLink, *commands: Command, is_watched: bool = False) -> list[Any]:
    answers = link.answers(b"".join(map(pack, commands)), len(commands), same=is_watched)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _items(stored: list[bytes]) -> list[Item]:
    """Return what the server says of members and their scores."""
    pairs = zip(stored[::2], stored[1::2], strict=True)
    return [(float(score), number_of(packed)) for packed, score in pairs]
