"""How the requests of a crawl are made: its options and rules, with their secrets, by origin."""

import base64
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gossamer.config.request_values import DIRECT, Secret, split_field
from gossamer.download.host_settings import HostSettings
from gossamer.download.request_settings import ConnectionSettings, ProxyLogin, RequestSettings
from gossamer.model import Url
from gossamer.model.errors import UsageError

MAX_SECRET_BYTES: Final = 16_384
_BEARER = "bearer "


def read_secret(source: str, what: str, environment: Mapping[str, str]) -> Secret:
    """Return the secret that is in `env:VARIABLE` or `file:PATH`; `what` names who wants it."""
    place, _, name = source.partition(":")
    if place == "env":
        return from_variable(name, what, environment)
    return from_file(name, what)


def from_variable(name: str, what: str, environment: Mapping[str, str]) -> Secret:
    """Return what is in a variable; `what` names who wants it."""
    found = environment.get(name, "")
    if not found.strip():
        raise UsageError(
            f"{what} needs the environment variable {name}, which is not set: secrets are not "
            "stored with a crawl, so set it for each process that makes requests"
        )
    return _checked(found, f"the environment variable {name} for {what}")


def from_file(path: str, what: str) -> Secret:
    """Return what is in a file, without the end of its line."""
    try:
        with Path(path).open("rb") as file:
            found = file.read(MAX_SECRET_BYTES + 1).decode()
    except OSError as error:
        raise UsageError(f"{what} needs the file {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        found = "\0"
    if len(found) > MAX_SECRET_BYTES or not found.strip():
        raise UsageError(f"{what} needs the file {path}, which is empty or far too long")
    return _checked(found.rstrip("\r\n"), f"the file {path} for {what}")


def authorization(secret: Secret, what: str) -> Secret:
    """Return the value of the header field Authorization: basic for user:password, or bearer."""
    found = secret.reveal()
    is_bearer = found.lower().startswith(_BEARER)
    if ":" in found and not is_bearer:
        return Secret(f"Basic {base64.b64encode(found.encode()).decode()}")
    token = found[len(_BEARER) :] if is_bearer else found
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


def check_authorities(file: str, what: str) -> None:
    """Raise `UsageError` unless the file holds certificates to trust."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError as error:
        raise UsageError(f"{what} {file} has no certificates in PEM form") from error
    except OSError as error:
        raise UsageError(f"{what} {file}: {error.strerror or error}") from error


def _checked(found: str, what: str) -> Secret:
    """Return the secret if it fits on a line of a header: nothing can be smuggled in with it."""
    if not found.isprintable():
        raise UsageError(f"{what} must hold one line of printable text")
    return Secret(found)


def _no_password() -> str:
    raise OSError("the key is encrypted: store it without a password, readable by you only")


class RequestRules:
    """The settings of requests; whatever they need is read and checked when this is made."""

    def __init__(self, settings: HostSettings, environment: Mapping[str, str]) -> None:
        """Read every secret; raise `UsageError` for one that is missing or unfit."""
        self._settings = settings
        self._secrets: dict[str, Secret] = {}
        """By where they were found: `env:VARIABLE`, `file:PATH`."""
        for where, values in settings.sources():
            self._read(f" of {where}" if where else "", values, environment)

    def settings_for(self, url: Url) -> RequestSettings:
        """Return how a request for this URL is made."""
        values = self._settings.values(url)
        secret_fields = dict(map(self._secret_field, values["secret_header"] or ()))
        if (source := values["auth"]) is not None:
            secret_fields["Authorization"] = authorization(self._secrets[source], "the login")
        return RequestSettings(
            connection=self._connection(values),
            user_agent=values["user_agent"],
            fields=tuple(map(split_field, values["header"] or ())),
            secret_fields=tuple(secret_fields.items()),
        )

    def _connection(self, values: Mapping[str, Any]) -> ConnectionSettings:
        proxy = None if values["proxy"] == DIRECT else values["proxy"]
        source = values["proxy_auth"]
        login = None if source is None else proxy_login(self._secrets[source], "the proxy's login")
        return ConnectionSettings(
            proxy=proxy,
            proxy_login=login,
            client_cert=values["client_cert"],
            client_key=values["client_key"],
            ca_file=values["ca_file"],
            http2=bool(values["http2"]),
        )

    def _secret_field(self, written: str) -> tuple[str, Secret]:
        name, source = split_field(written)
        return name, self._secrets[source]

    def _read(self, where: str, values: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        for name in ("auth", "proxy_auth"):
            if (source := values.get(name)) is not None:
                what = f"{name.replace('_', '-')}{where}"
                self._secrets[source] = read_secret(source, what, environment)
        for written in values.get("secret_header") or ():
            field, source = split_field(written)
            what = f"secret-header {field}{where}"
            self._secrets[source] = for_field(read_secret(source, what, environment), what)
        self._check(where, values)

    def _check(self, where: str, values: Mapping[str, Any]) -> None:
        """Raise `UsageError` for what cannot be used."""
        if (cert := values.get("client_cert")) is not None:
            check_certificate(cert, values.get("client_key"), f"client-cert{where}")
        if (file := values.get("ca_file")) is not None:
            check_authorities(file, f"ca-file{where}")
        if (source := values.get("auth")) is not None:
            authorization(self._secrets[source], f"the token{where}")
        if (source := values.get("proxy_auth")) is not None:
            what = f"the login of proxy{where} {values.get('proxy')}"
            proxy_login(self._secrets[source], what)
