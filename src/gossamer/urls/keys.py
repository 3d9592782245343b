"""The parts of a URL that serve as keys, sliced from the normal form without parsing.

A normal form is `scheme://host[:port]/…`: the host is in lower case and never empty, the port is
there only when it is not the scheme's default, and the first slash from the ninth character on
starts the path. An IPv6 address keeps its brackets, so that a colon always means a port.
"""

from gossamer.model import HostKey, Url


def authority(url: Url) -> str:
    """Return `scheme://host[:port]`, for which one robots.txt is valid (RFC 9309, 2.3)."""
    return url[: url.find("/", 8)]


def location(url: Url) -> str:
    """Return `host[:port]`, the network location, without the dot of a fully qualified name."""
    found = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    return without_root_dot(found) if found[-1] == "." or ".:" in found else found


def host_of(url: Url) -> str:
    """Return the host as it is in the URL, without port; IPv6 addresses in brackets."""
    found = url[8 if url[4] == "s" else 7 : url.find("/", 8)]
    colon = found.rfind(":")
    return found[:colon] if colon > found.rfind("]") else found


def host_key(url: Url) -> HostKey:
    """Return the key of the host for politeness: without port and trailing dot."""
    return HostKey(host_of(url).removesuffix("."))


def without_root_dot(authority: str) -> str:
    """Return `a.example:81` for `a.example.:81`: a fully qualified name is the same host."""
    return authority.removesuffix(".").replace(".:", ":")
