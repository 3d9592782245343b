"""Whether what a crawl in Redis has beside its records agrees with them.

Queues and counters say again what the records of URLs say, so that every step is quick. Here both
are compared, in each part of the crawl. The counters are of the moment of the copy; the queues are
looked at only where nobody works, for they could not be had at one moment with the rest.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from gossamer.stores.contract import Place
from gossamer.stores.redis.branches import Branch, Branches
from gossamer.stores.redis.export_state import CopiedCrawl, PartState

HOSTS_AT_ONCE = 500

_THERE = """
INSERT INTO there
SELECT origins.number, urls.url, host_origins.number, place, score, outcome, origins.part
FROM urls CROSS JOIN origins ON origins.id = urls.id
LEFT JOIN host_origins ON host_origins.id = urls.host
"""
"""The URLs under the numbers that they have in the store."""

_COUNTED = {
    "urls": "SELECT count(*) FROM there WHERE part = ?",
    "unscored": "SELECT count(*) FROM there WHERE part = ? AND place = 0",
    "in_work": "SELECT count(*) FROM there WHERE part = ? AND place = 3",
    "pages": "SELECT count(*) FROM pages CROSS JOIN origins ON origins.id = url WHERE part = ?",
}
_WAITING = "SELECT count(*) FROM there WHERE part = ? AND place IN (1, 2)"
_OUTCOMES = "SELECT outcome, count(*) FROM there WHERE part = ? AND place = 4 GROUP BY outcome"

_MISFILED = """
SELECT url || ' waits, and is in no queue' FROM there
WHERE place IN (0, 1, 2) AND id NOT IN (SELECT url FROM filed)
UNION ALL
SELECT coalesce(there.url, 'URL ' || filed.url) || ' is in a queue, and does not wait there'
FROM filed LEFT JOIN there ON there.id = filed.url
WHERE there.id IS NULL OR filed.host <> there.host
   OR filed.place <> CASE there.place WHEN 2 THEN 1 ELSE there.place END
UNION ALL
SELECT there.url || ' is in a queue with the score ' || filed.score
FROM filed JOIN there ON there.id = filed.url WHERE filed.place = 1 AND filed.score <> there.score
UNION ALL
SELECT there.url || ' is in ' || count(*) || ' queues'
FROM filed JOIN there ON there.id = filed.url GROUP BY filed.url HAVING count(*) > 1
"""


async def disagreements(
    branches: Branches, connection: sqlite3.Connection, state: CopiedCrawl
) -> list[str]:
    """Return what is wrong, in sentences; the crawl was copied into the tables before."""
    connection.execute(
        "CREATE TEMP TABLE there (id INTEGER PRIMARY KEY, url, host, place, score, outcome, part)"
    )
    connection.execute(_THERE)
    found = [*state.unreadable]
    for number, counted in enumerate(state.parts):
        where = f" in partition {number}" if branches.is_divided else ""
        found += [f"{words}{where}" for words in _miscounted(connection, number, counted)]
    if state.is_running:
        return found
    connection.execute("CREATE TEMP TABLE filed (url INTEGER, host INTEGER, place, score)")
    connection.execute("CREATE INDEX temp.filed_by_url ON filed (url)")
    for part in branches.parts:
        await _copy_queues(part, connection)
    found += [words for (words,) in connection.execute(_MISFILED)]
    connection.execute("DROP TABLE temp.filed")
    for part in branches.parts:
        found += await _unleased(part, connection)
        known = await part.client.hlen(part.key("known"))
        (urls,) = connection.execute(_COUNTED["urls"], (part.number,)).fetchone()
        if known != urls:
            found.append(f"{known} keys for {urls} URLs")
    return found


def _miscounted(connection: sqlite3.Connection, number: int, part: PartState) -> Iterator[str]:
    for name, query in _COUNTED.items():
        (there,) = connection.execute(query, (number,)).fetchone()
        if there != part.counts.get(name, 0):
            yield f"{name}: {part.counts.get(name, 0):g} counted, {there} there"
    (waiting,) = connection.execute(_WAITING, (number,)).fetchone()
    counted = part.counts.get("shelved", 0) + part.counts.get("dealt", 0)
    if waiting != counted:
        yield f"scored and waiting: {counted:g} counted, {waiting} there"
    ended = dict(connection.execute(_OUTCOMES, (number,)))
    for outcome in sorted(ended.keys() | part.outcomes.keys()):
        there, count = ended.get(outcome, 0), part.outcomes.get(outcome, 0)
        if there != count:
            yield f"ended as {outcome}: {count} counted, {there} there"


async def _unleased(part: Branch, connection: sqlite3.Connection) -> list[str]:
    leases: Any = await part.client.hkeys(part.key("leases"))
    leased = set(map(int, leases))
    query = "SELECT id, url FROM there WHERE part = ? AND place = 3"
    in_work = dict(connection.execute(query, (part.number,)).fetchall())
    without = [f"{in_work[one]} is in work without a lease" for one in in_work.keys() - leased]
    return without + [f"a lease for URL {one} without work" for one in leased - in_work.keys()]


async def _copy_queues(part: Branch, connection: sqlite3.Connection) -> None:
    """Copy what is in the URL queue, in the priority queues and dealt."""
    line: Any = await part.client.zrange(part.key("line"), 0, -1)
    rows = [(int(url_id), Place.UNSCORED) for url_id in line]
    connection.executemany(
        "INSERT INTO filed SELECT ?1, coalesce((SELECT host FROM there WHERE id = ?1), 0), ?2, 0",
        rows,
    )
    hosts = "SELECT number FROM host_origins WHERE part = ? ORDER BY number"
    numbers = [number for (number,) in connection.execute(hosts, (part.number,))]
    for first in range(0, len(numbers), HOSTS_AT_ONCE):
        some = numbers[first : first + HOSTS_AT_ONCE]
        for name in ("shelf", "queue"):
            connection.executemany(
                "INSERT INTO filed VALUES (?, ?, ?, ?)", await _queued(part, name, some)
            )


async def _queued(
    part: Branch, name: str, hosts: Sequence[int]
) -> list[tuple[int, int, int, float]]:
    """Return what waits in the queues of hosts; what was dealt waits again when all are gone."""
    async with part.client.pipeline(transaction=False) as pipe:
        for host in hosts:
            pipe.zrange(f"{part.key(name)}{part.narrow(host)}", 0, -1, withscores=True)
        answers: Any = await pipe.execute()
    return [
        (int.from_bytes(name, "big"), host, Place.SHELVED, score)
        for host, members in zip(hosts, answers, strict=True)
        for name, score in members
    ]
