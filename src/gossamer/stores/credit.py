"""The importance of domains, by the links between them that the crawl has seen."""

from collections import defaultdict
from collections.abc import Iterable


class Credit:
    """Every page has one credit to give, in equal parts, to the other domains it links to.

    It is kept for the life of the process: what is lost at a restart costs only order.
    """

    def __init__(self) -> None:
        self._of: defaultdict[str, float] = defaultdict(float)
        self.top = 0.0
        """The largest credit of any domain."""

    def of(self, domain: str) -> float:
        """Return what the domain has gathered."""
        return self._of.get(domain, 0.0)

    def give(self, giver: str, domains: Iterable[str]) -> None:
        """Share a page's credit among the domains of its links, other than its own."""
        others = [domain for domain in domains if domain != giver]
        for domain in others:
            self._of[domain] += 1 / len(others)
            self.top = max(self.top, self._of[domain])
