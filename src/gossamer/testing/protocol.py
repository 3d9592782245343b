"""The HTTP/1.1 protocol of the simulated web, on an asyncio transport."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from itertools import count
from typing import TypeAlias, cast

from gossamer.testing.http2 import PREFACE, PREFACE_TARGET, has_request
from gossamer.testing.parsing import MAX_HEADER_BYTES, parse_request
from gossamer.testing.replies import (
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

    def __init__(self, context: ServerContext, name: str = "", opening: Raw | None = None) -> None:
        """Answer from the context, or with `opening` at once; `name` is the one that TLS tells."""
        self.closed = asyncio.Event()
        self._context = context
        self._name = name
        self._opening = opening
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
        elif self._opening is not None:
            self._begin(self._opening, self._record("TLS"))

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
            if self._buffer.startswith(PREFACE):
                if has_request(self._buffer):
                    self._answer(self._record("PRI"))
                break
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
                    await self._repeat(step, record)
                case KeepOpen():
                    return
                case Reset():
                    self._close_with_reset()
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

    async def _repeat(self, step: Repeat, record: RequestRecord) -> None:
        for _ in count() if step.times is None else range(step.times):
            await self._write(step.chunk, record)
            await asyncio.sleep(step.every_s)

    def _close_with_reset(self) -> None:
        """Close with RST instead of FIN: SO_LINGER with a time of zero (socket(7))."""
        connected: socket.socket = self._transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _ignore_input(self) -> None:
        self._ignores_input = True
        self._buffer = b""
