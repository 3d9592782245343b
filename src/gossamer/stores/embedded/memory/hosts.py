"""Hosts, domains and notes in dictionaries."""

from collections.abc import Iterable, Sequence

from gossamer.model import HostKey
from gossamer.stores.embedded.backend import HostRecord


class MemoryHosts:
    """What is kept beside URLs and pages."""

    def __init__(self) -> None:
        self._hosts: dict[HostKey, HostRecord] = {}
        self._credits: dict[str, float] = {}
        self._bytes = 0
        self._notes: dict[str, bytes] = {}

    def host(self, key: HostKey) -> HostRecord | None:
        """Return a host as it was last saved."""
        return self._hosts.get(key)

    def hosts(self) -> list[HostRecord]:
        """Return all hosts as they were last saved."""
        return list(self._hosts.values())

    def host_count(self) -> int:
        """Return how many hosts there are."""
        return len(self._hosts)

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts."""
        self._hosts.update((host.key, host) for host in hosts)

    def _meet_host(self, key: HostKey, domain: str) -> None:
        """Note that there is such a host."""
        if key not in self._hosts:
            self._hosts[key] = HostRecord(
                key=key, domain=domain, delay_s=0.0, next_start=0.0, failures=0
            )

    def credit(self, domain: str) -> float:
        """Return the credit of a domain as it was last saved."""
        return self._credits.get(domain, 0.0)

    def top_credit(self) -> float:
        """Return the largest credit of any domain."""
        return max(self._credits.values(), default=0.0)

    def save_credits(self, domains: Iterable[tuple[str, float]]) -> None:
        """Save the credits of domains."""
        self._credits.update(domains)

    def count_bytes(self, size: int) -> None:
        """Count bytes that were downloaded."""
        self._bytes += size

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        return self._notes.get(name)

    def put(self, name: str, value: bytes) -> None:
        """Keep a note."""
        self._notes[name] = value
