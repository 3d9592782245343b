"""The rules for single hosts: the tables `[host."PATTERN"]` of a TOML file.

Each key replaces the option of the same meaning for the hosts of its pattern. Where several
patterns match, each key is taken from the most specific one that has it; keys that belong together
(`FAMILIES`) are taken together, so that a password is never used with another's proxy.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self, TypeAlias

import msgspec

from gossamer.config import values as kind
from gossamer.config.declaration import Option, declared_options
from gossamer.config.request_values import (
    DIRECT,
    HEADER_FIELDS,
    NAMED_FILE,
    PROXY,
    SECRET,
    SECRET_HEADERS,
    split_field,
)
from gossamer.config.values import (
    NONE,
    AutoDelay,
    BadValueError,
    HiddenValueError,
    OptionKind,
    ScopeName,
    nearest,
    quoted,
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
    """The rules that apply to a host; None: no rule says anything, and the option holds.

    delay_s: The pause between two requests to the host.
    connections: How many requests to the host may run at once.
    max_pages: Request nothing more from the host after this many pages.
    max_bytes: Request nothing more from the host after this many bytes of answers.
    depth: Follow links to the host up to this far from a seed.
    scope: Which links to the host to follow.
    cookies: Keep the host's cookies and send them back.
    user_agent: The User-Agent to send.
    header: Header fields to send.
    secret_header: Header fields whose values are secrets, in environment variables or files.
    auth: The environment variable or file with user:password or a bearer token.
    client_cert: The client certificate (PEM).
    client_key: Its private key (PEM).
    ca_file: Certificates (PEM) to trust instead of the system's.
    proxy: The proxy; none asks the host directly.
    proxy_auth: The environment variable or file with the proxy's user:password.
    http2: Speak HTTP/2 if the host offers it over https.
    """

    delay_s: Annotated[float | AutoDelay | None, kind.DELAY] = None
    connections: Annotated[int | None, kind.HOST_CONNECTIONS] = None
    max_pages: Annotated[int | None, kind.MAX_PAGES] = None
    max_bytes: Annotated[int | None, kind.MAX_BYTES] = None
    depth: Annotated[int | None, kind.DEPTH] = None
    scope: Annotated[ScopeName | None, kind.SCOPE] = None
    cookies: Annotated[bool | None, kind.SWITCH] = None
    user_agent: Annotated[str | None, kind.text(kind.for_header)] = None
    header: Annotated[tuple[str, ...] | None, HEADER_FIELDS] = None
    secret_header: Annotated[tuple[str, ...] | None, SECRET_HEADERS] = None
    auth: Annotated[str | None, SECRET] = None
    client_cert: Annotated[str | None, NAMED_FILE] = None
    client_key: Annotated[str | None, NAMED_FILE] = None
    ca_file: Annotated[str | None, NAMED_FILE] = None
    proxy: Annotated[str | None, kind.or_word(PROXY, DIRECT, DIRECT)] = None
    proxy_auth: Annotated[str | None, SECRET] = None
    http2: Annotated[bool | None, kind.SWITCH] = None


HOST_KEYS = declared_options(HostRules)
"""The keys of a rule, in the order of their declaration."""
_KEYS = {option.name: option for option in HOST_KEYS}

SECRETS: Final = frozenset({"secret_header", "auth", "client_cert", "client_key"})
"""The keys that say who we are: they go to the origins that the pattern names, and no further."""

WHOLE_HOST: Final = frozenset(
    {"delay_s", "connections", "max_pages", "max_bytes", "depth", "scope", "cookies"}
)
"""The keys that make no difference between the ports of a host."""

FAMILIES: Final = (("client_cert", "client_key"), ("proxy", "proxy_auth"))
"""The keys that belong together: a rule that has one of them replaces all."""
_FAMILY_OF = {name: family for family in FAMILIES for name in family}


def request_conflicts(settings: Any) -> Iterator[tuple[tuple[str, ...], str]]:  # noqa: ANN401
    """Yield what does not go together in the options of a crawl, or in a rule, and why."""
    if settings.client_key is not None and settings.client_cert is None:
        yield ("client-key", "client-cert"), "client-key needs the certificate: give client-cert"
    if settings.proxy_auth is not None and settings.proxy in {None, DIRECT}:
        yield ("proxy-auth", "proxy"), "proxy-auth needs a proxy: give proxy as well"
    fields = *(settings.header or ()), *(settings.secret_header or ())
    names = [split_field(field)[0].lower() for field in fields]
    if settings.auth is not None:
        names.append("authorization")
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield ("header", "secret-header"), f"the header field {name} is given twice: choose one"


HostTables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The rules as written: for each pattern its keys, with values as texts or lists of texts."""


class HostRule(msgspec.Struct, frozen=True):
    """One rule: its pattern, and the checked values of the keys that it has, by field."""

    pattern: HostPattern
    values: Mapping[str, Any]


class AppliedRules(msgspec.Struct, frozen=True):
    """The rules that apply to a host or an origin, and where each value comes from."""

    rules: HostRules
    patterns: Mapping[str, HostPattern]
    """For each field that is set: the pattern of its rule."""
    withheld: Mapping[str, HostPattern] = {}
    """The secrets that a rule for this host has, but not for this scheme and port."""


