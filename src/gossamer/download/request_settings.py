"""How a request is made: the connection that it goes over, and the header fields it carries.

They are a function of the request's origin (`SettingsFor`), so nothing that a server answers takes
a secret along to another one.
"""

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from gossamer.config.request_values import Secret
from gossamer.model import Url
from gossamer.model.names import ContentKind
from gossamer.policy.content_kinds import accept_field

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""The codings that are undone (`body`)."""

SECRET_FIELDS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""The fields whose values are never kept, in lower case."""

REMOVED: Final = "removed"
"""What stands in place of a secret."""


def page_fields(accepted: frozenset[ContentKind]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a request for a page, beside Host and User-Agent."""
    return ("Accept", accept_field(accepted)), ("Accept-Encoding", ACCEPT_ENCODING)


def request_bytes(
    url: Url,
    user_agent: str,
    fields: Iterable[tuple[str, str]],
    secret: Collection[str] = SECRET_FIELDS,
) -> bytes:
    """Return the request for a URL as it goes to its server, without the values of secret fields.

    `secret` are their names in lower case.
    """
    host, _, path = url.partition("://")[2].partition("/")
    rest = _same_lines(user_agent, tuple(fields), frozenset(secret))
    return f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n".encode("latin-1", "replace") + rest


@lru_cache(64)
def _same_lines(
    user_agent: str, fields: tuple[tuple[str, str], ...], secret: frozenset[str]
) -> bytes:
    """Return the lines that are the same in all requests to an origin, to the empty one."""
    lines = [f"{name}: {REMOVED if name.lower() in secret else value}" for name, value in fields]
    text = "\r\n".join([f"User-Agent: {user_agent}", *lines, "", ""])
    return text.encode("latin-1", "replace")


class ProxyLogin(msgspec.Struct, frozen=True):
    """The user and password for a proxy."""

    user: str
    password: Secret


class ConnectionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a connection is made, and who we are on it; requests share one only if this is equal."""

    proxy: str | None = None
    proxy_login: ProxyLogin | None = None
    client_cert: str | None = None
    client_key: str | None = None
    """None: the key is in the file of the certificate."""
    ca_file: str | None = None
    """None: that of the client's options."""
    http2: bool = False

    @property
    def proxy_resolves(self) -> bool:
        """Whether the proxy is told the name of the host and looks up its address itself."""
        return self.proxy is not None and not self.proxy.startswith("socks5:")


DIRECTLY = ConnectionSettings()


class RequestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a request is made."""

    connection: ConnectionSettings = DIRECTLY
    user_agent: str | None = None
    """None: that of the client's options."""
    fields: tuple[tuple[str, str], ...] = ()
    """Header fields beside the client's own; one of the same name takes the place of its own."""
    secret_fields: tuple[tuple[str, Secret], ...] = ()
    """Header fields whose values are secrets."""

    @property
    def secret_names(self) -> frozenset[str]:
        """The names, in lower case, of the header fields whose values nobody may see or keep."""
        return SECRET_FIELDS.union(name.lower() for name, _ in self.secret_fields)

    def sent_fields(self, usual: tuple[tuple[str, str], ...]) -> Iterable[tuple[str, str]]:
        """Return the header fields as they are sent, secrets too, each name once.

        `usual` are those of the client.
        """
        if self is PLAIN:
            return usual
        secret = tuple((name, value.reveal()) for name, value in self.secret_fields)
        by_name = {name.lower(): (name, value) for name, value in usual + self.fields + secret}
        return by_name.values()

    def without_secrets(self) -> "RequestSettings":
        """Return the settings for requests that need no login: robots.txt.

        A client certificate stays: without one, a server that asks for it cannot be asked at all.
        """
        return msgspec.structs.replace(self, secret_fields=())


PLAIN = RequestSettings()

SettingsFor: TypeAlias = Callable[[Url], RequestSettings]
"""Finds the settings for a URL; the same for all URLs of an origin."""
