"""Registered domains of hosts, by the public suffix list."""

from functools import cached_property, lru_cache

from publicsuffixlist import PublicSuffixList


class Domains:
    """A finder of registered domains, with a cache.

    Private suffixes (`github.io`) count as suffixes: their subdomains have different owners. The
    list is read on first use, which takes about a tenth of a second.
    """

    def __init__(self, cache_size: int = 65_536) -> None:
        self._cached = lru_cache(cache_size)(self._find)

    def registered_domain(self, host: str) -> str:
        """Return the registered domain of a host in normal form.

        An IP address, a single label and a public suffix are their own domain.
        """
        return self._cached(host)

    @cached_property
    def _suffixes(self) -> PublicSuffixList:
        return PublicSuffixList()

    def _find(self, host: str) -> str:
        name = host.removesuffix(".")
        # For the WHATWG host parser every host whose last label is a number is an IPv4 address.
        if name.startswith("[") or name.rpartition(".")[2].isdigit():
            return name
        return self._suffixes.privatesuffix(name) or name
