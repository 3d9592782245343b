"""One running request: libcurl's callbacks, checked against the policy and the limits.

libcurl calls the `on_…` methods from inside its own C code, where a Python exception would be
printed and lost, so none of them raises; they end the transfer by what they return.
"""

import socket
import time
from http import HTTPStatus
from math import inf
from typing import TypeAlias

import msgspec
import pycurl

from gossamer.download.address_slots import AddressSlots
from gossamer.download.answer import BodyUse, HeaderReader, HeaderVerdict, content_length, judge
from gossamer.download.body import Body
from gossamer.download.connections import ConnectionSockets, Endpoints
from gossamer.download.curl_errors import CurlFailure, cause_of, explained, is_break, is_ours
from gossamer.download.large_bodies import BodyRoom
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import PLAIN, RequestSettings, page_fields, request_bytes
from gossamer.model import Cause, Exchange, Headers, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.failures import TREATMENTS
from gossamer.policy.size_limits import DRAIN_BYTES, MAX_SITEMAP_BYTES, Allowance, most_on_wire
from gossamer.urls import host_key


class TransferProgress(msgspec.Struct):
    """The progress of a request; times are seconds of one clock, None means not yet."""

    started: float = inf
    """When it began, with connecting."""
    connected: float | None = None
    """When the request was sent, on a new connection or a kept one."""
    first_byte: float | None = None
    """When the first line of the answer came."""
    last_byte: float | None = None
    """When the last piece of the answer came."""
    received: int = 0
    """The bytes of the answer so far, without its framing."""
    useless_since: float | None = None
    """When the rest of the answer was found to be useless."""
    paused_at: float | None = None
    """Since when we read no more: it is us whom the server waits for."""
    paused_s: float = 0.0
    """How long it was paused before, which is no time that the server took."""

    def go_on(self, now: float) -> None:
        """Note that a piece of the answer came; a pause is over then."""
        if self.paused_at is not None:
            self.paused_s += now - self.paused_at
            self.paused_at = None
        self.last_byte = now


MAX_ADDRESSES = 8
"""How many addresses of a host are tried, which may claim to have a thousand."""
_END = -1
_MAX_DETAIL_LENGTH = 200

_SocketAddress: TypeAlias = tuple[int, int, int, tuple[str, int] | tuple[str, int, int, int]]
"""Family, type and protocol of a socket, and its remote address."""


