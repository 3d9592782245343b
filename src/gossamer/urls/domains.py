"""Registered domains of hosts, by the public suffix list."""

from functools import cached_property, lru_cache
from pathlib import Path

import ada_url
from publicsuffixlist import PSLFILE, PublicSuffixList


class Domains:
    """A finder of registered domains, with a cache.

    Private suffixes (`github.io`) count as suffixes: their subdomains have different owners. The
    list is read on first use.
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
        # A host in normal form is ASCII, and so are the rules here: the library's own way to have
        # both forms of each takes three times as long.
        lines = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
        rules = [
            line if line.isascii() else ada_url.idna_to_ascii(line).decode()
            for line in lines
            if line and not line.startswith("//")
        ]
        return PublicSuffixList(rules, accept_encoded_idn=False)

    def _find(self, host: str) -> str:
        name = host.removesuffix(".")
        # For the WHATWG host parser every host whose last label is a number is an IPv4 address.
        if name.startswith("[") or name.rpartition(".")[2].isdigit():
            return name
        return self._suffixes.privatesuffix(name) or name
