"""The credit of domains: their importance by the crawl's own links."""

from collections.abc import Sequence

from gossamer.frontier.contract import Link
from gossamer.frontier.host_memory import HostMemory


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
