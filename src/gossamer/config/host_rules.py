"""The rules for single hosts: the keys of the tables `[host."PATTERN"]` of a TOML file.

They are declared and checked like options, and each replaces the option of the same meaning for the
hosts of its pattern. `host_table` finds the rules of a host.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

from gossamer.config.declaration import Group, declared_options
from gossamer.config.delay import AutoDelay
from gossamer.config.kinds import or_word, switch
from gossamer.config.request_kinds import (
    DIRECT,
    header_fields,
    header_variables,
    named_file,
    proxy_address,
    split_field,
    variable_name,
)
from gossamer.config.shared_kinds import (
    DELAY,
    DEPTH,
    HOST_CONNECTIONS,
    MAX_BYTES,
    MAX_PAGES,
    SCOPE,
    ScopeName,
)
from gossamer.config.texts import for_header, text


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
