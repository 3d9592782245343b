"""Registered domains of hosts, by the public suffix list."""

from functools import cached_property, lru_cache
from pathlib import Path

import ada_url
from publicsuffixlist import PSLFILE


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
    def _rules(self) -> frozenset[str]:
        # Only the list is the library's: what it does with each line takes longer than all of this.
        # Comments are no names, and do no harm here.
        return frozenset(Path(PSLFILE).read_text(encoding="utf-8").splitlines())

    def _find(self, host: str) -> str:
        name = host.removesuffix(".")
        # For the WHATWG host parser every host whose last label is a number is an IPv4 address.
        if name.startswith("[") or name.rpartition(".")[2].isdigit():
            return name
        labels = name.split(".")
        if not all(labels):
            return name
        # The list has the names as people write them.
        written = ada_url.idna_to_unicode(name).split(".") if "xn--" in name else labels
        return ".".join(labels[self._owned_from(written) :])

    def _owned_from(self, labels: list[str]) -> int:
        """Return at which label the registered domain begins: one before the longest suffix.

        An exception (`!www.ck`) goes before a wildcard (`*.ck`), which stands for its root too; and
        without any rule, the last label is the suffix.
        """
        rules = self._rules
        for start in range(len(labels)):
            rest = ".".join(labels[start:])
            if f"!{rest}" in rules:
                return start
            if f"*.{rest}" in rules:
                return max(0, start - 2)
            if rest in rules:
                return max(0, start - 1)
        return max(0, len(labels) - 2)
