"""The cache of ranks from Open PageRank. Time is an argument."""

from collections.abc import Iterable, Mapping


class RankCache:
    """A cache of ranks, also of domains without one, limited in age and number.

    Every entry is kept equally long, so entries expire in the order in which they were added, and
    adding one takes constant time.
    """

    def __init__(self, max_domains: int, ttl_s: float) -> None:
        self._max_domains = max_domains
        self._ttl_s = ttl_s
        self._entries: dict[str, tuple[float, float | None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def known(self, domains: Iterable[str], now: float) -> dict[str, float | None]:
        """Return the cached ranks of these domains; None: the domain is not listed."""
        self._forget(now)
        entries = self._entries
        return {domain: entries[domain][1] for domain in domains if domain in entries}

    def add(self, ranks: Mapping[str, float | None], now: float) -> None:
        """Cache these ranks from now on."""
        for domain, rank in ranks.items():
            self._entries.pop(domain, None)
            self._entries[domain] = now + self._ttl_s, rank
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) <= self._max_domains and self._entries[oldest][0] > now:
                return
            del self._entries[oldest]
