"""Which hosts belong together: the registered domain, by the public suffix list."""

from functools import cached_property, lru_cache

from publicsuffixlist import PublicSuffixList


class Domains:
    """Finds registered domains and remembers the recent ones.

    Suffixes of private owners count (`github.io`): their customers are strangers to each other.
    The list is read on first use, which takes about a tenth of a second.
    """

    def __init__(self, cache_size: int = 65_536) -> None:
        self._cached = lru_cache(cache_size)(self._find)

    def registered_domain(self, host: str) -> str:
        """Return the domain somebody registered, of which the host (in normal form) is a part.

        An IP address, a single label and a public suffix are their own domain.
        """
        return self._cached(host)

    @cached_property
    def _suffixes(self) -> PublicSuffixList:
        return PublicSuffixList()

    def _find(self, host: str) -> str:
        name = host.removesuffix(".")
        # The WHATWG host parser takes every host whose last label is a number for an IPv4 address.
        if name.startswith("[") or name.rpartition(".")[2].isdigit():
            return name
        return self._suffixes.privatesuffix(name) or name
