"""HTTP/1.1 on an asyncio transport: requests are read one after another, answers are played."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from itertools import count
from typing import TypeAlias, cast

from gossamer.testing.parsing import MAX_HEADER_BYTES, Request, parse_request
from gossamer.testing.records import RequestLog, RequestRecord
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

Answerer: TypeAlias = Callable[[str, str], Prepared | Raw]
"""Gives the answer to a host and a target."""


class Switchboard:
    """What the connections of a server share: who answers, who records, and who is on the line."""

    def __init__(self, answerer: Answerer, log: RequestLog) -> None:
        self.answerer = answerer
        self.log = log
        self.numbers = count(1)
        self.connections: set[Connection] = set()
        self.is_closing = False

    async def hang_up(self) -> None:
        """Drop every connection and return when all are gone."""
        self.is_closing = True
        for connection in self.connections.copy():
            connection.abort()
            await connection.gone.wait()


class Connection(asyncio.Protocol):
    """One client's connection: every request recorded, answered in order, one at a time."""

    _transport: asyncio.Transport

    def __init__(self, switchboard: Switchboard) -> None:
        self.gone = asyncio.Event()
        self._switchboard = switchboard
        self._number = next(switchboard.numbers)
        self._buffer = b""
        self._is_deaf = False
        self._writable = asyncio.Event()
        self._writable.set()
        self._answering: asyncio.Task[None] | None = None
        self._unfinished: RequestRecord | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Join those on the line."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        self._switchboard.connections.add(self)
        if self._switchboard.is_closing:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop whatever was being said: the client, or we, have left."""
        self._stop_listening()
        if self._answering is not None:
            self._answering.cancel()
        if self._unfinished is not None:
            self._unfinished.ended = time.monotonic()
        self._switchboard.connections.discard(self)
        self.gone.set()

    def pause_writing(self) -> None:
        """Wait: the client reads more slowly than we write."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on."""
        self._writable.set()
        self._serve()

    def data_received(self, data: bytes) -> None:
        """Serve what is complete and keep the rest."""
        if not self._is_deaf:
            self._buffer += data
            self._serve()

    def abort(self) -> None:
        """Drop the connection at once."""
        self._transport.abort()

    def _serve(self) -> None:
        """Answer the whole requests in the buffer, each when the one before it is answered."""
        while self._buffer and self._answering is None and self._writable.is_set():
            end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEADER_BYTES)
            if end < 0:
                if len(self._buffer) >= MAX_HEADER_BYTES:
                    self._refuse(431)
                break
            request = parse_request(self._buffer[:end])
            self._buffer = self._buffer[end + 4 :]
            if request is None:
                self._refuse(400)
            else:
                self._answer(request)
        if len(self._buffer) > MAX_HEADER_BYTES:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _refuse(self, status: int) -> None:
        """Answer a request that cannot be served, and leave closing to the client.

        To close with bytes unread would reset the connection, and the client might never see
        the answer (RFC 9112, section 9.6).
        """
        self._stop_listening()
        self._transport.write(prepare(Reply(status=status, headers={"Connection": "close"})).whole)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:  # TLS knows no half-closed connection
            self._transport.close()

    def _answer(self, request: Request) -> None:
        record = RequestRecord(
            host=request.host,
            path=request.target,
            method=request.method,
            header=request.header,
            connection=self._number,
            started=time.monotonic(),
        )
        self._switchboard.log.add(record)
        answer = self._switchboard.answerer(request.host, request.target)
        if isinstance(answer, Raw):
            self._stop_listening()
            self._unfinished = record
            self._answering = asyncio.create_task(self._play(answer, record))
            return
        content = answer.head if request.method == "HEAD" else answer.whole
        closes = answer.closes or request.closes
        if answer.delay_s:
            self._unfinished = record
            self._answering = asyncio.create_task(
                self._send_later(answer.delay_s, content, record, closes=closes)
            )
        else:
            self._send(content, record, closes=closes)

    def _send(self, content: bytes, record: RequestRecord, *, closes: bool) -> None:
        # Noted before the write, so that a client that has the last byte finds it noted.
        record.ended = time.monotonic()
        self._transport.write(content)
        if closes:
            self._stop_listening()
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
                    await self._say(step, record)
                case Pause():
                    await asyncio.sleep(step.seconds)
                case Repeat():
                    await self._repeat(step, record)
                case KeepOpen():
                    return
                case Reset():
                    self._make_end_a_reset()
                    end = self._transport.abort
                    break
                case Close():
                    break
        record.ended = time.monotonic()
        self._unfinished = None
        end()

    async def _say(self, content: bytes, record: RequestRecord) -> None:
        await self._writable.wait()
        record.ended = time.monotonic()
        self._transport.write(content)

    async def _repeat(self, step: Repeat, record: RequestRecord) -> None:
        for _ in count() if step.times is None else range(step.times):
            await self._say(step.chunk, record)
            await asyncio.sleep(step.every_s)

    def _make_end_a_reset(self) -> None:
        """Ask for RST instead of FIN: SO_LINGER with a time of zero (socket(7))."""
        connected: socket.socket = self._transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _stop_listening(self) -> None:
        self._is_deaf = True
        self._buffer = b""
