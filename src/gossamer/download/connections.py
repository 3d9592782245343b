"""The connections of a client, in groups: one multi handle and some handles for each.

libcurl compares some of what makes up a connection before it uses one again, and which depends on
its version. Here, connections with different settings are in different hands from the start.
"""

import asyncio
import os
import resource
import select
import selectors
import socket
import ssl
import struct
from collections.abc import Iterable
from math import inf
from typing import Final, NamedTuple, TypeAlias

import msgspec
import pycurl

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

MAX_ORIGINS: Final = 10_000
"""How many origins have their settings remembered."""

KEPT_CONNECTIONS: Final = 500
"""How many connections are kept, if the system allows: a host that rests is asked again over the
same one, and many hosts rest at a time."""

_SUPPRESS_CONNECT_HEADERS: Final = 265
"""CURLOPT_SUPPRESS_CONNECT_HEADERS: pycurl has no name for it."""
_FORGET_ALL: Final = "ALL"

_WANTED: Final = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_READY: Final = {
    selectors.EVENT_READ: pycurl.CSELECT_IN,
    selectors.EVENT_WRITE: pycurl.CSELECT_OUT,
    selectors.EVENT_READ | selectors.EVENT_WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}

Endpoints: TypeAlias = tuple[str, int, str, int]
"""The local and the remote end of a connection, each as address and port."""

_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_BYTES_RECEIVED: Final = struct.Struct("=128xQ")
"""Where Linux tells how many bytes a connection has received (`struct tcp_info`)."""


class ConnectionGroup(NamedTuple):
    """One kind of requests: how they are made, handles for them, and their connections."""

    settings: RequestSettings
    handles: "HandlePool"
    multi: "Multi"


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
            if accept is Accept.ANYTHING:  # that is robots.txt, which is for everybody
                settings = settings.without_secrets()
            if len(self._of_origins) >= MAX_ORIGINS:
                self._of_origins.clear()
            group = self._of_origins[key] = self._open(settings)
        return group

    def close(self) -> None:
        """Close every connection; whoever waits for a transfer is cancelled."""
        for multi in self._multis.values():
            multi.close()
        for group in self._groups.values():
            group.handles.close()

    def _open(self, settings: RequestSettings) -> ConnectionGroup:
        group, connection = self._groups.get(settings), settings.connection
        if group is None:
            if connection not in self._multis:
                self._multis[connection] = Multi(self._options.connections)
            handles = HandlePool(self._options, settings)
            group = ConnectionGroup(settings, handles, self._multis[connection])
            self._groups[settings] = group
        return group


class HandlePool:
    """A pool of handles with every option set that is the same for all requests.

    A handle keeps no state from servers: authentication is off, cookies are given and taken with
    each request, and connections belong to the client. So it can be reused as it is.
    """

    def __init__(self, options: FetchOptions, settings: RequestSettings = PLAIN) -> None:
        self._options = options
        self._settings = settings
        # Python finds the system's certificates, or SSL_CERT_FILE; a libcurl from a wheel would
        # use the path of the distribution that built it.
        ca_file = settings.connection.ca_file or options.ca_file
        self._ca_file = str(ca_file) if ca_file else ssl.get_default_verify_paths().cafile
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
        options, connection = self._options, self._settings.connection
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, round(options.connect_timeout_s * 1000)))
        # The web only: no other scheme, no proxy or password file from the environment, no
        # unchecked redirect.
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.PROXY, connection.proxy or "")
        curl.setopt(pycurl.NOPROXY, "")
        curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        # With one request at a time to a host HTTP/2 gains little, and its framing is one more
        # thing to attack: only who asks for it gets it.
        http2, http1 = pycurl.CURL_HTTP_VERSION_2TLS, pycurl.CURL_HTTP_VERSION_1_1
        curl.setopt(pycurl.HTTP_VERSION, http2 if connection.http2 else http1)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        if self._ca_file:
            curl.setopt(pycurl.CAINFO, self._ca_file)
        # The URL is in normal form and sent as it is, and so are the fields: libcurl's own
        # ACCEPT_ENCODING would also decode (see `body`).
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.USERAGENT, self._settings.user_agent or options.user_agent)
        fields = self._settings.sent_fields(page_fields(options.accept))
        curl.setopt(pycurl.HTTPHEADER, [f"{name}: {value}" for name, value in fields])
        if self._settings is not PLAIN:
            _connect(curl, connection, self._ca_file)
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


