"""The patterns of host rules: which hosts, or which origins, a rule is for.

    example.org          the host, on every port
    *.example.org        the hosts below it, at any depth, but not itself
    *                    every host
    example.org:8443     the host on that port
    https://example.org  one origin; without a port, the default one of its scheme

`*.example.org` can have a scheme and a port as well. The most specific pattern wins: a host before
`*.`, a longer name before a shorter one, and, for the same name, one with a scheme before one with
a port before one without.
"""

import re
from typing import Self

import msgspec

from gossamer.config.kinds import BadValueError

DEFAULT_PORTS = {"http": 80, "https": 443}

_PATTERN = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<wild>\*\.)?(?P<host>\[[0-9a-f:.]+\]|[^\s/:@?#%*\\\[\]]+)"
    r"(?::(?P<port>[0-9]{1,5}))?/?",
    re.IGNORECASE,
)


class HostPattern(msgspec.Struct, frozen=True):
    """A pattern, in normal form."""

    host: str
    """In lower case and ASCII, without `*.`; empty for every host."""
    is_wild: bool = False
    """Whether it is for the hosts below `host`."""
    scheme: str | None = None
    port: int | None = None
    """With a scheme there is always one."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pattern; raise `BadValueError` for a text that is none."""
        if text.strip() == "*":
            return cls("", is_wild=True)
        match = _PATTERN.fullmatch(text.strip())
        host = _normal_host(match["host"]) if match else None
        if match is None or host is None or not 0 < int(match["port"] or 1) < 65_536:
            raise BadValueError(
                "is not a pattern of hosts: write a host (example.org), the hosts below one "
                "(*.example.org), host:port, or an origin (https://example.org)"
            )
        if match["wild"] and (host.startswith("[") or host.replace(".", "").isdecimal()):
            raise BadValueError("is not a pattern of hosts: an address has no hosts below it")
        scheme = match["scheme"].lower() if match["scheme"] else None
        port = int(match["port"]) if match["port"] else DEFAULT_PORTS.get(scheme or "")
        return cls(host, match["wild"] is not None, scheme, port)

    def __str__(self) -> str:
        scheme = f"{self.scheme}://" if self.scheme else ""
        is_default = self.scheme is not None and self.port == DEFAULT_PORTS[self.scheme]
        port = "" if self.port is None or is_default else f":{self.port}"
        wild = "*." if self.host and self.is_wild else "*" if self.is_wild else ""
        return f"{scheme}{wild}{self.host}{port}"

    @property
    def is_host_wide(self) -> bool:
        """Whether it is for hosts as a whole, with all their ports."""
        return self.port is None

    @property
    def rank(self) -> tuple[bool, int, bool, bool]:
        """How specific it is: of two that match, the one with the higher rank wins."""
        return not self.is_wild, len(self.host), self.scheme is not None, self.port is not None

    def matches(self, host: str, scheme: str | None = None, port: int | None = None) -> bool:
        """Return whether it is for this host, or this origin of it."""
        if self.is_wild:
            is_host = not self.host or host.endswith(f".{self.host}")
        else:
            is_host = host == self.host
        is_scheme = self.scheme is None or self.scheme == scheme
        return is_host and is_scheme and (self.port is None or self.port == port)

    def may_get_secrets(self, scheme: str | None, port: int | None) -> bool:
        """Return whether secrets of its rule may be sent there, if it matches.

        A pattern without a scheme means https, and without a port the default one: nothing that a
        page or a redirect says brings a secret to another port or onto an open line.
        """
        if self.scheme is not None:
            return True
        return scheme == "https" and port == (self.port or DEFAULT_PORTS["https"])


def _normal_host(text: str) -> str | None:
    """Return the host as it is in the normal form of a URL, without a trailing dot."""
    import ada_url  # noqa: PLC0415 -- loaded only for those who have rules

    try:
        host = ada_url.URL(f"http://{text}/").hostname.removesuffix(".")
    except ValueError:
        return None
    return host or None
