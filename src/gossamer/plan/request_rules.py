"""How the requests of a crawl are made: its options and rules, with their secrets, by origin."""

from collections.abc import Mapping
from typing import Any

from gossamer.config.request_kinds import DIRECT, split_field
from gossamer.config.secret import Secret
from gossamer.download.request_settings import ConnectionSettings, RequestSettings
from gossamer.model import Url
from gossamer.plan.host_settings import HostSettings
from gossamer.plan.secrets import (
    authorization,
    check_authorities,
    check_certificate,
    for_field,
    from_file,
    from_variable,
    proxy_login,
)


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
