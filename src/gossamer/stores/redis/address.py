"""The address of a Redis or Valkey, read from a URL and shown without its password.

    redis://[user:password@]host[:port][/db]     plain
    rediss://…                                   over TLS
    unix://[user:password@]/path/to/socket[?db=N]
    redis+sentinel://[user:password@]host[:port][,host[:port]…]/service[/db][?sentinel_password=…]

The last names Sentinels, which say where the primary of a service is. User and password are those
of the servers; the Sentinels' own are `sentinel_user` and `sentinel_password`.

`valkey` and `valkeys` mean the same as `redis` and `rediss`, with Sentinels as well. TLS
certificates are verified against the system's authorities; OpenSSL's variable SSL_CERT_FILE names
others.
"""

import ipaddress
from typing import NoReturn
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec

from gossamer.model.errors import UsageError

DEFAULT_PORT = 6379
SENTINEL_PORT = 26379
FORM = "redis://[user:password@]host[:port][/db], rediss://… or unix:///path/to/socket"
SENTINEL_FORM = "redis+sentinel://[user:password@]host:port,host:port/service[/db]"
SENTINEL = "+sentinel"
SCHEMES = {
    "redis": "redis",
    "rediss": "rediss",
    "valkey": "redis",
    "valkeys": "rediss",
    "unix": "unix",
}


class Sentinels(msgspec.Struct, frozen=True, kw_only=True):
    """The Sentinels that know the primary of a service, and as whom to speak to them."""

    places: tuple[tuple[str, int], ...]
    service: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:  # a log or a traceback must not tell the password
        return f"<Sentinels of {self.service} at {self}>"

    def __str__(self) -> str:
        return ",".join(f"{_bracketed(host)}:{port}" for host, port in self.places)

    def query(self, *, hidden: bool) -> str:
        """Return the part of a URL that says as whom to speak to them; empty: as nobody."""
        password = "***" if hidden and self.password is not None else self.password
        named = {"sentinel_user": self.user, "sentinel_password": password}
        options = {name: value for name, value in named.items() if value is not None}
        return f"?{urlencode(options, safe='*')}" if options else ""


class RedisAddress(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Where a server is and as whom to speak to it."""

    host: str = ""
    """A name or an IP address, without brackets; empty if there is a socket or are Sentinels."""
    port: int = DEFAULT_PORT
    socket: str | None = None
    """The path of a Unix socket."""
    db: int = 0
    user: str | None = None
    password: str | None = None
    tls: bool = False
    sentinels: Sentinels | None = None
    """Who knows the server; user, password and TLS are for it all the same."""

    def __str__(self) -> str:
        return self._written("***" if self.password is not None else None, hidden=True)

    def __repr__(self) -> str:  # a log or a traceback must not tell the password
        return f"RedisAddress({str(self)!r})"

    @property
    def place(self) -> str:
        """Where it is, for people."""
        if self.sentinels is not None:
            return f"the primary {self.sentinels.service} of the Sentinels {self.sentinels}"
        return self.socket or f"{self.host}:{self.port}"

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
        password = None if self.password is None else quote(self.password, safe="")
        return self._written(password, hidden=False)

    def _written(self, password: str | None, *, hidden: bool) -> str:
        user = quote(self.user or "", safe="")
        credentials = f"{user}:{password}@" if password is not None else f"{user}@" if user else ""
        if self.socket is not None:
            query = f"?db={self.db}" if self.db else ""
            return f"unix://{credentials}{quote(self.socket)}{query}"
        scheme = "rediss" if self.tls else "redis"
        if self.sentinels is not None:
            path = f"{quote(self.sentinels.service, safe='')}/{self.db}"
            query = self.sentinels.query(hidden=hidden)
            return f"{scheme}+sentinel://{credentials}{self.sentinels}/{path}{query}"
        return f"{scheme}://{credentials}{_bracketed(self.host)}:{self.port}/{self.db}"


def parse_address(text: str) -> RedisAddress:
    """Return the address that a URL names; the complaint of a UsageError holds no password."""
    named, _, rest = text.strip().partition("://")
    if named.lower().endswith(SENTINEL):
        return _parse_sentinels(named.lower().removesuffix(SENTINEL), rest)
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


def _parse_sentinels(scheme: str, rest: str) -> RedisAddress:
    """Return the address of a primary that Sentinels know."""
    if SCHEMES.get(scheme) not in {"redis", "rediss"}:
        _complain("is not the URL of a Redis", SENTINEL_FORM)
    if "#" in rest:
        _complain("has a '#'; in a password write it %23", SENTINEL_FORM)
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    credentials, at, hosts = authority.rpartition("@")
    places = tuple(map(_sentinel_place, hosts.split(",")))
    service, _, db = path.partition("/")
    if not service:
        _complain("names no service of the Sentinels", SENTINEL_FORM)
    of_server = _split(f"//{credentials}{at}host")
    user, password = _credentials(of_server) if of_server else (None, None)
    options = dict(parse_qsl(query))
    sentinels = Sentinels(
        places=places,
        service=unquote(service),
        user=options.pop("sentinel_user", None),
        password=options.pop("sentinel_password", None),
    )
    if options:
        _complain("has options other than sentinel_user and sentinel_password", SENTINEL_FORM)
    tls = SCHEMES[scheme] == "rediss"
    return RedisAddress(db=_number(db), user=user, password=password, tls=tls, sentinels=sentinels)


def _sentinel_place(text: str) -> tuple[str, int]:
    parts = _split(f"//{text}")
    if parts is None or not parts.hostname:
        _complain("has no valid host or port; a password must be percent-encoded", SENTINEL_FORM)
    return parts.hostname, SENTINEL_PORT if parts.port is None else parts.port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


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


def _complain(what: str, form: str = FORM) -> NoReturn:
    raise UsageError(f"the address of the store {what}: write {form}")
