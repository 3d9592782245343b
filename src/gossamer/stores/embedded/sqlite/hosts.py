"""The part of the SQLite backend for hosts, domains and notes."""

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.model import HostKey
from gossamer.stores.embedded.rows import HostRecord
from gossamer.stores.embedded.sqlite.batch import Batch

CACHED_HOSTS = 20_000

_HOST = f"SELECT {', '.join(HostRecord.__struct_fields__)} FROM hosts"  # noqa: S608 -- our own names


def _host_record(row: tuple[object, ...]) -> HostRecord:
    return msgspec.convert(dict(zip(HostRecord.__struct_fields__, row, strict=True)), HostRecord)


class SqliteHosts:
    """Hosts, domains and notes in tables."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._batch = Batch(db)
        self._host_ids: dict[HostKey, int] = {}
        """The ids of recently used hosts."""
        self._host_count = self._number("SELECT count(*) FROM hosts")
        self._bytes = int(self.get("bytes") or b"0")

    def _number(self, query: str, *values: object) -> int:
        (found,) = self._db.execute(query, values).fetchone()
        return int(found)

    def _host_id(self, key: HostKey, domain: str | None = None) -> int:
        """Return the id of a host; with a domain, the host is added if it is new."""
        found = self._host_ids.get(key)
        if found is not None:
            return found
        if domain is not None:
            self._host_count += self._db.execute(
                "INSERT INTO hosts (key, domain, delay_s, next_start, failures) "
                "VALUES (?, ?, 0.0, 0.0, 0) ON CONFLICT DO NOTHING",
                (key, domain),
            ).rowcount
        if len(self._host_ids) >= CACHED_HOSTS:
            self._host_ids.clear()
        found = self._number("SELECT id FROM hosts WHERE key = ?", key)
        self._host_ids[key] = found
        return found

    def host(self, key: HostKey) -> HostRecord | None:
        """Return a host as it was last saved."""
        row = self._db.execute(f"{_HOST} WHERE key = ?", (key,)).fetchone()
        return None if row is None else _host_record(row)

    def host_count(self) -> int:
        """Return how many hosts there are."""
        return self._host_count

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts."""
        for host in hosts:
            self._host_id(host.key, host.domain)
        self._db.executemany(
            "UPDATE hosts SET domain = ?, delay_s = ?, next_start = ?, failures = ?, "
            "unanswered = ?, crawl_delay_s = ?, requests = ?, failed = ?, pages = ?, took_s = ? "
            "WHERE key = ?",
            [(*msgspec.structs.astuple(host)[1:], host.key) for host in hosts],
        )

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

    def count_bytes(self, size: int) -> None:
        """Count bytes that were downloaded."""
        self._bytes += size

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        row = self._db.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, name: str, value: bytes) -> None:
        """Store a note."""
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))
