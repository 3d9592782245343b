"""The address of a Redis or Valkey, read from a URL and shown without its password.

    redis://[user:password@]host[:port][/db]     plain
    rediss://…                                   over TLS
    unix://[user:password@]/path/to/socket[?db=N]

`valkey://` and `valkeys://` mean the same as `redis://` and `rediss://`. TLS certificates are
verified against the system's authorities; OpenSSL's variable SSL_CERT_FILE names others.
"""

import ipaddress
from typing import NoReturn
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

import msgspec

from gossamer.errors import UsageError

DEFAULT_PORT = 6379
FORM = "redis://[user:password@]host[:port][/db], rediss://… or unix:///path/to/socket"
SCHEMES = {
    "redis": "redis",
    "rediss": "rediss",
    "valkey": "redis",
    "valkeys": "rediss",
    "unix": "unix",
}


class RedisAddress(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Where a server is and as whom to speak to it."""

    host: str = ""
    """A name or an IP address, without brackets; empty exactly when there is a socket."""
    port: int = DEFAULT_PORT
    socket: str | None = None
    """The path of a Unix socket."""
    db: int = 0
    user: str | None = None
    password: str | None = None
    tls: bool = False

    def __str__(self) -> str:
        return self._written("***" if self.password is not None else None)

    def __repr__(self) -> str:  # a log or a traceback must not tell the password
        return f"RedisAddress({str(self)!r})"

    @property
    def is_local(self) -> bool:
        """Whether nothing said to it leaves this machine."""
        if self.socket is not None or self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def url(self) -> str:
        """Return the URL with the password in it: for the client, never for people."""
        return self._written(None if self.password is None else quote(self.password, safe=""))

    def _written(self, password: str | None) -> str:
        user = quote(self.user or "", safe="")
        credentials = f"{user}:{password}@" if password is not None else f"{user}@" if user else ""
        if self.socket is not None:
            query = f"?db={self.db}" if self.db else ""
            return f"unix://{credentials}{quote(self.socket)}{query}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "rediss" if self.tls else "redis"
        return f"{scheme}://{credentials}{host}:{self.port}/{self.db}"


def parse_address(text: str) -> RedisAddress:
    """Return the address that a URL names; the complaint of a UsageError holds no password."""
    parts = _split(text)
    if parts is None:
        _complain("has no valid host or port; a password must be percent-encoded")
    scheme = SCHEMES.get(parts.scheme)
    if scheme is None:
        _complain("is not the URL of a Redis")
    if parts.fragment:
        _complain("has a '#'; in a password write it %23")
    user, password = _credentials(parts)
    if scheme == "unix":
        if parts.hostname or not parts.path.strip("/"):
            _complain("names no socket; three slashes begin its path")
        path = unquote(parts.path)
        return RedisAddress(socket=path, db=_query_db(parts), user=user, password=password)
    if not parts.hostname:
        _complain("names no host")
    if parts.query:
        _complain("has options after '?', of which there are none")
    return RedisAddress(
        host=parts.hostname,
        port=DEFAULT_PORT if parts.port is None else parts.port,
        db=_number(parts.path.removeprefix("/")),
        user=user,
        password=password,
        tls=scheme == "rediss",
    )


def _split(text: str) -> SplitResult | None:
    # Without the library's complaint, which quotes what may have been meant as a password.
    try:
        parts = urlsplit(text.strip())
        _ = parts.port
    except ValueError:
        return None
    return parts


def _credentials(parts: SplitResult) -> tuple[str | None, str | None]:
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password) if parts.password else None
    if user is not None and password is None:
        _complain("has a user without a password; a password alone is written :password@")
    return user, password


def _query_db(parts: SplitResult) -> int:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    number = options.pop("db", "")
    if options:
        _complain("has options after '?'; the only one of a socket is db")
    return _number(number)


def _number(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 6):
        _complain("has a database that is no number")
    return int(text or 0)


def _complain(what: str) -> NoReturn:
    raise UsageError(f"the address of the store {what}: write {FORM}")