class RequestCookies:
    """The cookies that a request may send, and after it those that there are then.

    libcurl chooses from them by the URL, and changes them by the answer. They are lines in the
    format of Netscape's cookie file; each byte is a character.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)

    def __repr__(self) -> str:
        """Return how many there are: what they are is a secret."""
        return f"<RequestCookies: {len(self.lines)}>"

    def collect(self, curl: pycurl.Curl) -> None:
        """Take the cookies from a handle that has performed the request."""
        lines: list[bytes] = curl.getinfo_raw(pycurl.INFO_COOKIELIST)
        self.lines = tuple(line.decode("latin-1") for line in lines)
        curl.setopt(pycurl.COOKIELIST, _FORGET_ALL)


def give_cookies(curl: pycurl.Curl, cookies: RequestCookies | None) -> None:
    """Give a handle these cookies in place of those that it has; None: it is to have none."""
    curl.setopt(pycurl.COOKIELIST, _FORGET_ALL)
    if cookies is not None:
        curl.setopt(pycurl.COOKIEFILE, "")  # from now on it takes cookies
        for line in cookies.lines:
            curl.setopt(pycurl.COOKIELIST, line.encode("latin-1"))


class Multi:
    """libcurl's multi handle on the event loop: transfers, each with a future for its end.

    pycurl's own class for it, `AsyncCurlMulti`, has the loop watch each socket, and needs a timer
    and several turns of the loop for each transfer, which takes longer than the transfer itself.
    Here the sockets are watched by a selector, of which the loop watches the one descriptor: what
    is ready together is handled together, in one turn.
    """

    def __init__(self, connections: int) -> None:
        self._futures: dict[pycurl.Curl, asyncio.Future[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._selector = selectors.DefaultSelector()
        self._loop.add_reader(self._selector.fileno(), self._on_ready)
        self._due = inf
        """When libcurl wants to be called, by the clock of the loop."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        """When the timer ends: uvloop's does not tell that if it was due already."""
        self._is_starting = False
        self._multi = pycurl.CurlMulti()
        open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections_to_keep(connections, open_files))
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._multi.closed

    def add(self, curl: pycurl.Curl) -> asyncio.Future[None]:
        """Start a transfer; its future raises a `pycurl.error` if it fails."""
        future = self._futures[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        return future

    def remove(self, curl: pycurl.Curl) -> None:
        """Break off a transfer, unless it has ended."""
        if self._futures.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        """Close every connection; whoever waits for a transfer is cancelled."""
        if self.closed:
            return
        for curl, future in list(self._futures.items()):
            self.remove(curl)
            future.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._selector.fileno())
        self._multi.close()
        self._selector.close()

    # -- what libcurl wants ----------------------------------------------------------------------

    def _on_socket(self, what: int, fd: int, _multi: pycurl.CurlMulti, is_known: object) -> None:
        """Watch a socket for what libcurl waits for."""
        events = _WANTED.get(what)
        if events is None:
            self._selector.unregister(fd)
        elif is_known:
            self._selector.modify(fd, events)
        else:
            self._selector.register(fd, events)
            self._multi.assign(fd, True)

    def _on_timer(self, wait_ms: int) -> None:
        """Note when libcurl wants to be called; a timer that is earlier finds that out."""
        if wait_ms == 0:
            self._start()
            return
        self._due = inf if wait_ms < 0 else self._loop.time() + wait_ms / 1e3
        if self._due < inf and (self._timer is None or self._timer_at > self._due):
            self._set_timer()

    def _start(self) -> None:
        """Call libcurl in the next turn: once for all transfers that were added in this one."""
        if not self._is_starting:
            self._is_starting = True
            self._loop.call_soon(self._on_start)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(self._due, self._on_time), self._due

    # -- what the loop has for it ----------------------------------------------------------------

    def _on_start(self) -> None:
        self._is_starting = False
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _on_time(self) -> None:
        self._timer = None
        if self._loop.time() >= self._due:
            self._due = inf
            self._act(pycurl.SOCKET_TIMEOUT, 0)
        elif self._due < inf:
            self._set_timer()

    def _on_ready(self) -> None:
        for key, events in self._selector.select(0):
            self._act(key.fd, _READY[events])

    def _act(self, fd: int, events: int) -> None:
        """Have libcurl work on a socket, or on what is due; then tell whose transfer has ended."""
        if self.closed:
            return
        try:
            _, running = self._multi.socket_action(fd, events)
        except pycurl.error as error:
            ended = [(curl, *error.args) for curl in self._futures]
        else:
            if running == len(self._futures):
                return
            _, done, ended = self._multi.info_read()
            for curl in done:
                self._end(curl, None)
        for curl, *arguments in ended:
            self._end(curl, pycurl.error(*arguments))

    def _end(self, curl: pycurl.Curl, error: pycurl.error | None) -> None:
        future = self._futures[curl]
        self.remove(curl)
        if future.done():  # it was cancelled a moment ago
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def connections_to_keep(connections: int, open_files: int) -> int:
    """Return how many connections are kept where so many requests and open files are allowed."""
    if open_files == resource.RLIM_INFINITY:
        return max(connections, KEPT_CONNECTIONS)
    return max(connections, min(KEPT_CONNECTIONS, open_files // 2))


class _Connection(msgspec.Struct):
    """The socket of a connection."""

    fd: int
    poll: select.poll
    answered: int | None = None
    """The bytes of answers that have ended; None: requests do not share the connection."""


class ConnectionSockets:
    """The sockets of a client's connections, by their endpoints."""

    def __init__(self) -> None:
        self._connections: dict[Endpoints, _Connection] = {}
        self._endpoints: dict[int, Endpoints] = {}
        """By descriptor: one that is used again replaces its old entry."""

    def note(self, endpoints: Endpoints, opened: list[int]) -> None:
        """Note that a new connection has one of these sockets, the others having failed."""
        fd = opened[-1] if len(opened) == 1 else _with_port(opened, endpoints[1])
        if (previous := self._endpoints.get(fd)) is not None:
            self._connections.pop(previous, None)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        self._endpoints[fd] = endpoints
        self._connections[endpoints] = _Connection(fd, poll)

    def share(self, endpoints: Endpoints) -> None:
        """Note that a connection is one of HTTP/2: there, a server may send at any time."""
        connection = self._connections.get(endpoints)
        if connection is not None and connection.answered is None:
            connection.poll, connection.answered = select.poll(), 0

    def is_shared(self, endpoints: Endpoints) -> bool:
        """Return whether a connection is one that requests share."""
        connection = self._connections.get(endpoints)
        return connection is not None and connection.answered is not None

    def note_answer(self, endpoints: Endpoints, size: int) -> None:
        """Note that an answer of so many bytes has ended on a connection that requests share."""
        connection = self._connections.get(endpoints)
        if connection is not None and connection.answered is not None:
            connection.answered += size

    def is_quiet(self, endpoints: Endpoints) -> bool:
        """Return whether a connection is known and nothing waits there to be read, nor its end."""
        connection = self._connections.get(endpoints)
        return connection is not None and not connection.poll.poll(0)

    def received(self, endpoints: Endpoints) -> int | None:
        """Return how many bytes a connection has received; None where that is not known.

        Only Linux tells. Of HTTP/2, what belongs to answers that have ended is not counted.
        """
        connection = self._connections.get(endpoints)
        if connection is None or _TCP_INFO is None:
            return None
        try:
            # The family is not asked for, which would take three more system calls.
            wrapped = socket.socket(
                socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, connection.fd
            )
            try:
                info = wrapped.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES_RECEIVED.size)
            finally:
                wrapped.detach()
        except OSError:  # it was closed a moment ago
            return None
        if len(info) != _BYTES_RECEIVED.size:
            return None
        return int(_BYTES_RECEIVED.unpack(info)[0]) - (connection.answered or 0)


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