class Transfer:
    """One request, from its first socket to the `Response`."""

    def __init__(
        self,
        url: Url,
        accept: Accept,
        options: FetchOptions,
        addresses: AddressPolicy,
        allowance: Allowance | None = None,
        settings: RequestSettings = PLAIN,
    ) -> None:
        self.settings = settings
        self._is_proxied = settings.connection.proxy is not None
        self._url = url
        self._accept = accept
        self._options = options
        self._addresses = addresses
        self._allowance = allowance or Allowance()
        self._header = HeaderReader(
            options.max_header_bytes,
            options.max_header_count,
            http2=settings.connection.http2,
        )
        self._headers = Headers()
        self._verdict: HeaderVerdict | None = None
        self._body: Body | None = None
        self._drained_bytes = 0
        self._is_cut = False
        self._stop: tuple[Cause, str] | None = None
        self._tried = 0
        self._socket_error = ""
        self._address: str | None = None
        self._sockets: ConnectionSockets
        self._address_slots: AddressSlots
        self._taken: list[str] = []
        """The addresses of which it has a slot."""
        self.busy_address: str | None = None
        """The address that has no slot for it."""
        self._opened: list[int] = []
        """The sockets that were opened since the request was last sent."""
        self._ends: Endpoints = ("", 0, "", 0)
        self._is_on_kept = False
        self._is_kept_lost = False
        self.was_sent = False
        """Whether the server may have seen the request."""
        self._wire_start: int | None = None
        """What the connection had received before, as far as that is known."""
        self._started = time.monotonic()
        self.progress = TransferProgress()
        self.room: BodyRoom | None = None
        """What the body may take; None: any size."""

    def attach(self, curl: pycurl.Curl, sockets: ConnectionSockets, slots: AddressSlots) -> None:
        """Make a handle send this request and call back here; the others are the client's."""
        self._sockets = sockets
        self._address_slots = slots
        curl.setopt(pycurl.URL, self._url)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self.on_open)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self.on_opened)
        curl.setopt(pycurl.PREREQFUNCTION, self.on_connected)
        curl.setopt(pycurl.HEADERFUNCTION, self.on_header)
        curl.setopt(pycurl.WRITEFUNCTION, self.on_body)

    @property
    def _takes_part(self) -> bool:
        """Whether a part of the body will do, where all of it is more than a task may receive."""
        return self._accept is Accept.SITEMAP and not self._allowance.is_short

    @property
    def stopped(self) -> bool:
        """Whether we ended the transfer."""
        return self._stop is not None

    def stop(self, cause: Cause, detail: str = "") -> None:
        """Note why we end the transfer; the first reason counts."""
        if self._stop is None:
            self._stop = cause, detail

    def again(self) -> "Transfer":
        """Return the same request, to be sent once more, as a part of the same visit."""
        transfer = Transfer(
            *(self._url, self._accept, self._options, self._addresses),
            *(self._allowance, self.settings),
        )
        transfer._started = self._started
        return transfer

    def is_unanswered(self, failure: CurlFailure | None) -> bool:
        """Return whether the request met a kept connection that the server had given up.

        That is no failure of the page or of the server, which may never have seen the request. One
        that was silent until a deadline is not among them.
        """
        if self._is_kept_lost or failure is None or self.stopped:
            return self._is_kept_lost
        return self._is_on_kept and self.progress.last_byte is None and is_break(failure)

    def is_over_wire(self) -> bool:
        """Return whether far more was received than the answer may have, framing included.

        libcurl does not tell us of chunk extensions, padding and the like. Other requests to the
        host may be under way on the same connection of HTTP/2.
        """
        received = self._sockets.received(self._ends)
        if received is None:
            return False
        if self._wire_start is None:
            self._wire_start = received if self._is_on_kept else 0
        verdict = self._verdict
        max_bytes = verdict.max_bytes if verdict and verdict.use is BodyUse.KEEP else DRAIN_BYTES
        return received - self._wire_start > most_on_wire(max_bytes) + self._most_of_others()

    def _most_of_others(self) -> int:
        """Return the most that other requests may have under way on the same connection."""
        if not self._sockets.is_shared(self._ends):
            return 0
        options = self._options
        largest = max(options.max_body_bytes, options.max_file_bytes, MAX_SITEMAP_BYTES)
        return (options.host_connections - 1) * most_on_wire(largest)

    def on_open(self, _purpose: int, address: _SocketAddress) -> "_SharedSocket | int":
        """Return a socket for an address that libcurl is about to contact, if it may.

        After one refused address the other addresses of the name are not tried either. A proxy's
        address may always be contacted: the operator named it (see `proxied`).
        """
        family, kind, protocol, remote = address
        scope = f"%{remote[3]}" if len(remote) == 4 and remote[3] else ""
        if self.was_sent:
            self._refuse_repeat()
        elif not self._is_proxied:
            verdict = self._addresses.judge(f"{remote[0]}{scope}", remote[1], host_key(self._url))
            if not verdict.allowed:
                self.stop(Cause.ADDRESS_REFUSED, verdict.reason)
            elif not self.stopped:
                if verdict.is_own:
                    self._address_slots.note_own(remote[0])
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
        self._address = None if self._is_proxied else remote_ip
        self._ends = local_ip, local_port, remote_ip, remote_port
        if self.was_sent:
            self._refuse_repeat()
            return pycurl.PREREQFUNC_ABORT
        self._is_on_kept = not self._opened
        if self._is_on_kept:
            if not self._is_proxied:
                self._take_slot(remote_ip)
            if not self._sockets.is_quiet(self._ends):
                self._lose_kept()
        else:
            self._sockets.note(self._ends, self._opened)
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
            self.stop(cause)
            return _END
        if self._header.complete and self._verdict is None:
            return self._decide()
        return None

    def on_body(self, data: bytes) -> int | None:
        """Take a piece of the body, unless there is no room for it yet."""
        if self._body and self.room and not self.room.admits(self._body.held + len(data)):
            self.progress.paused_at = time.monotonic()
            return pycurl.WRITEFUNC_PAUSE
        self.progress.go_on(time.monotonic())
        self.progress.received += len(data)
        is_allowed = self._allowance.take(len(data))
        if self._body is None:
            self._drained_bytes += len(data)
            return _END if self._drained_bytes > DRAIN_BYTES or not is_allowed else None
        if not is_allowed:
            if self._takes_part:
                self._is_cut = True
            else:
                self.stop(Cause.OVER_BUDGET)
            return _END
        try:
            cause = self._body.feed(data)
        except MemoryError:
            return _END  # libcurl then reports an error that `is_ours`
        if cause is None:
            return None
        if cause is not Cause.BODY_TOO_LARGE or self._verdict is None:
            self.stop(cause)
        elif self._verdict.is_cut:
            self._is_cut = True
        else:
            self.stop(self._verdict.too_large)
        return _END

    def response(self, failure: CurlFailure | None) -> Response:
        """Return the result; `failure` is the error of libcurl, None if there was none.

        MemoryError is the only failure that is ours and not the server's: it is raised here.
        """
        cause, detail = self._conclusion(failure)
        target = self._verdict.target if self._verdict else None
        if cause is not None:
            outcome = TREATMENTS[cause].outcome
        else:
            outcome = Outcome.REDIRECTED if target else Outcome.FETCHED
        body, wire_body, exchange = b"", b"", None
        if self._body and outcome is Outcome.FETCHED:
            body = self._body.content()
            wire_body = self._body.received() or body  # not a second copy of a large page
            exchange = self._exchange()
        self._body = None  # the handle still refers to this transfer, and would keep the page
        return Response(
            url=self._url,
            outcome=outcome,
            cause=cause,
            detail=_printable(detail),
            status=self._header.status if self._header.complete else None,
            headers=self._headers,
            body=body,
            coding=self._verdict.coding if self._verdict else "",
            wire_body=wire_body,
            exchange=exchange,
            target=target,
            address=self._address,
            started=self._started,
            ended=time.monotonic(),
        )

    def leave(self) -> None:
        """Free the slots of its addresses."""
        if self._header.is_http2:
            self._sockets.note_answer(self._ends, self.progress.received)
        for ip in self._taken:
            self._address_slots.release(ip)
        self._taken = []

    def _take_slot(self, ip: str) -> None:
        """Take a slot of an address, of which it has none yet; stop if there is none."""
        if ip in self._taken:
            return
        if self._address_slots.take(ip):
            self._taken.append(ip)
        else:
            self.busy_address = ip
            self.stop(Cause.CONNECTION_REFUSED)

    def _refuse_repeat(self) -> None:
        """Keep libcurl from sending the request again: when is not its decision."""
        if self._is_on_kept:
            self._lose_kept()
        else:
            self.stop(Cause.CONNECTION_LOST)

    def _lose_kept(self) -> None:
        self._is_kept_lost = True
        self.stop(Cause.CONNECTION_LOST)

    def _exchange(self) -> Exchange:
        options, settings = self._options, self.settings
        agent, fields = settings.user_agent or options.user_agent, page_fields(options.accept)
        sent = settings.sent_fields(fields)
        request = request_bytes(self._url, agent, sent, settings.secret_names)
        return Exchange(request, self._header.head(), self._address)

    def _decide(self) -> int | None:
        status = self._header.status or 0
        self._headers = self._header.headers()
        if self._header.is_http2:
            self._sockets.share(self._ends)
        if status == HTTPStatus.REQUEST_TIMEOUT and self._is_on_kept:
            self._lose_kept()  # the server gave the connection up as we sent
            return _END
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and self._is_proxied:
            self.stop(Cause.PROXY_FAILED, "it wants another login (407)")
            return _END
        self._verdict = judge(self._url, status, self._headers, self._accept, self._options)
        if self._verdict.use is BodyUse.REFUSE:
            return _END
        if self._verdict.use is BodyUse.KEEP:
            announced = min(content_length(self._headers), self._verdict.max_bytes)
            if announced > self._allowance.left and not self._takes_part:
                self.stop(Cause.OVER_BUDGET, "by its Content-Length")
                return _END
            self._body = Body(self._verdict.decoders, self._verdict.max_bytes)
        else:
            self.progress.useless_since = self.progress.last_byte
        return None

    def _conclusion(self, failure: CurlFailure | None) -> tuple[Cause | None, str]:
        verdict = self._verdict
        if verdict is not None and verdict.use is not BodyUse.KEEP:
            return verdict.cause, verdict.detail  # whatever happened to the rest of the answer
        if self._stop is not None:
            return self._stop
        if self._is_cut:
            return None, ""
        if failure is not None:
            if is_ours(failure):
                self._body = None
                raise MemoryError
            connected = self.progress.connected is not None
            cause = cause_of(failure, connected=connected, proxied=self._is_proxied)
            return cause, explained(failure) + self._socket_error
        if self._body is None:
            return Cause.CONNECTION_LOST, "the header broke off"
        return self._body.finish(), ""


class _SharedSocket:
    """A socket that pycurl duplicates; ours is closed as soon as pycurl drops it."""

    def __init__(self, original: socket.socket) -> None:
        self._original = original

    def fileno(self) -> int:
        """Return the descriptor to duplicate."""
        return self._original.fileno()

    def __del__(self) -> None:
        self._original.close()


def _printable(text: str) -> str:
    """Return the text cut, on one line, without control characters."""
    return (text if text.isprintable() else repr(text)[1:-1])[:_MAX_DETAIL_LENGTH]
