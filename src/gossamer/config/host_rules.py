"""The rules for single hosts: the keys of the tables `[host."PATTERN"]` of a TOML file.

They are declared and checked like options, and each replaces the option of the same meaning for the
hosts of its pattern. `host_table` finds the rules of a host.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

import msgspec

from gossamer.config.declaration import Group, declared_options
from gossamer.config.request_values import (
    DIRECT,
    header_fields,
    header_variables,
    named_file,
    proxy_address,
    split_field,
    variable_name,
)
from gossamer.config.values import (
    DELAY,
    DEPTH,
    HOST_CONNECTIONS,
    MAX_BYTES,
    MAX_PAGES,
    SCOPE,
    AutoDelay,
    BadValueError,
    ScopeName,
    for_header,
    or_word,
    switch,
    text,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """The rules that apply to a host; None: no rule says anything, and the option holds."""

    delay_s: Annotated[float | AutoDelay | None, DELAY, Group.POLITENESS] = None
    """The pause between two requests to the host."""
    connections: Annotated[int | None, HOST_CONNECTIONS, Group.POLITENESS] = None
    """How many requests to the host may run at once."""
    max_pages: Annotated[int | None, MAX_PAGES, Group.LIMITS] = None
    """Request nothing more from the host after this many pages."""
    max_bytes: Annotated[int | None, MAX_BYTES, Group.LIMITS] = None
    """Request nothing more from the host after this many bytes of answers."""
    depth: Annotated[int | None, DEPTH, Group.SCOPE] = None
    """Follow links to the host up to this far from a seed."""
    scope: Annotated[ScopeName | None, SCOPE, Group.SCOPE] = None
    """Which links to the host to follow."""
    cookies: Annotated[bool | None, switch(), Group.REQUESTS] = None
    """Keep the host's cookies and send them back."""
    user_agent: Annotated[str | None, text(for_header), Group.REQUESTS] = None
    """The User-Agent to send."""
    header: Annotated[tuple[str, ...] | None, header_fields(), Group.REQUESTS] = None
    """Header fields to send."""
    header_env: Annotated[tuple[str, ...] | None, header_variables(), Group.REQUESTS] = None
    """Header fields whose values are in environment variables."""
    auth_env: Annotated[str | None, variable_name(), Group.REQUESTS] = None
    """The environment variable with user:password or a bearer token."""
    auth_file: Annotated[str | None, named_file(), Group.REQUESTS] = None
    """The same in a file."""
    client_cert: Annotated[str | None, named_file(), Group.REQUESTS] = None
    """The client certificate (PEM)."""
    client_key: Annotated[str | None, named_file(), Group.REQUESTS] = None
    """Its private key (PEM)."""
    ca_file: Annotated[str | None, named_file(), Group.REQUESTS] = None
    """Certificates (PEM) to trust instead of the system's."""
    proxy: Annotated[str | None, or_word(proxy_address(), DIRECT), Group.REQUESTS] = None
    """The proxy; none asks the host directly."""
    proxy_auth_env: Annotated[str | None, variable_name(), Group.REQUESTS] = None
    """The environment variable with the proxy's user:password."""
    proxy_auth_file: Annotated[str | None, named_file(), Group.REQUESTS] = None
    """The same in a file."""
    http2: Annotated[bool | None, switch(), Group.REQUESTS] = None
    """Speak HTTP/2 if the host offers it over https."""


HOST_KEYS = declared_options(HostRules)
"""The keys of a rule, in the order of their declaration."""

SECRETS: Final = frozenset({"header_env", "auth_env", "auth_file", "client_cert", "client_key"})
"""The keys that say who we are: they go to the origins that the pattern names, and no further."""

WHOLE_HOST: Final = frozenset(
    {"delay_s", "connections", "max_pages", "max_bytes", "depth", "scope", "cookies"}
)
"""The keys that make no difference between the ports of a host."""

FAMILIES: Final = (
    ("auth_env", "auth_file"),
    ("client_cert", "client_key"),
    ("proxy", "proxy_auth_env", "proxy_auth_file"),
)
"""The keys that belong together: a rule that has one of them replaces all."""


def request_conflicts(given: Any) -> Iterator[tuple[tuple[str, ...], str]]:  # noqa: ANN401
    """Yield what does not go together in the options of a crawl, or in a rule, and why."""
    for one, other in (("auth_env", "auth_file"), ("proxy_auth_env", "proxy_auth_file")):
        names = _name(one), _name(other)
        if getattr(given, one) is not None and getattr(given, other) is not None:
            yield names, f"{names[0]} and {names[1]} exclude each other: choose one"
    if given.client_key is not None and given.client_cert is None:
        yield (("client-key", "client-cert"), "client-key needs the certificate: give client-cert")
    for name in ("proxy_auth_env", "proxy_auth_file"):
        if getattr(given, name) is not None and given.proxy in {None, DIRECT}:
            yield (_name(name), "proxy"), f"{_name(name)} needs a proxy: give proxy as well"
    fields = *(given.header or ()), *(given.header_env or ())
    sent = [split_field(one)[0].lower() for one in fields]
    if given.auth_env is not None or given.auth_file is not None:
        sent.append("authorization")
    for name in sorted(set(sent)):
        if sent.count(name) > 1:
            yield (("header", "header-env"), f"the header field {name} is given twice: choose one")


def _name(field_name: str) -> str:
    return field_name.removesuffix("_s").replace("_", "-")
