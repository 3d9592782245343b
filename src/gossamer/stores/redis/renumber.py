"""Numbers the URLs and hosts of a divided crawl 1, 2, 3 … over all partitions, as a file has them.

In Redis the numbers tell the partition, and those of one may run ahead of another's. Here they go
by the moment at which a URL was found. Which was which stays in the tables `origins` and
`host_origins`. Links into other partitions, which are kept by keys, become numbers as well.
"""

import sqlite3
from array import array
from collections.abc import Iterator

import msgspec

from gossamer.stores.redis.records import read_abroad

AT_ONCE = 2000

_AS_THEY_ARE = """
CREATE TEMP VIEW origins AS SELECT id, id AS number, 0 AS part FROM urls;
CREATE TEMP VIEW host_origins AS SELECT id, id AS number, 0 AS part FROM hosts
"""

_ORIGINS = """
CREATE TEMP TABLE origins (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, part);
INSERT INTO origins
SELECT row_number() OVER (ORDER BY found_at, id), id, id % {count} FROM drafts;
CREATE TEMP TABLE host_origins (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, part);
INSERT INTO host_origins SELECT row_number() OVER (ORDER BY id), id, id % {count} FROM hosts;
CREATE TEMP TABLE all_keys (key, part, id, PRIMARY KEY (key, part)) WITHOUT ROWID;
INSERT OR REPLACE INTO all_keys
SELECT key, part, origins.id FROM keys CROSS JOIN origins ON number = keys.id ORDER BY key
"""

_NUMBERED = """
CREATE TEMP TABLE numbered AS SELECT * FROM drafts;
DELETE FROM drafts;
INSERT INTO drafts
SELECT origins.id, url, coalesce((SELECT id FROM host_origins WHERE number = host), 0), place,
       depth, parent, hops, found_at, score, queue, outcome, detail, page, twin, finished_at,
       attempts, redirect, targets, abroad
FROM numbered JOIN origins ON number = numbered.id ORDER BY origins.id;
DROP TABLE numbered;
UPDATE drafts SET parent = coalesce((SELECT id FROM origins WHERE number = parent), -parent)
WHERE parent IS NOT NULL;
CREATE TEMP TABLE numbered AS SELECT * FROM tries;
DELETE FROM tries;
INSERT INTO tries
SELECT origins.id, numbered.number, moment, at, outcome, cause, detail, status
FROM numbered JOIN origins ON origins.number = numbered.url;
DROP TABLE numbered;
DELETE FROM keys;
INSERT INTO keys SELECT min(id), key FROM all_keys GROUP BY key;
UPDATE pages SET url = coalesce((SELECT id FROM origins WHERE number = pages.url), 0);
CREATE TEMP TABLE numbered AS SELECT * FROM hosts;
DELETE FROM hosts;
INSERT INTO hosts
SELECT host_origins.id, key, domain, delay_s, next_start, failures, unanswered, crawl_delay_s,
       requests, failed, pages, took_s
FROM numbered JOIN host_origins ON number = numbered.id;
DROP TABLE numbered
"""


class LostLink(msgspec.Struct, frozen=True):
    """A link into another partition that leads to nothing there."""

    url: int
    """The page that has it."""
    sender: int
    receiver: int


def renumber(db: sqlite3.Connection, partitions: int) -> list[LostLink]:
    """Give the drafts of a carrier new numbers; return links that lead nowhere, one of a page."""
    if partitions == 1:
        _run(db, _AS_THEY_ARE)
        return []
    _run(db, _ORIGINS.format(count=partitions))
    _run(db, _NUMBERED)
    lost = [*_number_links(db)]
    db.execute("DROP TABLE temp.all_keys")
    return lost


def _number_links(db: sqlite3.Connection) -> Iterator[LostLink]:
    (last,) = db.execute("SELECT coalesce(max(number), 0) FROM origins").fetchone()
    place = array("q", [0]) * (last + 1)
    for new, number in db.execute("SELECT id, number FROM origins"):
        place[number] = new
    done = 0
    while rows := db.execute(
        "SELECT drafts.id, part, targets, abroad FROM drafts JOIN origins USING (id) "
        "WHERE drafts.id > ? AND (length(targets) OR abroad IS NOT NULL) ORDER BY 1 LIMIT ?",
        (done, AT_ONCE),
    ).fetchall():
        found = []
        for url_id, part, targets, abroad in rows:
            leads_to = array("q")
            leads_to.frombytes(targets or b"")
            ids = array("q", [place[one] if 0 < one <= last else 0 for one in leads_to])
            lost: set[int] = set()
            for to, key in read_abroad(abroad or b""):
                there = db.execute(
                    "SELECT id FROM all_keys WHERE key = ? AND part = ?", (key, to)
                ).fetchone()
                ids.extend(there or ())
                if there is None and to not in lost:
                    lost.add(to)
                    yield LostLink(url_id, part, to)
            found.append((ids.tobytes(), url_id))
        db.executemany("UPDATE drafts SET targets = ? WHERE id = ?", found)
        done = rows[-1][0]


def _run(db: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        db.execute(statement)
