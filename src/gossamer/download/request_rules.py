"""How requests to an origin are made: by the rules of its host, the options, or the defaults.

Options that say who we are (`FOR_SEEDS`) apply to the origins of the seeds only; the others, such
as a proxy, to every host. Secrets are named by options and rules, and read by each process that
makes requests, from its environment or from files.
"""

import base64
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.config import OPTIONS, CrawlOptions, HostTable, Option
from gossamer.config.host_rules import FAMILIES, HOST_KEYS, AppliedRules, HostPattern
from gossamer.config.request_values import DIRECT, Secret, split_field
from gossamer.download.request_settings import ConnectionSettings, ProxyLogin, RequestSettings
from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.policy.addresses import port_of
from gossamer.urls import authority, host_key

FOR_SEEDS: Final = frozenset({"header", "secret_header", "auth", "client_cert", "client_key"})
"""The options that apply to the origins of the seeds."""

MAX_SECRET_BYTES: Final = 16_384
_BEARER: Final = "bearer "

_OPTIONS = {option.field: option for option in OPTIONS}
_OPTION_OF = {key.field: _OPTIONS.get(key.field) for key in HOST_KEYS} | {
    "connections": _OPTIONS["host_connections"],
    # The options of these names are for the crawl as a whole.
    **dict.fromkeys(("max_pages", "max_bytes")),
}


class HostSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the rules, as it applies to an origin."""

    key: Option
    value: Any
    pattern: HostPattern | None = None
    """The pattern of the rule that it comes from."""
    option: Option | None = None
    """The option that it comes from, if no rule has the key."""
    withheld: HostPattern | Option | None = None
    """A rule, or an option, that has a value for other origins and not for this one."""


class HostSettings:
    """Finds what applies to an origin."""

    def __init__(self, options: CrawlOptions, seeds: Iterable[Url]) -> None:
        self._options = options
        self._table = HostTable.of(options.host)
        self._seed_origins = frozenset(map(authority, seeds))

    @property
    def is_plain(self) -> bool:
        """Whether all requests are made alike, without anything that an option or a rule adds."""
        return not self._options.host and all(
            getattr(self._options, name) == _OPTIONS[name].default
            for name in (*FOR_SEEDS, "ca_file", "proxy", "http2")
        )

    def explain(self, url: Url) -> list[HostSetting]:
        """Return every key, as it applies to the URL's origin."""
        applied = self._table.explain(host_key(url), url.partition(":")[0], port_of(url))
        is_seeds = authority(url) in self._seed_origins
        replaced = {
            name for family in FAMILIES if applied.patterns.keys() & set(family) for name in family
        }
        return [self._setting(key, applied, replaced, is_seeds=is_seeds) for key in HOST_KEYS]

    def _setting(
        self, key: Option, applied: AppliedRules, replaced: Collection[str], *, is_seeds: bool
    ) -> HostSetting:
        """Return one key; `replaced` are those of families of which a rule has a key."""
        name, option = key.field, _OPTION_OF[key.field]
        if name in applied.patterns:
            value = getattr(applied.rules, name)
            return HostSetting(key=key, value=value, pattern=applied.patterns[name])
        value = None if option is None else getattr(self._options, option.field)
        withheld: HostPattern | Option | None = applied.withheld.get(name)
        if name in replaced or (name in FOR_SEEDS and not is_seeds):
            is_given = option is not None and value != option.default
            if is_given and name not in replaced:
                withheld = withheld or option
            option, value = None, () if isinstance(value, tuple) else None
        return HostSetting(key=key, value=value, option=option, withheld=withheld)

    def sources(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Return who may name a secret or a file, and its values: the options, and each rule."""
        rules = [(f' of [host."{rule.pattern}"]', rule.values) for rule in self._table.rules]
        values = {key: getattr(self._options, key) for key in _OPTION_OF if key in _OPTIONS}
        return [("", values), *rules]


class RequestRules:
    """The settings of requests; whatever they need is read and checked when this is made."""

    def __init__(self, settings: HostSettings, environment: Mapping[str, str]) -> None:
        """Read every secret; raise `UsageError` for one that is missing or unfit."""
        self._settings = settings
        self._environment = environment
        self._secrets: dict[str, Secret] = {}
        """The secrets that were read, by where they are: `env:VARIABLE`, `file:PATH`."""
        for where, values in settings.sources():
            self._read(where, values)

    def settings_for(self, url: Url) -> RequestSettings:
        """Return how a request for this URL is made."""
        values = {setting.key.field: setting.value for setting in self._settings.explain(url)}
        fields = [split_field(text) for text in values["secret_header"] or ()]
        secret_fields = {name: self._secrets[source] for name, source in fields}
        if (source := values["auth"]) is not None:
            secret_fields["Authorization"] = authorization(self._secrets[source], "the login")
        source = values["proxy_auth"]
        login = None if source is None else proxy_login(self._secrets[source], "the proxy's login")
        return RequestSettings(
            connection=ConnectionSettings(
                proxy=None if values["proxy"] == DIRECT else values["proxy"],
                proxy_login=login,
                client_cert=values["client_cert"],
                client_key=values["client_key"],
                ca_file=values["ca_file"],
                http2=bool(values["http2"]),
            ),
            user_agent=values["user_agent"],
            fields=tuple(map(split_field, values["header"] or ())),
            secret_fields=tuple(secret_fields.items()),
        )

    def _read(self, where: str, values: Mapping[str, Any]) -> None:
        """Read the secrets that the options or a rule name; `UsageError` for what is unfit."""
        if (source := values.get("auth")) is not None:
            secret = self._secrets[source] = self._secret(source, f"auth{where}")
            authorization(secret, f"the token{where}")
        if (source := values.get("proxy_auth")) is not None:
            secret = self._secrets[source] = self._secret(source, f"proxy-auth{where}")
            proxy_login(secret, f"the login of proxy{where} {values.get('proxy')}")
        for field, source in map(split_field, values.get("secret_header") or ()):
            what = f"secret-header {field}{where}"
            self._secrets[source] = for_field(self._secret(source, what), what)
        if (cert := values.get("client_cert")) is not None:
            check_certificate(cert, values.get("client_key"), f"client-cert{where}")
        if (file := values.get("ca_file")) is not None:
            check_authorities(file, f"ca-file{where}")

    def _secret(self, source: str, what: str) -> Secret:
        """Return what is in `env:VARIABLE` or `file:PATH`; `what` names who wants it."""
        place, _, name = source.partition(":")
        if place == "file":
            value, where = read_line(name, what), f"the file {name}"
        else:
            value, where = self._environment.get(name, ""), f"the environment variable {name}"
        if not value.strip():
            raise UsageError(
                f"{what} needs {where}, which is not set: secrets are not stored with a crawl, so "
                "set it for each process that makes requests"
            )
        if not value.isprintable():  # nothing can be smuggled into a header with it
            raise UsageError(f"{where} for {what} must hold one line of printable text")
        return Secret(value)


def read_line(path: str, what: str) -> str:
    """Return what is in a file, without the end of its line; `what` names who wants it."""
    try:
        with Path(path).open("rb") as file:
            value = file.read(MAX_SECRET_BYTES + 1).decode()
    except OSError as error:
        raise UsageError(f"{what} needs the file {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        value = "\0"
    if len(value) > MAX_SECRET_BYTES or not value.strip():
        raise UsageError(f"{what} needs the file {path}, which is empty or far too long")
    return value.rstrip("\r\n")


def authorization(secret: Secret, what: str) -> Secret:
    """Return the value of the header field Authorization: basic for user:password, or bearer."""
    value = secret.reveal()
    is_bearer = value.lower().startswith(_BEARER)
    if ":" in value and not is_bearer:
        return Secret(f"Basic {base64.b64encode(value.encode()).decode()}")
    token = value[len(_BEARER) :] if is_bearer else value
    return for_field(Secret(f"Bearer {token.strip()}"), what)


def for_field(secret: Secret, what: str) -> Secret:
    """Return the secret if it can be the value of a header field."""
    if not secret.reveal().isascii():
        raise UsageError(f"{what} is sent in a header, so its value must be ASCII")
    return secret


def proxy_login(secret: Secret, what: str) -> ProxyLogin:
    """Return user and password for a proxy."""
    user, colon, password = secret.reveal().partition(":")
    if not colon or not user:
        raise UsageError(f"{what} must hold user:password, with a colon between them")
    return ProxyLogin(user, Secret(password))


def check_certificate(cert: str, key: str | None, what: str) -> None:
    """Raise `UsageError` unless these files hold a certificate and its key."""
    import ssl  # noqa: PLC0415 -- few crawls need it, and it takes time to load

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        raise UsageError(
            f"{what} {cert} and its key {key or cert} do not go together, or are not PEM without "
            f"a password: {error.reason or error}"
        ) from error
    except OSError as error:
        raise UsageError(f"{what} {cert}, key {key or cert}: {error.strerror or error}") from error


def _no_password() -> str:
    raise OSError("the key is encrypted: store it without a password, readable by you only")


def check_authorities(file: str, what: str) -> None:
    """Raise `UsageError` unless the file holds certificates to trust."""
    import ssl  # noqa: PLC0415 -- as above

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError as error:
        raise UsageError(f"{what} {file} has no certificates in PEM form") from error
    except OSError as error:
        raise UsageError(f"{what} {file}: {error.strerror or error}") from error
