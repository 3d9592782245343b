"""The server thread of the simulated web, with an event loop of its own."""

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import TypeAlias, cast

from uvloop import new_event_loop

from gossamer.testing.site import (
    Close,
    KeepOpen,
    Pause,
    Prepared,
    Raw,
    Repeat,
    Reply,
    Reset,
    prepare,
)
from gossamer.testing.traffic import RequestRecord

LOOPBACK = "127.0.0.1"
MAX_HEADER_BYTES = 65_536
"""Longer request headers are refused."""
_LAST_HANDSHAKES_S = 0.05


def parse_request(head: bytes, connection: int = 0) -> RequestRecord | None:
    """Parse a request header (without the final empty line); None if it is invalid.

    A request with a body counts as invalid, since nothing here accepts one.
    """
    line, _, header = head.partition(b"\r\n")
    parts = line.split(b" ")
    if len(parts) != 3:
        return None
    method, target, version = parts
    lowered = head.lower()
    hosts = lowered.count(b"\r\nhost:")
    is_old = version == b"HTTP/1.0"
    well_formed = (
        method.isalpha()
        and target.startswith(b"/")
        and (is_old or version == b"HTTP/1.1")
        and (hosts == 1 or (is_old and hosts == 0))  # RFC 9112, section 3.2
        and _field(lowered, b"content-length") in (b"", b"0")
        and not _field(lowered, b"transfer-encoding")
    )
    if not well_formed:
        return None
    return RequestRecord(
        host=_field(lowered, b"host").partition(b":")[0].decode("latin-1"),
        path=target.decode("latin-1"),
        method=method.decode("latin-1"),
        header=header,
        connection=connection,
        started=time.monotonic(),
        closes=is_old or b"close" in _field(lowered, b"connection"),
    )


def _field(lowered: bytes, name: bytes) -> bytes:
    """Return the value of the first field of that name, empty if there is none."""
    begin = lowered.find(b"\r\n" + name + b":")
    if begin < 0:
        return b""
    begin += len(name) + 3
    end = lowered.find(b"\r\n", begin)
    return lowered[begin : end if end >= 0 else None].strip()


Answerer: TypeAlias = Callable[[RequestRecord], Prepared | Raw]
"""Records a request and returns the answer."""


class ServerContext:
    """What the connections of a server share: the answers, and the open connections."""

    def __init__(self, answerer: Answerer) -> None:
        self.answerer = answerer
        self.numbers = count(1)
        self.connections: set[Connection] = set()
        self.is_closing = False

    async def abort_all(self) -> None:
        """Drop every connection and return when all are closed."""
        self.is_closing = True
        for connection in self.connections.copy():
            connection.abort()
            await connection.closed.wait()


class Connection(asyncio.Protocol):
    """A connection of one client: requests are recorded and answered in order."""

    _transport: asyncio.Transport

    def __init__(self, context: ServerContext) -> None:
        self.closed = asyncio.Event()
        self._context = context
        self._number = next(context.numbers)
        self._buffer = b""
        self._ignores_input = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._answering: asyncio.Task[None] | None = None
        self._unfinished: RequestRecord | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._context.connections.add(self)
        if self._context.is_closing:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop answering: one side has closed the connection."""
        self._ignore_input()
        if self._answering is not None:
            self._answering.cancel()
        if self._unfinished is not None:
            self._unfinished.ended = time.monotonic()
        self._context.connections.discard(self)
        self.closed.set()

    def pause_writing(self) -> None:
        """Stop sending: the client reads more slowly than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Continue sending."""
        self._writable.set()
        self._serve()

    def data_received(self, data: bytes) -> None:
        """Answer complete requests and buffer the rest."""
        if not self._ignores_input:
            self._buffer += data
            self._serve()

    def abort(self) -> None:
        """Drop the connection at once."""
        self._transport.abort()

    def _serve(self) -> None:
        """Answer the complete requests in the buffer, one after the other."""
        while self._buffer and self._answering is None and self._writable.is_set():
            end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
            if end < 0:
                if len(self._buffer) >= MAX_HEADER_BYTES:
                    self._refuse(431)
                break
            record = parse_request(self._buffer[:end], self._number)
            self._buffer = self._buffer[end + 4 :]
            if record is None:
                self._refuse(400)
            else:
                self._answer(record)
        if len(self._buffer) > MAX_HEADER_BYTES:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _refuse(self, status: int) -> None:
        """Answer an invalid request, and let the client close the connection.

        Closing with unread bytes would reset the connection, and the client might never see the
        answer (RFC 9112, section 9.6).
        """
        self._ignore_input()
        self._transport.write(prepare(Reply(status=status, headers={"Connection": "close"})).whole)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:  # TLS has no half-closed connections
            self._transport.close()

    def _answer(self, record: RequestRecord) -> None:
        answer = self._context.answerer(record)
        if isinstance(answer, Raw):
            self._begin(answer, record)
            return
        content = answer.head if record.method == "HEAD" else answer.whole
        closes = answer.closes or record.closes
        if answer.delay_s:
            self._unfinished = record
            self._answering = asyncio.create_task(
                self._send_later(answer.delay_s, content, record, closes=closes)
            )
        else:
            self._send(content, record, closes=closes)

    def _begin(self, answer: Raw, record: RequestRecord) -> None:
        self._ignore_input()
        self._unfinished = record
        self._answering = asyncio.create_task(self._play(answer, record))

    def _send(self, content: bytes, record: RequestRecord, *, closes: bool) -> None:
        # Set before the write, so that it is set when the client has the last byte.
        record.ended = time.monotonic()
        self._transport.write(content)
        if closes:
            self._ignore_input()
            self._transport.close()

    async def _send_later(
        self, delay_s: float, content: bytes, record: RequestRecord, *, closes: bool
    ) -> None:
        await asyncio.sleep(delay_s)
        self._answering = self._unfinished = None
        self._send(content, record, closes=closes)
        self._serve()

    async def _play(self, answer: Raw, record: RequestRecord) -> None:
        end = self._transport.close
        for step in answer.steps:
            match step:
                case bytes():
                    await self._write(step, record)
                case Pause():
                    await asyncio.sleep(step.seconds)
                case Repeat():
                    for _ in count() if step.times is None else range(step.times):
                        await self._write(step.chunk, record)
                        await asyncio.sleep(step.every_s)
                case KeepOpen():
                    return
                case Reset():  # RST instead of FIN: SO_LINGER with a time of zero (socket(7))
                    connected: socket.socket = self._transport.get_extra_info("socket")
                    linger = struct.pack("ii", 1, 0)
                    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    end = self._transport.abort
                    break
                case Close():
                    break
        record.ended = time.monotonic()
        self._unfinished = None
        end()

    async def _write(self, content: bytes, record: RequestRecord) -> None:
        await self._writable.wait()
        record.ended = time.monotonic()
        self._transport.write(content)

    def _ignore_input(self) -> None:
        self._ignores_input = True
        self._buffer = b""


class ServerThread:
    """A server that listens from construction until `stop`, which closes everything it opened.

    It accepts connections itself: an asyncio server that is closed loses those it was just
    accepting, and they stay open until the garbage collector finds them.
    """

    def __init__(
        self, answerer: Answerer, tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self._context = ServerContext(answerer)
        self._tls = tls
        # Listening already: clients that connect before the thread is ready wait in the backlog.
        self._listener = socket.create_server((LOOPBACK, port), backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._loop = new_event_loop()  # with uvloop a request takes half the time
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
            await self._loop.connect_accepted_socket(
                lambda: Connection(self._context), client, ssl=self._tls
            )
