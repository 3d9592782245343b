"""One running request: libcurl's callbacks, checked against the policy and the limits.

libcurl calls the `on_…` methods from inside its own C code, where a Python exception would be
printed and lost, so none of them raises; they end the transfer by what they return.
"""

import socket
import time
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

import msgspec
import pycurl

from gossamer.download.address_slots import AddressSlots
from gossamer.download.answer import BodyUse, HeaderReader, IncomingAnswer, Stop, judge
from gossamer.download.connections import ConnectionSockets, Endpoints
from gossamer.download.curl_errors import CurlFailure, cause_of, explained, is_break, is_ours
from gossamer.download.deadlines import TransferProgress
from gossamer.download.large_bodies import BodyRoom
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import RequestSettings, page_fields, request_bytes
from gossamer.model import Cause, Exchange, Headers, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.failures import TREATMENTS
from gossamer.policy.size_limits import DRAIN_BYTES, MAX_SITEMAP_BYTES, Allowance, most_on_wire
from gossamer.urls import host_key

MAX_ADDRESSES = 8
"""How many addresses of a host are tried, which may claim to have a thousand."""
_END = -1
_KEPT_LOST = Stop(Cause.CONNECTION_LOST)
"""The server had given up the kept connection that the request was sent on."""
_MAX_DETAIL_LENGTH = 200

_SocketAddress: TypeAlias = tuple[int, int, int, tuple[str, int] | tuple[str, int, int, int]]
"""Family, type and protocol of a socket, and its remote address."""


class Network(NamedTuple):
    """What the transfers of a client share."""

    options: FetchOptions
    addresses: AddressPolicy
    sockets: ConnectionSockets
    slots: AddressSlots


class Request(msgspec.Struct, frozen=True):
    """One GET, however often it has to be sent."""

    url: Url
    accept: Accept
    settings: RequestSettings
    allowance: Allowance
    started: float = msgspec.field(default_factory=time.monotonic)

    def exchange(self, options: FetchOptions, head: bytes, address: str | None) -> Exchange:
        """Return the request and the head of its answer, without secrets."""
        settings = self.settings
        fields = settings.sent_fields(page_fields(options.accept))
        agent = settings.user_agent or options.user_agent
        sent = request_bytes(self.url, agent, fields, settings.secret_names)
        return Exchange(sent, head, address)


