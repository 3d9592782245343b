"""The parts of a URL that serve as keys, sliced from the normal form without parsing.

A normal form is `scheme://host[:port]/…`: the host is in lower case and never empty, the port is
there only when it is not the scheme's default, and the first slash from the ninth character on
starts the path. An IPv6 address keeps its brackets, so that a colon always means a port.
"""

from functools import cached_property, lru_cache
from pathlib import Path

import ada_url
from publicsuffixlist import PSLFILE

from gossamer.model import HostKey, Url


def authority(url: Url) -> str:
    """Return `scheme://host[:port]`, for which one robots.txt is valid (RFC 9309, 2.3)."""
    return url[: url.find("/", 8)]


def location(url: Url) -> str:
    """Return `host[:port]`, the network location, without the dot of a fully qualified name."""
    place = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    return without_root_dot(place) if place[-1] == "." or ".:" in place else place


def host_of(url: Url) -> str:
    """Return the host as it is in the URL, without port; IPv6 addresses in brackets."""
    place = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    colon = place.rfind(":")
    return place[:colon] if colon > place.rfind("]") else place


def host_key(url: Url) -> HostKey:
    """Return the key of the host for politeness: without port and trailing dot."""
    return HostKey(host_of(url).removesuffix("."))


def without_root_dot(authority: str) -> str:
    """Return `a.example:81` for `a.example.:81`: a fully qualified name is the same host."""
    return authority.removesuffix(".").replace(".:", ":")


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
