"""Changes as statements on the tables of a crawl: each table is written once."""

import sqlite3
from operator import attrgetter

from msgspec.structs import astuple

from gossamer.stores.rows import Changes, HostRow, UrlRow

_NEW_URL = (
    "INSERT INTO urls (id, url, key, host, state, depth, hops, parent, found_at, given_score, "
    "score, queue, outcome, detail, page, duplicate_of, similarity, own_similarity, finished_at, "
    "attempts, deaths, redirect, targets) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_CHANGED_URL = (
    "UPDATE urls SET state = ?, depth = ?, hops = ?, parent = ?, score = ?, queue = ?, "
    "outcome = ?, detail = ?, page = ?, duplicate_of = ?, similarity = ?, own_similarity = ?, "
    "finished_at = ?, attempts = ?, deaths = ?, redirect = ?, targets = coalesce(?, targets) "
    "WHERE id = ?"
)
_fixed = attrgetter("id", "url", "key", "host")
_path = attrgetter("state", "depth", "hops", "parent")
_rest = attrgetter(
    *("score", "queue", "outcome", "detail", "page", "duplicate_of", "similarity"),
    *("own_similarity", "finished_at", "attempts", "deaths", "redirect"),
)
_HOST_FIELDS = HostRow.__struct_fields__
_HOST = (
    f"INSERT OR REPLACE INTO hosts ({', '.join(_HOST_FIELDS)}) "  # noqa: S608 -- our own names
    f"VALUES ({', '.join('?' * len(_HOST_FIELDS))})"
)


def write_changes(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    """Write everything; URLs up to `last_id` are there already."""
    _write_urls(db, changes, last_id)
    _write_hosts(db, changes)
    _write_pages(db, changes)
    _write_results(db, changes)
    _write_relaxing(db, changes)
    _write_leases(db, changes)
    _write_notes(db, changes)


def _write_urls(db: sqlite3.Connection, changes: Changes, last_id: int) -> None:
    links = dict(changes.links)
    new, changed, listings = [], [], []
    for row in changes.urls.values():
        if row.id > last_id:
            times = row.found_at, row.given_score
            new.append((*_fixed(row), *_path(row), *times, *_rest(row), links.pop(row.id, None)))
            if (listing := _listing(row)) is not None:
                listings.append(listing)
        else:
            changed.append((*_path(row), *_rest(row), links.pop(row.id, None), row.id))
    # In the order of their ids, so that the table only ever grows at its end.
    db.executemany(_NEW_URL, sorted(new))
    db.executemany(_CHANGED_URL, changed)
    if listings:
        db.executemany(
            "INSERT INTO listings (url, lastmod, priority, sitemap_of) VALUES (?, ?, ?, ?)",
            listings,
        )
    if changes.url_changes:
        db.executemany(
            "UPDATE urls SET depth = ?, hops = ?, parent = ?, state = coalesce(?, state) "
            "WHERE id = ?",
            [(*astuple(change), url_id) for url_id, change in changes.url_changes.items()],
        )
    if links:
        db.executemany(
            "UPDATE urls SET targets = ? WHERE id = ?",
            [(packed, url_id) for url_id, packed in links.items()],
        )
    db.executemany(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)",
        [
            (url_id, one.at, one.outcome, one.cause and one.cause.name, one.detail, one.status)
            for url_id, attempts in changes.attempts.items()
            for one in attempts
        ],
    )


def _listing(row: UrlRow) -> tuple[object, ...] | None:
    found = row.lastmod, row.priority, row.sitemap_of
    return None if found == (None, None, None) else (row.id, *found)


def _write_hosts(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(_HOST, map(astuple, changes.hosts.values()))
    counts = [(urls, host) for host, urls in changes.host_urls.items() if host not in changes.hosts]
    db.executemany("UPDATE hosts SET urls = ? WHERE id = ?", counts)
    db.executemany(
        "INSERT OR REPLACE INTO domains (name, credit, worker, kept_until) VALUES (?, ?, ?, ?)",
        map(astuple, changes.domains.values()),
    )


def _write_pages(db: sqlite3.Connection, changes: Changes) -> None:
    if changes.dropped:
        gone = [(page,) for page in changes.dropped]
        db.executemany("DELETE FROM contents WHERE page = ?", gone)
        db.executemany("DELETE FROM sketches WHERE page = ?", gone)
    db.executemany(
        "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, changes.pages.values()),
    )
    db.executemany(
        "INSERT OR REPLACE INTO contents VALUES (?, ?, ?)",
        [(page, *content) for page, content in changes.contents.items()],
    )
    db.executemany(
        "INSERT OR REPLACE INTO sketches VALUES (?, ?, ?, ?, ?)",
        map(astuple, changes.sketches.values()),
    )
    if changes.reported:
        db.executemany(
            "UPDATE pages SET reported_depth = ? WHERE id = ?",
            [(depth, page) for page, depth in changes.reported.items()],
        )


def _write_results(db: sqlite3.Connection, changes: Changes) -> None:
    db.executemany(
        "INSERT INTO results VALUES (?, ?, ?, ?, ?)",
        [(one.number, one.url, one.page, one.settled_at, one.records) for one in changes.results],
    )
    db.executemany(
        "INSERT INTO result_rows VALUES (?, ?)",
        [(one.number, one.row) for one in changes.results if one.row is not None],
    )
    if changes.rows_dropped:
        db.execute("DELETE FROM result_rows WHERE number <= ?", (changes.rows_dropped,))
    if changes.rows_expired > float("-inf"):
        db.execute(
            "DELETE FROM result_rows WHERE number IN ("
            "SELECT number FROM result_rows JOIN results USING (number) WHERE settled_at <= ?)",
            (changes.rows_expired,),
        )


def _write_relaxing(db: sqlite3.Connection, changes: Changes) -> None:
    if changes.relaxing:
        gone = [(url_id,) for url_id, one in changes.relaxing.items() if one is None]
        there = [one for one in changes.relaxing.values() if one is not None]
        db.executemany("DELETE FROM relaxing WHERE url = ?", gone)
        db.executemany(
            "INSERT OR REPLACE INTO relaxing (depth, hops, url, done) VALUES (?, ?, ?, ?)", there
        )


def _write_leases(db: sqlite3.Connection, changes: Changes) -> None:
    gone = [(url_id,) for url_id, lease in changes.leases.items() if lease is None]
    there = [astuple(lease) for lease in changes.leases.values() if lease is not None]
    db.executemany("DELETE FROM leases WHERE url = ?", gone)
    db.executemany("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)", there)


def _write_notes(db: sqlite3.Connection, changes: Changes) -> None:
    gone = [(name,) for name, value in changes.metadata.items() if value is None]
    there = [(name, value) for name, value in changes.metadata.items() if value is not None]
    db.executemany("DELETE FROM notes WHERE name = ?", gone)
    db.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?)", there)
