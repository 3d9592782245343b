"""The process beside us that analyses pages, and our end of the line to it."""

import asyncio
import socket
from collections import deque
from typing import Final

import msgspec

from gossamer.content import Analysis, AnalysisRules, RawPage
from gossamer.content.parser_main import frame, unframed
from gossamer.content.started_parser import StartedParser

PATIENCE_S: Final = 30.0
"""A page takes milliseconds; what takes so long will never end."""


class ParserDiedError(Exception):
    """The process is gone, and the analysis with it."""

    def __init__(self, *, culprit: bool) -> None:
        super().__init__("the analysing process died")
        self.culprit = culprit
        """Whether it was working on this page."""


class ParserProcess(asyncio.Protocol):
    """Analyses one page after the other, in the order in which they are given."""

    def __init__(self, rules: AnalysisRules, started: StartedParser | None = None) -> None:
        """Take over a started process, or start one; raise OSError if that cannot be done."""
        self.ready = False
        """Whether it has come up."""
        self._waiting: deque[asyncio.Future[Analysis]] = deque()
        self._received = bytearray()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Analysis).decode
        self._transport: asyncio.Transport | None = None
        self._outbox = [frame(self._encode(rules))]
        self._process, ours = (started or StartedParser()).take()
        self._patience: asyncio.TimerHandle | None = None
        self._connecting = asyncio.ensure_future(self._connect(ours))

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def in_hand(self) -> int:
        """How many pages it has."""
        return len(self._waiting)

    async def analyse(self, page: RawPage) -> Analysis:
        """Return what it finds; raise `ParserDiedError` if it does not survive that."""
        if self._process.returncode is not None:
            raise ParserDiedError(culprit=False)
        answer: asyncio.Future[Analysis] = asyncio.get_running_loop().create_future()
        self._waiting.append(answer)
        self._send(frame(self._encode(page)))
        if len(self._waiting) == 1:
            self._watch()
        return await answer

    async def close(self) -> None:
        """End the process and whatever it still does."""
        self._process.kill()
        await asyncio.gather(self._connecting, return_exceptions=True)
        self.hang_up()
        self.connection_lost(None)
        await asyncio.to_thread(self.wait)

    def hang_up(self) -> None:
        """Let it end by itself."""
        if self._transport is not None:
            self._transport.abort()

    def wait(self) -> int:
        """Wait for its end and return its exit code."""
        return self._process.wait()

    async def _connect(self, ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_unix_connection(lambda: self, sock=ours)
        for message in self._outbox:
            self._transport.write(message)
        self._outbox.clear()

    def _send(self, message: bytes) -> None:
        if self._transport is None:
            self._outbox.append(message)
        else:
            self._transport.write(message)

    def _watch(self) -> None:
        """Give the first page in line its time."""
        if self._patience is not None:
            self._patience.cancel()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(PATIENCE_S, self._process.kill) if self._waiting else None

    def data_received(self, data: bytes) -> None:
        """Take what the process says."""
        self._received += data
        for message in unframed(self._received):
            self._hear(message)

    def _hear(self, message: bytes) -> None:
        if not message:
            self.ready = True
            return
        answer = self._waiting.popleft()
        self._watch()
        if not answer.done():  # whoever asked may have been cancelled
            answer.set_result(self._decode(message))

    def connection_lost(self, error: Exception | None) -> None:
        """Tell everybody who waits; the first page in line was being worked on."""
        self.ready = False
        if self._patience is not None:
            self._patience.cancel()
        culprit = True
        while self._waiting:
            answer = self._waiting.popleft()
            if not answer.done():
                answer.set_exception(ParserDiedError(culprit=culprit))
            culprit = False
        self._process.poll()
