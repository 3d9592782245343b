"""Whether what a crawl in Redis has beside its rows agrees with a copy of them.

Sorted sets, hashes and numbers say again what the rows say, so that they are found quickly. Numbers
and lengths are of the moment of the copy; bits and ages were compared with each row when it was
read (redis_rows.py). The rest is read afterwards, and compared with the copy; while the crawl goes
on, that is a suspicion only, and what looks wrong is read again together with its row.
"""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.row_changes import RowNumbers, decode_url
from gossamer.stores.redis.row_keys import NAMES, RowKeys, member, number_of
from gossamer.stores.url_record import UrlState
from gossamer.views.redis_rows import COUNTED, CrawlSource, Moment, RowSource, commit_number, cut

AT_ONCE: Final = 500
MEMBERS_AT_ONCE: Final = 5_000
MEMBER_BYTES: Final = 8

Place: TypeAlias = tuple[int, int]
"""A host, and one of its priority queues."""

_NUMBERED: Final = {"url": "urls", "host": "hosts", "page": "pages", "result": "results"}
"""The tables whose last numbers are noted."""
_QUEUE: Final = re.compile("queued:([0-9]+):([0-9]+)")
_MISPLACED: Final = """
    SELECT id, host, queue FROM urls WHERE state = 1 AND NOT EXISTS (
        SELECT 1 FROM queued WHERE url = id
        AND queued.host = urls.host AND queued.queue = urls.queue AND queued.score = urls.score
    ) UNION SELECT url, queued.host, queued.queue FROM queued WHERE NOT EXISTS (
        SELECT 1 FROM urls WHERE id = url AND state = 1
        AND queued.host = urls.host AND queued.queue = urls.queue AND queued.score = urls.score
    )
"""


def wrong_indexes(
    source: CrawlSource, rows: RowSource, copy: sqlite3.Connection, moment: Moment
) -> Iterator[str]:
    """Yield where indexes do not agree with rows, in sentences."""
    for what, stored, there in _counts(copy, moment):
        if stored != there:
            yield f"{what}: the store says {stored}, and its rows {there}"
    if moment.numbers.rows > moment.numbers.result:
        yield f"rows are gone up to result {moment.numbers.rows}, which does not exist"
    if not commit_number(moment.stamp):
        yield "the number of the last commit is missing"
    places = []
    for name in _key_names(source.link, source.keys):
        if match := _QUEUE.fullmatch(name):
            places.append((int(match[1]), int(match[2])))
        elif name not in NAMES.values() and not name.startswith("messages:"):
            yield f"the key {name} belongs to nothing"
    yield from _misplaced(source, rows, copy, sorted(places))
    yield from _misnamed(source, copy)


def _counts(copy: sqlite3.Connection, moment: Moment) -> Iterator[tuple[str, int, int]]:
    """Yield each number that the store has, and what it must be by the rows."""

    def number(query: str) -> int:
        (value,) = copy.execute(query).fetchone()
        return int(value)

    lengths = moment.lengths
    for rows, names in COUNTED.items():
        there = number(f"SELECT count(*) FROM {rows}")  # noqa: S608 -- our own words
        yield from ((f"entries in {name}", lengths[name], there) for name in names)
    yield "ages of rows of results", lengths["row_ages"], lengths["result_rows"]
    if not moment.is_led:  # else some may have gone since
        there = number("SELECT count(*) FROM result_rows")
        yield "rows of results", lengths["result_rows"], there
    for name, table in _NUMBERED.items():
        last = number(f"SELECT coalesce(max(rowid), 0) FROM {table}")  # noqa: S608 -- our own words
        yield f"the number of the last {name}", getattr(moment.numbers, name), last
    due = len(RowNumbers.__struct_fields__) if any(lengths.values()) else 0
    yield "numbers of last rows", lengths["numbers"], due


def _key_names(link: BlockingLink, keys: RowKeys) -> set[str]:
    """Return how the keys of the crawl end."""
    names: set[bytes] = set()
    cursor = None
    while cursor != b"0":
        ((cursor, some),) = link.ask(
            ("SCAN", cursor or 0, "MATCH", keys.prefix + b"*", "COUNT", MEMBERS_AT_ONCE)
        )
        names |= {*some}
    return {name.removeprefix(keys.prefix).decode(errors="backslashreplace") for name in names}


def _misplaced(
    source: CrawlSource, rows: RowSource, copy: sqlite3.Connection, places: Sequence[Place]
) -> Iterator[str]:
    """Yield the URLs that are not in the queue in which they wait, or in another one."""
    copy.execute("CREATE TEMP TABLE queued (url INTEGER, host, queue, score)")
    for host, queue in places:
        for packed, score in _members(source.link, source.keys.queued(host, queue)):
            if len(packed) != MEMBER_BYTES or packed[0] > 127:
                yield f"queue {queue} of host {host} has an entry that is no URL"
                continue
            entry = number_of(packed), host, queue, score
            copy.execute("INSERT INTO queued VALUES (?, ?, ?, ?)", entry)
    copy.execute("CREATE INDEX temp.queued_by_url ON queued (url)")
    suspects = copy.execute(_MISPLACED).fetchall()
    copy.execute("DROP TABLE temp.queued")
    for some in cut(suspects, AT_ONCE):
        packed_rows, *scores = rows.together(
            ("HMGET", source.keys.urls, *(url_id for url_id, _, _ in some)),
            *(("ZSCORE", source.keys.queued(*place), member(url_id)) for url_id, *place in some),
        )
        for (url_id, host, queue), packed, score in zip(some, packed_rows, scores, strict=True):
            row = rows.read(f"URL {url_id}", packed, decode_url)
            is_due = row and row.state == UrlState.QUEUED and (row.host, row.queue) == (host, queue)
            due = row.score if row and is_due else None
            there = None if score is None else float(score)
            if there != due:
                yield (
                    f"URL {url_id} is in queue {queue} of host {host} with the score {there}, "
                    f"and should be there with {due}"
                )


def _members(link: BlockingLink, key: bytes) -> Iterator[tuple[bytes, float]]:
    """Yield the members of a sorted set with their scores."""
    start, stored = 0, None
    while stored is None or len(stored) == 2 * MEMBERS_AT_ONCE:
        last = start + MEMBERS_AT_ONCE - 1
        (stored,) = link.ask(("ZRANGE", key, start, last, "WITHSCORES"))
        yield from zip(stored[::2], map(float, stored[1::2]), strict=True)
        start += MEMBERS_AT_ONCE


def _misnamed(source: CrawlSource, copy: sqlite3.Connection) -> Iterator[str]:
    """Yield the URLs and hosts that are not found by their keys, which never change."""
    for what, ids in (("url", source.keys.known), ("host", source.keys.host_ids)):
        rows = copy.execute(f"SELECT id, key FROM {what}s")  # noqa: S608 -- our own names
        while some := rows.fetchmany(AT_ONCE):
            (stored,) = source.link.ask(("HMGET", ids, *(key for _, key in some)))
            for (number, _), packed in zip(some, stored, strict=True):
                if packed != b"%d" % number:
                    yield f"{what} {number} is not found by its key"
