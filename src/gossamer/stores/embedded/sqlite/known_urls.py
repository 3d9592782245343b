"""The part of the SQLite backend for known URLs: whether a link leads to one, and new ones.

A page has many links, and most lead to URLs that are known. Those used lately are in a bounded
cache; all others of a page are looked up with one query, and its new URLs are added with one
statement: by themselves each would take several times as long.
"""

import sqlite3
from array import array
from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from gossamer.model import HostKey
from gossamer.stores.contract import Link
from gossamer.stores.embedded.rows import KnownUrl, UrlPath
from gossamer.stores.embedded.sqlite.cache import KnownCache
from gossamer.stores.embedded.sqlite.hosts import MAX_GROWN
from gossamer.stores.embedded.sqlite.pages import SqlitePages
from gossamer.stores.embedded.sqlite.queries import read_number
from gossamer.stores.url_record import UrlState

AT_ONCE = 100
"""How many keys are looked up with one query: there is a statement for each number of them."""

_KNOWN = "SELECT id, key, depth, hops, coalesce(finished_at, 9e999) FROM"
_BY_KEYS = [
    f"{_KNOWN} (VALUES {', '.join(['(?)'] * count)}) CROSS JOIN urls ON key = column1"
    for count in range(1, AT_ONCE + 1)
]
"""The queries by one key, two, three …; with `key IN (…)` each would take a third longer."""
_INSERT = (
    "INSERT INTO urls (id, url, key, host, state, depth, hops, parent, found_at, given_score) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SqliteKnownUrls(SqlitePages):
    """The known URLs in a table, the last used ones in memory as well."""

    def __init__(self, db: sqlite3.Connection, cached: int) -> None:
        super().__init__(db)
        self._cache = KnownCache(cached)
        self._next_id = read_number(db, "SELECT coalesce(max(id), 0) + 1 FROM urls")
        self._new_rows: list[tuple[object, ...]] = []
        """The new URLs that are not written yet."""

    @property
    def last_id(self) -> int:
        """The largest id of a URL; 0 if there is none."""
        return self._next_id - 1

    def known(self, keys: Sequence[bytes]) -> list[KnownUrl | None]:
        """Return the URLs with these keys; None for one that is not known."""
        found = self._cache.by_keys(keys)
        missing = [key for key, known in zip(keys, found, strict=True) if known is None]
        if not missing:
            return found
        loaded = {known.key: known for known in self._load(missing)}
        return [known or loaded.get(key) for key, known in zip(keys, found, strict=True)]

    def _load(self, keys: Sequence[bytes]) -> Iterator[KnownUrl]:
        """Yield those of the URLs with these keys that are in the table."""
        keep = self._cache.keep
        for first in range(0, len(keys), AT_ONCE):
            some = keys[first : first + AT_ONCE]
            for row in self._db.execute(_BY_KEYS[len(some) - 1], some):
                yield keep(KnownUrl(*row))

    def by_id(self, url_id: int) -> KnownUrl:
        """Return a known URL."""
        known = self._cache.by_id(url_id)
        if known is None:
            row = self._db.execute(f"{_KNOWN} urls WHERE id = ?", (url_id,)).fetchone()
            known = self._cache.keep(KnownUrl(*row))
        return known

    def add_new(self, link: Link, state: UrlState, found: UrlPath, now: float) -> int:
        """Add a URL that is not known, and return its id; `write_new` writes its row."""
        url_id, key, host = self._next_id, link.key, self._host_id(link.host, link.domain)
        self._next_id += 1
        self._new_rows.append(
            (url_id, link.url, key, host, state, *astuple(found), now, link.score)
        )
        self._count_urls(host, 1)
        self._grown.add(host)
        if link.listing is not None:
            self.add_listing(url_id, link.listing)
        self._cache.keep(KnownUrl(url_id, key, found.depth, found.hops))
        return url_id

    def write_new(self) -> None:
        """Write the rows of the new URLs: before anything else is asked about them."""
        self._db.executemany(_INSERT, self._new_rows)
        self._new_rows.clear()
        if len(self._grown) > MAX_GROWN:
            self._save_url_counts()

    def set_path(self, url_id: int, found: UrlPath) -> None:
        """Store a shorter path."""
        self._db.execute(
            "UPDATE urls SET depth = ?, hops = ?, parent = ? WHERE id = ?",
            (found.depth, found.hops, found.parent, url_id),
        )
        if (known := self._cache.by_id(url_id)) is not None:
            known.depth, known.hops = found.depth, found.hops

    def visited(self, url_id: int) -> tuple[UrlState, int | None, Sequence[int], bool]:
        """Return state, page and links of a URL, and whether its last visit was redirected.

        A URL that was leased since the last commit may still be assigned.
        """
        state, page_id, blob, redirect = self._db.execute(
            "SELECT state, page, coalesce(targets, x''), redirect FROM urls WHERE id = ?", (url_id,)
        ).fetchone()
        targets = array("q")
        targets.frombytes(blob)
        return UrlState(state), page_id, targets, bool(redirect)

    def add_targets(self, url_id: int, targets: Sequence[int]) -> None:
        """Store more URLs that a visited one links to."""
        self._db.execute(
            "UPDATE urls SET targets = CAST(targets || ? AS BLOB) WHERE id = ?",
            (array("q", targets).tobytes(), url_id),
        )

    def host_of(self, url_id: int) -> HostKey:
        """Return the host of a URL."""
        query = "SELECT hosts.key FROM urls JOIN hosts ON hosts.id = urls.host WHERE urls.id = ?"
        (key,) = self._db.execute(query, (url_id,)).fetchone()
        return HostKey(key)
