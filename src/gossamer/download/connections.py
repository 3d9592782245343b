"""The groups of a client: for each kind of requests its handles, and connections of its own.

libcurl compares some of what makes up a connection before it uses one again, and which depends on
its version. Here, connections with different settings are in different hands from the start.
"""

import os
import select
import socket
import ssl
import struct
from typing import Final, TypeAlias

import pycurl

from gossamer.download.multi import Multi
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import (
    PLAIN,
    ConnectionSettings,
    RequestSettings,
    SettingsFor,
    page_fields,
)
from gossamer.model import Url
from gossamer.urls import authority

Endpoints: TypeAlias = tuple[str, int, str, int]
"""The local and the remote end of a connection, each as address and port."""

_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_BYTES_RECEIVED: Final = struct.Struct("=128xQ")
"""Where Linux tells how many bytes a connection has received (`struct tcp_info`)."""


class ConnectionSockets:
    """The sockets of a client's connections, by their ends."""

    def __init__(self) -> None:
        self._sockets: dict[Endpoints, tuple[int, select.poll]] = {}
        self._answers: dict[Endpoints, int] = {}
        """The bytes of answers that have ended, for each connection that requests share."""
        self._ends: dict[int, Endpoints] = {}
        """The same, the other way round: a descriptor that is used again replaces its old entry."""

    def note(self, ends: Endpoints, opened: list[int]) -> None:
        """Note that a new connection has one of these sockets, the others having failed."""
        fd = opened[-1] if len(opened) == 1 else _with_port(opened, ends[1])
        previous = self._ends.get(fd)
        if previous is not None:
            self._sockets.pop(previous, None)
            self._answers.pop(previous, None)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        self._ends[fd] = ends
        self._sockets[ends] = fd, poll

    def share(self, ends: Endpoints) -> None:
        """Note that a connection is one of HTTP/2: there, a server may send at any time."""
        if ends in self._sockets and ends not in self._answers:
            self._sockets[ends] = self._sockets[ends][0], select.poll()
            self._answers[ends] = 0

    def is_shared(self, ends: Endpoints) -> bool:
        """Return whether a connection is one that requests share."""
        return ends in self._answers

    def note_answer(self, ends: Endpoints, size: int) -> None:
        """Note that an answer of so many bytes has ended on a connection that requests share."""
        if ends in self._answers:
            self._answers[ends] += size

    def is_quiet(self, ends: Endpoints) -> bool:
        """Return whether a connection is known and nothing waits there to be read, nor its end."""
        known = self._sockets.get(ends)
        return known is not None and not known[1].poll(0)

    def received(self, ends: Endpoints) -> int | None:
        """Return how many bytes a connection has received; None where that is not known.

        Only Linux tells. Of HTTP/2, what belongs to answers that have ended is not counted.
        """
        known = self._sockets.get(ends)
        if known is None or _TCP_INFO is None:
            return None
        fd, _ = known
        # The family is not asked for, which would take three more system calls.
        try:
            wrapped = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fd)
        except OSError:  # it was closed a moment ago
            return None
        try:
            info = wrapped.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES_RECEIVED.size)
        except OSError:
            return None
        finally:
            wrapped.detach()
        if len(info) != _BYTES_RECEIVED.size:
            return None
        return int(_BYTES_RECEIVED.unpack(info)[0]) - self._answers.get(ends, 0)


def _with_port(opened: list[int], port: int) -> int:
    """Return the socket that has this local port."""
    for fd in reversed(opened):
        try:
            with socket.socket(fileno=os.dup(fd)) as copy:
                if copy.getsockname()[1] == port:
                    return fd
        except OSError:  # it was closed: another address was quicker
            continue
    return opened[-1]


_SUPPRESS_CONNECT_HEADERS = 265  # CURLOPT_SUPPRESS_CONNECT_HEADERS: pycurl has no name for it


