"""A simulated web that speaks TLS and misbehaves in it, beside plain HTTP on the same port.

with serve(SimulatedWeb(faults={"tls-expired": 0, "h2-silent": 0}, catalogue=ALL_FAULTS)) as web:
    web.certificates.write_authority(path)  # for --ca-file
"""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from tests.webs.certificates import Certificates
from tests.webs.client_hello import MAX_HELLO_BYTES, is_tls, is_whole, server_name
from tests.webs.http2_faults import HTTP2
from tests.webs.http2_frames import PREFACE, PREFACE_TARGET, has_request
from tests.webs.tls_faults import TLS, TlsFault

from gossamer.testing.server import Answerer, Connection, ServerContext, ServerThread
from gossamer.testing.simulator import FAULTS, Fault, ServedWeb, SimulatedWeb
from gossamer.testing.site import Raw
from gossamer.testing.traffic import RequestRecord

ALL_FAULTS: Mapping[str, Fault] = {**FAULTS, **{fault.name: fault for fault in (*TLS, *HTTP2)}}
_HELLO_CHECK_S = 0.001

Meet = Callable[[str], ssl.SSLContext | Raw]
"""Says how a client of TLS is met that asks for that name: with a handshake, or these bytes."""


@contextmanager
def serve(web: SimulatedWeb) -> Iterator["ServedTlsWeb"]:
    """Serve a web with certificates on a loopback port."""
    served = ServedTlsWeb(web)
    server = TlsServerThread(served.answer, served.meet)
    served.port = server.port
    try:
        yield served
    finally:
        server.stop()


class ServedTlsWeb(ServedWeb):
    """A web that is being served: every other honest host is https, and those with faults of it."""

    def __init__(self, web: SimulatedWeb) -> None:
        super().__init__(web)
        self.certificates = Certificates()
        self._contexts: dict[str, ssl.SSLContext] = {}

    def origin(self, label: str) -> str:
        """Return the scheme and name of a host."""
        host = self.web.all_hosts.find(label)
        fault = host and host.fault
        is_tls = isinstance(fault, TlsFault) if fault else label.endswith(tuple("13579"))
        origin = super().origin(label)
        return origin.replace("http:", "https:") if is_tls else origin

    def meet(self, name: str) -> ssl.SSLContext | Raw:
        """Return how a client of TLS is met that asks for this name; called by the server."""
        host = self.web.all_hosts.find(name.removesuffix(f".{self.web.domain}"))
        if host is None:
            return Raw(())
        tls = host.fault.tls if isinstance(host.fault, TlsFault) else Certificates.valid
        if isinstance(tls, Raw):
            return tls
        if name not in self._contexts:
            self._contexts[name] = tls(self.certificates, name)
        return self._contexts[name]


class TlsServerThread(ServerThread):
    """A server that looks at the first bytes of a connection: plain HTTP, or TLS for which host."""

    def __init__(self, answerer: Answerer, meet: Meet) -> None:
        self._choose = meet
        super().__init__(answerer)

    async def _admit(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is gone, or the TLS handshake failed
            name, met = await self._meet(client)
            opening, tls = (met, None) if isinstance(met, Raw) else (None, met)
            await self._loop.connect_accepted_socket(
                lambda: TlsConnection(self._context, name, opening), client, ssl=tls
            )

    async def _meet(self, client: socket.socket) -> tuple[str, ssl.SSLContext | Raw | None]:
        """Return the name that a client of TLS asks for, and how it is met."""
        client.setblocking(False)
        try:
            begin = await self._peek(client)
        except BaseException:
            client.close()
            raise
        if not is_tls(begin):
            return "", None
        name = server_name(begin)
        return name, self._choose(name)

    async def _peek(self, client: socket.socket) -> bytes:
        """Return the first bytes that a client sends, and leave them there."""
        readable = asyncio.Event()
        self._loop.add_reader(client, readable.set)
        try:
            await readable.wait()
        finally:
            self._loop.remove_reader(client)
        while is_tls(begin := client.recv(MAX_HELLO_BYTES, socket.MSG_PEEK)):
            if is_whole(begin):
                break
            await asyncio.sleep(_HELLO_CHECK_S)
        return begin


class TlsConnection(Connection):
    """A connection of a client of TLS, or of plain HTTP; HTTP/2 has one answer for all of it."""

    def __init__(self, context: ServerContext, name: str, opening: Raw | None) -> None:
        """Answer with `opening` at once, if there is one; `name` is the one that TLS tells."""
        super().__init__(context)
        self._name = name
        self._opening = opening

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self._opening is not None and not transport.is_closing():
            self._begin(self._opening, self._record("TLS"))

    def _serve(self) -> None:
        if not self._buffer.startswith(PREFACE):
            super()._serve()
        elif self._answering is None and has_request(self._buffer):
            self._answer(self._record("PRI"))

    def _record(self, method: str) -> RequestRecord:
        """Return the record of what is no request of HTTP/1.1, and stands for its connection."""
        return RequestRecord(
            host=self._name,
            path=PREFACE_TARGET,
            method=method,
            header=b"",
            connection=self._number,
            started=time.monotonic(),
        )