class HostTable(msgspec.Struct, frozen=True):
    """The rules of a crawl, the most specific first."""

    rules: tuple[HostRule, ...] = ()

    @classmethod
    def of(cls, tables: HostTables) -> Self:
        """Return the rules of checked tables; raise `BadValueError` for wrong ones."""
        rules: list[HostRule] = []
        for written, keys in tables.items():
            rule = _checked_rule(written, keys)
            if any(rule.pattern == other.pattern for other in rules):
                raise BadValueError(f"has {shown_table(rule.pattern)} twice: write one table")
            rules.append(rule)
        return cls(tuple(sorted(rules, key=lambda rule: rule.pattern.rank, reverse=True)))

    def rules_for(self, host: str, scheme: str | None = None, port: int | None = None) -> HostRules:
        """Return the rules for a host key, or for one origin of the host.

        Without scheme and port, rules for single origins do not count, nor do secrets.
        """
        return self.explain(host, scheme, port).rules

    def explain(
        self, host: str, scheme: str | None = None, port: int | None = None
    ) -> AppliedRules:
        """Return the rules for a host, or for one origin of it, and where each comes from."""
        values: dict[str, Any] = {}
        patterns: dict[str, HostPattern] = {}
        withheld: dict[str, HostPattern] = {}
        taken: set[str] = set()
        """The fields that a more specific rule has, or another one of their family."""
        for rule in self.rules:
            if not rule.pattern.matches(host, scheme, port):
                continue
            for name in rule.values.keys() - taken:
                if name in SECRETS and not rule.pattern.may_get_secrets(scheme, port):
                    withheld.setdefault(name, rule.pattern)
                    continue
                values[name], patterns[name] = rule.values[name], rule.pattern
            for name in patterns:
                taken.update(_FAMILY_OF.get(name, (name,)))
        return AppliedRules(HostRules(**values), patterns, withheld)


def shown_table(pattern: HostPattern | str) -> str:
    """Return the head of a rule's table, as in the file."""
    return f'[host."{pattern}"]'


def _checked_rule(written: str, keys: object) -> HostRule:
    if (meant := _unquoted(written, keys)) != written:
        raise BadValueError(f"has a name without quotes: write {shown_table(meant)}")
    try:
        pattern = HostPattern.parse(written)
    except BadValueError as error:
        raise BadValueError(f"has the pattern {quoted(written)}, which {error}") from error
    where = f"has {shown_table(pattern)}, "
    if not isinstance(keys, Mapping):
        raise HiddenValueError(f"{where}which must be a table of keys")
    values: dict[str, Any] = {}
    for written_key, value in keys.items():
        name = str(written_key).replace("_", "-")
        if name not in _KEYS:
            raise BadValueError(f"{where}whose key {quoted(name)} is unknown: {_meant(name)}")
        option = _KEYS[name]
        if complaint := _misplaced(option, pattern):
            raise BadValueError(f"{where}{complaint}")
        values[option.field] = _checked_value(option, value, where)
    for _, sentence in request_conflicts(HostRules(**values)):
        raise BadValueError(f"{where}where {sentence}")
    return HostRule(pattern, values)


def _unquoted(name: str, keys: object) -> str:
    """Return the name that was probably meant: TOML reads [host.a.test] as a table in a table."""
    while isinstance(keys, Mapping) and keys and isinstance(next(iter(keys.values())), Mapping):
        inner, keys = next(iter(keys.items()))
        name = f"{name}.{inner}"
    return name


def _checked_value(option: Option, value: object, where: str) -> object:
    # A number is read like a text: a duration needs its unit, as everywhere.
    is_number = type(value) in {int, float}
    try:
        return option.kind.take(str(value) if is_number else value)
    except BadValueError as error:
        hidden = isinstance(error, HiddenValueError) or isinstance(value, list | tuple)
        shown = "" if hidden else f" {quoted(value)}"
        raise HiddenValueError(f"{where}whose {option.name}{shown} {error}") from error


def _misplaced(option: Option, pattern: HostPattern) -> str | None:
    """Return why a pattern cannot have this key, or None."""
    if option.field in WHOLE_HOST and not pattern.is_host_wide:
        whole = HostPattern(pattern.host, pattern.is_wild)
        return f"but {option.name} is for all ports of a host: write it under {shown_table(whole)}"
    if option.field in SECRETS and not pattern.host:
        return f"but {option.name} is a secret and not for every host: name the hosts"
    return None


def _written(rule: HostRule) -> Iterator[tuple[str, object]]:
    """Yield the keys of a rule with values as they are written in a file."""
    for option in HOST_KEYS:
        if option.field in rule.values:
            value = rule.values[option.field]
            yield option.name, list(value) if isinstance(value, tuple) else option.show(value)


def _meant(name: str) -> str:
    near = nearest(name, _KEYS)
    return f"the nearest valid one is {near}" if near else f"there are {', '.join(_KEYS)}"


def _take_tables(value: object) -> HostTables:
    if value == NONE:
        return {}
    if not isinstance(value, Mapping):
        raise BadValueError(
            'must hold tables of rules: write [host."PATTERN"] above them, in the file that '
            "--config names"
        )
    table = HostTable.of({str(pattern): keys for pattern, keys in value.items()})
    return {str(rule.pattern): dict(_written(rule)) for rule in reversed(table.rules)}


HOST_TABLES = OptionKind(_take_tables, lambda value: " ".join(value) or NONE, "TABLES")
"""The tables of all rules."""