class HandlePool:
    """A pool of handles with every option set that is the same for all requests.

    A handle keeps no state from servers: authentication is off, cookies are given and taken with
    each request (`cookies`), and connections belong to the client. So it can be reused as it is.
    """

    def __init__(self, options: FetchOptions, settings: RequestSettings = PLAIN) -> None:
        self._options = options
        self._settings = settings
        # Python finds the system's certificates, or SSL_CERT_FILE; a libcurl from a wheel would
        # use the path of the distribution that built it.
        given = settings.connection.ca_file or options.ca_file
        self._ca_file = str(given) if given else ssl.get_default_verify_paths().cafile
        self._idle: list[pycurl.Curl] = []

    def take(self) -> pycurl.Curl:
        """Return an unused handle."""
        return self._idle.pop() if self._idle else self._new()

    def give_back(self, curl: pycurl.Curl) -> None:
        """Return a handle to the pool after its transfer."""
        self._idle.append(curl)

    def close(self) -> None:
        """Free the idle handles."""
        while self._idle:
            self._idle.pop().close()

    def _new(self) -> pycurl.Curl:
        options = self._options
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _ms(options.connect_timeout_s))
        # The web only: no other scheme, no proxy or password file from the environment, no
        # unchecked redirect.
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, self._settings.connection.proxy or "")
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # With one request at a time to a host HTTP/2 gains little, and its framing is one more
        # thing to attack: only who asks for it gets it.
        http2 = self._settings.connection.http2
        version = pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1
        curl.setopt(pycurl.HTTP_VERSION, version)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        # The URL is in normal form and sent as it is, and so are the fields (see `request`):
        # libcurl's own ACCEPT_ENCODING would also decode (see `codings`).
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.USERAGENT, self._settings.user_agent or options.user_agent)
        fields = self._settings.sent_fields(page_fields(options.accept))
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in fields])
        if self._settings is not PLAIN:
            _connect(curl, self._settings.connection, self._ca_file)
        return curl


def _connect(curl: pycurl.Curl, settings: ConnectionSettings, ca_file: str | None) -> None:
    """Set a handle up for the connections that it is to make."""
    if settings.client_cert is not None:
        curl.setopt(pycurl.SSLCERT, settings.client_cert)
        curl.setopt(pycurl.SSLKEY, settings.client_key or settings.client_cert)
    if settings.proxy is None:
        return
    # What the proxy says about a tunnel is not the answer, and our fields are not for the proxy.
    curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
    curl.setopt(pycurl.HEADEROPT, pycurl.HEADER_SEPARATE)
    curl.setopt(pycurl.PROXY_SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
    if ca_file:
        curl.setopt(pycurl.PROXY_CAINFO, ca_file)
    if settings.proxy_login is not None:
        curl.setopt(pycurl.PROXYAUTH, pycurl.HTTPAUTH_BASIC)
        curl.setopt(pycurl.PROXYUSERNAME, settings.proxy_login.user)
        curl.setopt(pycurl.PROXYPASSWORD, settings.proxy_login.password.reveal())


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))


MAX_ORIGINS = 10_000
"""Of how many origins it is remembered which settings they have."""


class ConnectionGroup:
    """One kind of requests: how they are made, handles for them, and their connections."""

    def __init__(self, settings: RequestSettings, handles: HandlePool, multi: Multi) -> None:
        self.settings = settings
        self.handles = handles
        self.multi = multi


class ConnectionGroups:
    """All groups of a client; without rules there is one, for every request."""

    def __init__(self, options: FetchOptions, settings_for: SettingsFor | None) -> None:
        self._options = options
        self._settings_for = settings_for
        self._multis: dict[ConnectionSettings, Multi] = {}
        self._groups: dict[RequestSettings, ConnectionGroup] = {}
        self._of_origins: dict[tuple[str, Accept], ConnectionGroup] = {}
        self._plain = self._open(PLAIN)

    @property
    def closed(self) -> bool:
        """Whether they are closed."""
        return self._plain.multi.closed

    def choose(self, url: Url, accept: Accept) -> ConnectionGroup:
        """Return the group for a request."""
        if self._settings_for is None:
            return self._plain
        key = authority(url), accept
        group = self._of_origins.get(key)
        if group is None:
            settings = self._settings_for(url)
            # What accepts anything is robots.txt, which is for everybody.
            if accept is Accept.ANYTHING:
                settings = settings.without_secrets()
            group = self._open(settings)
            if len(self._of_origins) >= MAX_ORIGINS:
                self._of_origins.clear()
            self._of_origins[key] = group
        return group

    def close(self) -> None:
        """Close every connection; whoever waits for a transfer is cancelled."""
        for multi in self._multis.values():
            multi.close()
        for group in self._groups.values():
            group.handles.close()

    def _open(self, settings: RequestSettings) -> ConnectionGroup:
        group = self._groups.get(settings)
        if group is None:
            multi = self._multis.get(settings.connection)
            if multi is None:
                multi = self._multis[settings.connection] = Multi(self._options.connections)
            group = self._groups[settings] = ConnectionGroup(
                settings, HandlePool(self._options, settings), multi
            )
        return group
