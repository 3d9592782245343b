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
        self._from_variables: dict[str, Secret] = {}
        self._from_files: dict[str, Secret] = {}
        for where, values in settings.sources():
            self._read(f" of {where}" if where else "", values, environment)

    def settings_for(self, url: Url) -> RequestSettings:
        """Return how a request for this URL is made."""
        values = self._settings.values(url)
        secret_fields = dict(map(self._secret_field, values["header_env"] or ()))
        if (login := self._login(values["auth_env"], values["auth_file"])) is not None:
            secret_fields["Authorization"] = authorization(login, "the login")
        return RequestSettings(
            connection=self._connection(values),
            user_agent=values["user_agent"],
            fields=tuple(map(split_field, values["header"] or ())),
            secret_fields=tuple(secret_fields.items()),
        )

    def _connection(self, values: Mapping[str, Any]) -> ConnectionSettings:
        proxy = None if values["proxy"] == DIRECT else values["proxy"]
        login = self._login(values["proxy_auth_env"], values["proxy_auth_file"])
        return ConnectionSettings(
            proxy=proxy,
            proxy_login=None if login is None else proxy_login(login, "the proxy's login"),
            client_cert=values["client_cert"],
            client_key=values["client_key"],
            ca_file=values["ca_file"],
            http2=bool(values["http2"]),
        )

    def _secret_field(self, written: str) -> tuple[str, Secret]:
        name, variable = split_field(written)
        return name, self._from_variables[variable]

    def _login(self, variable: str | None, file: str | None) -> Secret | None:
        if variable is not None:
            return self._from_variables[variable]
        return None if file is None else self._from_files[file]

    def _read(self, where: str, values: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        for name in ("auth_env", "proxy_auth_env"):
            if (variable := values.get(name)) is not None:
                what = f"{name.replace('_', '-')}{where}"
                self._from_variables[variable] = from_variable(variable, what, environment)
        for name in ("auth_file", "proxy_auth_file"):
            if (file := values.get(name)) is not None:
                self._from_files[file] = from_file(file, f"{name.replace('_', '-')}{where}")
        for written in values.get("header_env") or ():
            field, variable = split_field(written)
            what = f"header-env {field}{where}"
            found = from_variable(variable, what, environment)
            self._from_variables[variable] = for_field(found, what)
        self._check(where, values)

    def _check(self, where: str, values: Mapping[str, Any]) -> None:
        """Raise `UsageError` for what cannot be used."""
        if (cert := values.get("client_cert")) is not None:
            check_certificate(cert, values.get("client_key"), f"client-cert{where}")
        if (file := values.get("ca_file")) is not None:
            check_authorities(file, f"ca-file{where}")
        login = self._login(values.get("auth_env"), values.get("auth_file"))
        if login is not None:
            authorization(login, f"the token{where}")
        login = self._login(values.get("proxy_auth_env"), values.get("proxy_auth_file"))
        if login is not None:
            proxy_login(login, f"the login of proxy{where} {values.get('proxy')}")
