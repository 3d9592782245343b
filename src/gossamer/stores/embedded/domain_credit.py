"""The credit of domains: their importance by the crawl's own links."""

from collections.abc import Sequence

from gossamer.stores.contract import Link
from gossamer.stores.embedded.sqlite import SqliteBackend

CACHED = 50_000


class DomainCredit:
    """The credit of each domain: a page shares one unit among the other domains it links to.

    Recently used credits are cached, all are in the backend.
    """

    def __init__(self, backend: SqliteBackend) -> None:
        self._backend = backend
        self._credits: dict[str, float] = {}
        self._changed: set[str] = set()
        self.top = backend.top_credit()
        """The largest credit of any domain."""

    def of(self, domain: str) -> float:
        """Return the credit of a domain."""
        found = self._credits.get(domain)
        if found is None:
            found = self._credits[domain] = self._backend.credit(domain)
        return found

    def share(self, links: Sequence[Link], own: str, among: int | None = None) -> None:
        """Share a page's credit among the domains of its links that are not its own.

        It has `among` such links if these are not all.
        """
        others = [link.domain for link in links if link.domain != own]
        part = 1 / (among or len(others) or 1)
        for domain in others:
            credit = self._credits[domain] = self.of(domain) + part
            self.top = max(self.top, credit)
        self._changed.update(others)

    def save(self) -> None:
        """Write the changes to the backend."""
        if self._changed:
            self._backend.save_credits([(one, self._credits[one]) for one in self._changed])
            self._changed.clear()
        if len(self._credits) > CACHED:
            self._credits.clear()


def sharing_links(links: Sequence[Link], own: str) -> int:
    """Return how many of a page's links share its credit."""
    return sum(link.domain != own for link in links)
