"""The server thread of the simulated web, with an event loop of its own."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import TypeAlias

from gossamer.testing.client_hello import MAX_HELLO_BYTES, is_tls, is_whole, server_name
from gossamer.testing.protocol import Answerer, Connection, ServerContext
from gossamer.testing.replies import Raw

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    import uvloop
except ImportError:
    new_event_loop = asyncio.new_event_loop
else:  # a request takes half the time
    new_event_loop = uvloop.new_event_loop

LOOPBACK = "127.0.0.1"
_LAST_HANDSHAKES_S = 0.05
_HELLO_CHECK_S = 0.001

TlsChooser: TypeAlias = Callable[[str], ssl.SSLContext | Raw]
"""Says how a client is met that begins with TLS and asks for that name: with a handshake, or with
exactly these bytes. Clients that begin with anything else speak plain HTTP."""


class ServerThread:
    """A server that listens from construction until `stop`, which closes everything it opened.

    It accepts connections itself: an asyncio server that is closed loses those it was just
    accepting, and they stay open until the garbage collector finds them.
    """

    def __init__(
        self, answerer: Answerer, tls: ssl.SSLContext | TlsChooser | None, port: int = 0
    ) -> None:
        self._context = ServerContext(answerer)
        self._tls = tls
        # Listening already: clients that connect before the thread is ready wait in the backlog.
        self._listener = socket.create_server((LOOPBACK, port), backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._loop = new_event_loop()
        self._arriving: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="gossamer-web", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Drop every connection and end the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        with self._listener, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop.add_reader(self._listener, self._accept)
        await self._stopping.wait()
        self._loop.remove_reader(self._listener)
        if self._arriving:
            await asyncio.wait(self._arriving, timeout=_LAST_HANDSHAKES_S)
        await self._context.abort_all()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:  # it is gone, or there are too many; the loop calls again
            return
        task = self._loop.create_task(self._admit(client))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _admit(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is gone, or the TLS handshake failed
            name, met = await self._meet(client)
            opening, tls = (met, None) if isinstance(met, Raw) else (None, met)
            await self._loop.connect_accepted_socket(
                lambda: Connection(self._context, name, opening), client, ssl=tls
            )

    async def _meet(self, client: socket.socket) -> tuple[str, ssl.SSLContext | Raw | None]:
        """Return the name that a client of TLS asks for, and how it is met."""
        if self._tls is None or isinstance(self._tls, ssl.SSLContext):
            return "", self._tls
        client.setblocking(False)
        try:
            begin = await self._peek(client)
        except BaseException:
            client.close()
            raise
        if not is_tls(begin):
            return "", None
        name = server_name(begin)
        return name, self._tls(name)

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
