"""The hosts and registered domains of a crawl in memory.

Of every host the key and the number of its URLs are in memory, of every domain its credit. The rest
of a host's row is read when it becomes active.
"""

import sys
from array import array
from collections.abc import Iterable, Sequence

from gossamer.frontier.contract import Link
from gossamer.frontier.url_memory import Pending
from gossamer.model import HostKey
from gossamer.stores.rows import DomainRow, HostRow, Rows


class HostMemory:
    """What is known of every host and domain."""

    def __init__(self, rows: Rows, pending: Pending) -> None:
        self._rows = rows
        self._pending = pending
        self._ids: dict[HostKey, int] = {}
        self.keys: list[HostKey] = [HostKey("")]
        """By id."""
        self._domains: list[str] = [""]
        """The domain of each host, by its id."""
        self._url_counts = array("Q", [0])
        self._fetched: dict[int, HostRow] = {}
        """Rows that were read ahead."""
        self.domains: dict[str, DomainRow] = {}
        self._stored_domains: set[str] = set()
        self.top_credit = 0.0
        """The largest credit of any domain."""
        self.with_robots_slots: list[HostRow] = []
        """The hosts that were asked for their robots.txt when they were stored."""

    def load(self, row: HostRow) -> None:
        """Take in a host that is stored; they come in the order of their ids."""
        assert row.id == len(self.keys), "hosts are numbered without gaps"
        self._append(row.key, row.domain, row.urls)
        if row.robots_slots:
            self.with_robots_slots.append(row)

    def load_domain(self, row: DomainRow) -> None:
        """Take in a domain that is stored."""
        self.domains[row.name] = row
        self._stored_domains.add(row.name)
        self.top_credit = max(self.top_credit, row.credit)

    def _append(self, key: HostKey, domain: str, urls: int) -> int:
        self._ids[key] = found = len(self.keys)
        self.keys.append(key)
        self._domains.append(sys.intern(domain))
        self._url_counts.append(urls)
        return found

    @property
    def count(self) -> int:
        """How many hosts are known."""
        return len(self._ids)

    # -- hosts -----------------------------------------------------------------------------------

    def find(self, key: HostKey) -> int | None:
        """Return the id of a host; None if it is not known."""
        return self._ids.get(key)

    def id_of(self, key: HostKey, domain: str) -> int:
        """Return the id of a host, which is known from now on."""
        found = self._ids.get(key)
        if found is None:
            found = self._append(key, domain, 0)
            self._pending.now.hosts[found] = HostRow(id=found, key=key, domain=domain)
        return found

    def domain_of(self, host: int) -> str:
        """Return the registered domain of a host."""
        return self._domains[host]

    def urls_of(self, key: HostKey) -> int:
        """Return how many URLs of a host are known."""
        return self._url_counts[self._ids.get(key, 0)]

    def count_url(self, host: int) -> None:
        """Count a new URL of a host."""
        self._url_counts[host] += 1
        changes = self._pending.now
        if (row := changes.hosts.get(host)) is not None:
            row.urls = self._url_counts[host]
        else:
            changes.host_urls[host] = self._url_counts[host]

    def fetch(self, keys: Iterable[HostKey]) -> None:
        """Read the rows of these hosts ahead."""
        self._fetched.clear()
        ids = {self._ids[key] for key in keys if key in self._ids}
        missing = [one for one in ids if not any(one in changes.hosts for changes in self._pending)]
        if missing:
            self._fetched = {row.id: row for row in self._rows.read_hosts(missing)}

    def row(self, key: HostKey) -> HostRow | None:
        """Return the row of a host as it was last saved; None if it is new."""
        found = self._ids.get(key)
        if found is None:
            return None
        for changes in self._pending:
            if (row := changes.hosts.get(found)) is not None:
                return row
        return self._fetched.pop(found, None) or self._rows.read_hosts([found])[0]

    def save(self, row: HostRow) -> None:
        """Save a host."""
        row.urls = self._url_counts[row.id]
        self._fetched.pop(row.id, None)
        self._pending.now.hosts[row.id] = row
        self._pending.now.host_urls.pop(row.id, None)

    # -- domains ---------------------------------------------------------------------------------

    @property
    def stored_domains(self) -> int:
        """How many domains have a row; others have a credit that is not stored yet."""
        return len(self._stored_domains)

    def credit_of(self, domain: str) -> float:
        """Return the credit of a domain: its importance by the crawl's own links."""
        found = self.domains.get(domain)
        return 0.0 if found is None else found.credit

    def add_credit(self, domain: str, credit: float) -> None:
        """Add to the credit of a domain; it is stored with the next changes of the domain."""
        row = self._domain(domain)
        row.credit += credit
        self.top_credit = max(self.top_credit, row.credit)

    def bind_domain(self, domain: str, worker: int | None, until: float) -> None:
        """Store which worker serves a domain, and until when it does so without URLs."""
        row = self._domain(domain)
        row.worker, row.kept_until = worker, until
        self.save_domain(domain)

    def save_domain(self, domain: str) -> None:
        """Save a domain."""
        self._pending.now.domains[domain] = self.domains[domain]
        self._stored_domains.add(domain)

    def _domain(self, name: str) -> DomainRow:
        found = self.domains.get(name)
        if found is None:
            found = self.domains[name] = DomainRow(name)
        return found


class DomainCredit:
    """The credit of each domain: a page shares one unit among the other domains it links to."""

    def __init__(self, hosts: HostMemory) -> None:
        self._hosts = hosts
        self._changed: set[str] = set()

    @property
    def top(self) -> float:
        """The largest credit of any domain."""
        return self._hosts.top_credit

    def of(self, domain: str) -> float:
        """Return the credit of a domain."""
        return self._hosts.credit_of(domain)

    def share(self, links: Sequence[Link], own: str, among: int | None = None) -> None:
        """Share a page's credit among the domains of its links that are not its own.

        It has `among` such links if these are not all.
        """
        others = [link.domain for link in links if link.domain != own]
        part = 1 / (among or len(others) or 1)
        for domain in others:
            self._hosts.add_credit(domain, part)
        self._changed.update(others)

    def save(self) -> None:
        """Save what has changed."""
        for domain in self._changed:
            self._hosts.save_domain(domain)
        self._changed.clear()


def sharing_links(links: Sequence[Link], own: str) -> int:
    """Return how many of a page's links share its credit."""
    return sum(link.domain != own for link in links)
