"""The part of the SQLite backend for hosts, domains and notes."""

import sqlite3
from array import array
from collections.abc import Collection, Iterable
from operator import attrgetter

from gossamer.frontier import Host
from gossamer.model import HostKey
from gossamer.stores.embedded.rows import HostRecord, read_figures
from gossamer.stores.embedded.sqlite.batch import Batch
from gossamer.stores.embedded.sqlite.queries import read_note, read_record

CACHED_HOSTS = 20_000
MAX_GROWN = 500
"""How many hosts may have new URLs before these are counted in the table: not all in one commit."""

_HOST = f"SELECT {', '.join(HostRecord.__struct_fields__)} FROM hosts"  # noqa: S608 -- our own names
_FIGURES = HostRecord.__struct_fields__[2:]
_SAVE = f"UPDATE hosts SET domain = ?, {' = ?, '.join(_FIGURES)} = ? WHERE key = ?"  # noqa: S608 -- as above
_saved_values = attrgetter("domain.name", *_FIGURES, "key")


class SqliteHosts:
    """Hosts, domains and notes in tables."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._batch = Batch(db)
        self._host_ids: dict[HostKey, int] = {}
        """The ids of recently used hosts."""
        self._url_counts = array("Q")
        """How many URLs are known of each host, by its id."""
        self._grown: set[int] = set()
        """The ids of the hosts whose number of URLs is to be saved."""
        self.host_count = 0
        for host, urls in db.execute("SELECT id, urls FROM hosts"):
            self._count_urls(host, urls)
            self.host_count += 1
        self.figures = read_figures(self.get)

    def _host_id(self, key: HostKey, domain: str | None = None) -> int:
        """Return the id of a host; with a domain, the host is added if it is new."""
        found = self._host_ids.get(key)
        if found is not None:
            return found
        if len(self._host_ids) >= CACHED_HOSTS:
            self._host_ids.clear()
        row = self._db.execute("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        if row is not None:
            found = int(row[0])
        else:
            found = self._db.execute(
                "INSERT INTO hosts (key, domain, delay_s, next_start, failures) "
                "VALUES (?, ?, 0.0, 0.0, 0)",
                (key, domain),
            ).lastrowid
            assert found is not None
            self.host_count += 1
        self._host_ids[key] = found
        return found

    def _count_urls(self, host_id: int, urls: int) -> None:
        if host_id >= len(self._url_counts):
            self._url_counts.extend([0] * (host_id + 1 - len(self._url_counts)))
        self._url_counts[host_id] += urls

    def urls_of(self, key: HostKey) -> int:
        """Return how many URLs of a host are known."""
        found = self._host_ids.get(key)
        if found is None:
            row = self._db.execute("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
            found = 0 if row is None else row[0]
        return self._url_counts[found] if found < len(self._url_counts) else 0

    def _save_url_counts(self) -> None:
        counts = [(self._url_counts[one], one) for one in self._grown]
        self._db.executemany("UPDATE hosts SET urls = ? WHERE id = ?", counts)
        self._grown.clear()

    def host(self, key: HostKey) -> HostRecord | None:
        """Return a host as it was last saved."""
        return read_record(self._db, HostRecord, f"{_HOST} WHERE key = ?", key)

    def save_hosts(self, hosts: Collection[Host]) -> None:
        """Save hosts."""
        for host in hosts:
            self._host_id(host.key, host.domain.name)
        self._db.executemany(_SAVE, map(_saved_values, hosts))

    def credit(self, domain: str) -> float:
        """Return the credit of a domain as it was last saved."""
        row = self._db.execute("SELECT credit FROM domains WHERE name = ?", (domain,)).fetchone()
        return 0.0 if row is None else float(row[0])

    def top_credit(self) -> float:
        """Return the largest credit of any domain."""
        (top,) = self._db.execute("SELECT coalesce(max(credit), 0.0) FROM domains").fetchone()
        return float(top)

    def save_credits(self, domains: Iterable[tuple[str, float]]) -> None:
        """Save the credits of domains."""
        self._db.executemany("INSERT OR REPLACE INTO domains VALUES (?, ?)", domains)

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        return read_note(self._db, name)

    def put(self, name: str, value: bytes) -> None:
        """Store a note."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def remove_note(self, name: str) -> None:
        """Remove a note, if there is one of that name."""
        self._db.execute("DELETE FROM notes WHERE name = ?", (name,))