class Transfer:
    """One request, from its first socket to the `Response`."""

    def __init__(self, curl: pycurl.Curl, request: Request, network: Network) -> None:
        """Make a handle send this request and call back here."""
        self.request = request
        self.progress = TransferProgress()
        self.room: BodyRoom | None = None
        """What the body may take; None: any size."""
        self.busy_address: str | None = None
        """The address that has no slot for it."""
        self.was_sent = False
        """Whether the server may have seen the request."""
        connection, options = request.settings.connection, network.options
        self._is_proxied = connection.proxy is not None
        self._network = network
        self._header = HeaderReader(
            options.max_header_bytes, options.max_header_count, http2=connection.http2
        )
        self._answer: IncomingAnswer | None = None
        self._stop: Stop | None = None
        self._tried = 0
        self._socket_error = ""
        self._taken: list[str] = []
        """The addresses of which it has a slot."""
        self._opened: list[int] = []
        """The sockets that were opened since the request was last sent."""
        self._endpoints: Endpoints = ("", 0, "", 0)
        self._is_on_kept = False
        self._wire_start: int | None = None
        """What the connection had received before, as far as that is known."""
        curl.setopt(pycurl.URL, request.url)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.on_open)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self.on_opened)
        curl.setopt(pycurl.PREREQFUNCTION, self.on_connected)
        curl.setopt(pycurl.HEADERFUNCTION, self.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self.on_body)

    @property
    def stopped(self) -> bool:
        """Whether we ended the transfer."""
        return self._stop is not None

    def stop(self, cause: Cause, detail: str = "") -> None:
        """Note why we end the transfer; the first reason counts."""
        self._stop = self._stop or Stop(cause, detail)

    def is_unanswered(self, failure: CurlFailure | None) -> bool:
        """Return whether the request met a kept connection that the server had given up.

        That is no failure of the page or of the server, which may never have seen the request. One
        that was silent until a deadline is not among them.
        """
        if failure is None or self._stop is not None:
            return self._stop is _KEPT_LOST
        return self._is_on_kept and self.progress.last_byte is None and is_break(failure)

    def is_over_wire(self) -> bool:
        """Return whether far more was received than the answer may have, framing included.

        libcurl does not tell us of chunk extensions, padding and the like. Other requests to the
        host may be under way on the same connection of HTTP/2.
        """
        received = self._network.sockets.received(self._endpoints)
        if received is None:
            return False
        if self._wire_start is None:
            self._wire_start = received if self._is_on_kept else 0
        verdict = self._answer and self._answer.verdict
        max_bytes = verdict.max_bytes if verdict and verdict.use is BodyUse.KEEP else DRAIN_BYTES
        most = most_on_wire(max_bytes)
        if self._network.sockets.is_shared(self._endpoints):
            options = self._network.options
            largest = max(options.max_body_bytes, options.max_file_bytes, MAX_SITEMAP_BYTES)
            most += (options.host_connections - 1) * most_on_wire(largest)
        return received - self._wire_start > most

    def on_open(self, _purpose: int, address: _SocketAddress) -> "_SharedSocket | int":
        """Return a socket for an address that libcurl is about to contact, if it may.

        After one refused address the other addresses of the name are not tried either. A proxy's
        address may always be contacted: the operator named it (see `lookups`).
        """
        family, kind, protocol, remote = address
        scope = f"%{remote[3]}" if len(remote) == 4 and remote[3] else ""
        if self.was_sent:
            self._refuse_repeat()
        elif not self._is_proxied:
            host, policy = host_key(self.request.url), self._network.addresses
            verdict = policy.judge(f"{remote[0]}{scope}", remote[1], host)
            if not verdict.allowed:
                self.stop(Cause.ADDRESS_REFUSED, verdict.reason)
            elif not self.stopped:
                if verdict.is_own:
                    self._network.slots.exempt(remote[0])
                self._take_slot(remote[0])
        if self.stopped:
            return pycurl.SOCKET_BAD
        self._tried += 1
        if self._tried > MAX_ADDRESSES:
            self._socket_error = f": only {MAX_ADDRESSES} of its addresses are tried"
            return pycurl.SOCKET_BAD
        try:
            return _SharedSocket(socket.socket(family, kind, protocol))
        except OSError as error:  # no IPv6 here, or too many open files
            self._socket_error = f": {error}"
            return pycurl.SOCKET_BAD

    def on_opened(self, fd: int, _purpose: int) -> int:
        """Note the socket that libcurl has made of the one it was given."""
        self._opened.append(fd)
        return pycurl.SOCKOPT_OK

    def on_connected(self, remote_ip: str, local_ip: str, remote_port: int, local_port: int) -> int:
        """Note that the request is about to be sent, on a new connection or a kept one.

        When a kept connection breaks before the first byte of the answer, libcurl would send the
        request again at once. It must not: the server may have seen the first one.
        """
        if self.stopped:
            return pycurl.PREREQFUNC_ABORT
        self._endpoints = local_ip, local_port, remote_ip, remote_port
        if self.was_sent:
            self._refuse_repeat()
            return pycurl.PREREQFUNC_ABORT
        self._is_on_kept = not self._opened
        if self._is_on_kept:
            if not self._is_proxied:
                self._take_slot(remote_ip)
            if not self._network.sockets.is_quiet(self._endpoints):
                self._stop = self._stop or _KEPT_LOST
        else:
            self._network.sockets.note(self._endpoints, self._opened)
            self._opened = []
        self.was_sent = self._stop is None
        self.progress.connected = time.monotonic()
        return pycurl.PREREQFUNC_OK if self._stop is None else pycurl.PREREQFUNC_ABORT

    def on_header(self, line: bytes) -> int | None:
        """Parse a header line; decide about the body after the last one."""
        progress = self.progress
        progress.last_byte = time.monotonic()
        progress.received += len(line)
        if progress.first_byte is None:
            progress.first_byte = progress.last_byte
        cause = self._header.feed(line)
        if cause is not None:
            return self._end(Stop(cause))
        if self._header.complete and self._answer is None:
            return self._begin_answer()
        return None

    def on_body(self, data: bytes) -> int | None:
        """Take a piece of the body, unless there is no room for it yet."""
        answer = self._answer
        if answer is None:
            return None
        if answer.body and self.room and not self.room.admits(answer.body.held + len(data)):
            self.progress.paused_at = time.monotonic()
            return pycurl.WRITEFUNC_PAUSE
        self.progress.go_on(time.monotonic())
        self.progress.received += len(data)
        try:
            stop = answer.take(data)
        except MemoryError:
            return _END  # libcurl then reports an error that `is_ours`
        return None if stop is None else self._end(stop)

    def response(self, failure: CurlFailure | None) -> Response:
        """Return the result; `failure` is the error of libcurl, None if there was none.

        MemoryError is the only failure that is ours and not the server's: it is raised here.
        """
        answer, self._answer = self._answer, None  # the handle refers to us, and would keep a page
        cause, detail = self._conclusion(answer, failure)
        target = answer.verdict.target if answer else None
        if cause is not None:
            outcome = TREATMENTS[cause].outcome
        else:
            outcome = Outcome.REDIRECTED if target else Outcome.FETCHED
        headers = answer.headers if answer else self._header.headers()
        address = None if self._is_proxied else self._endpoints[2] or None
        body, wire_body, exchange = b"", b"", None
        if answer and answer.body and outcome is Outcome.FETCHED:
            body = answer.body.content()
            wire_body = answer.body.received() or body  # not a second copy of a large page
            exchange = self.request.exchange(self._network.options, self._header.head(), address)
        return Response(
            url=self.request.url,
            outcome=outcome,
            cause=cause,
            detail=(detail if detail.isprintable() else repr(detail)[1:-1])[:_MAX_DETAIL_LENGTH],
            status=self._header.status if self._header.complete else None,
            headers=headers if self._header.complete else Headers(),
            body=body,
            coding=answer.verdict.coding if answer else "",
            wire_body=wire_body,
            exchange=exchange,
            target=target,
            address=address,
            started=self.request.started,
            ended=time.monotonic(),
        )

    def leave(self) -> None:
        """Free the slots of its addresses."""
        if self._header.is_http2:
            self._network.sockets.note_answer(self._endpoints, self.progress.received)
        for ip in self._taken:
            self._network.slots.release(ip)
        self._taken = []

    def _end(self, stop: Stop) -> int:
        self._stop = self._stop or stop
        return _END

    def _take_slot(self, ip: str) -> None:
        """Take a slot of an address, of which it has none yet; stop if there is none."""
        if ip in self._taken:
            return
        if self._network.slots.take(ip):
            self._taken.append(ip)
        else:
            self.busy_address = ip
            self.stop(Cause.CONNECTION_REFUSED)

    def _refuse_repeat(self) -> None:
        """Keep libcurl from sending the request again: when is not its decision."""
        self._end(_KEPT_LOST if self._is_on_kept else Stop(Cause.CONNECTION_LOST))

    def _begin_answer(self) -> int | None:
        """Judge the complete header."""
        status, headers, request = self._header.status or 0, self._header.headers(), self.request
        if self._header.is_http2:
            self._network.sockets.share(self._endpoints)
        if status == HTTPStatus.REQUEST_TIMEOUT and self._is_on_kept:
            return self._end(_KEPT_LOST)  # the server gave the connection up as we sent
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and self._is_proxied:
            return self._end(Stop(Cause.PROXY_FAILED, "it wants another login (407)"))
        verdict = judge(request.url, status, headers, request.accept, self._network.options)
        self._answer = IncomingAnswer(verdict, headers, request.accept, request.allowance)
        if (stop := self._answer.refused()) is not None:
            return self._end(stop)
        if verdict.use is BodyUse.DRAIN:
            self.progress.useless_since = self.progress.last_byte
        return None

    def _conclusion(
        self, answer: IncomingAnswer | None, failure: CurlFailure | None
    ) -> tuple[Cause | None, str]:
        if answer is not None and answer.body is None:
            # Whatever happened to the rest of the answer.
            return answer.verdict.cause, answer.verdict.detail
        if self._stop is not None:
            return self._stop
        if failure is not None:
            if is_ours(failure):
                raise MemoryError
            connected = self.progress.connected is not None
            cause = cause_of(failure, connected=connected, proxied=self._is_proxied)
            return cause, explained(failure) + self._socket_error
        if answer is None or answer.body is None:
            return Cause.CONNECTION_LOST, "the header broke off"
        return answer.body.finish(), ""


class _SharedSocket:
    """A socket that pycurl duplicates; ours is closed as soon as pycurl drops it."""

    def __init__(self, original: socket.socket) -> None:
        self._original = original

    def fileno(self) -> int:
        """Return the descriptor to duplicate."""
        return self._original.fileno()

    def __del__(self) -> None:
        self._original.close()
