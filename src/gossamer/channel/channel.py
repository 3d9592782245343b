"""One end of a channel: it makes calls to the other end, and carries out those that arrive.

A frame is a header and a message in msgpack: the header says how long the message is, what it is,
which call it belongs to, and which method is meant. What is sent in one turn of the event loop
travels together, and what arrived together is answered together.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Self, cast

import msgspec

from gossamer import __version__
from gossamer.channel.contract import Contract, Method
from gossamer.model.errors import CrawlError, GossamerError, PageRefusedError, UsageError

HEADER: Final = struct.Struct(">IBIH")
"""Length of the message, kind of frame, number of the call, number of the method."""
HELLO, CALL, NOTICE, RESULT, ERROR = range(5)
LAZY_S: Final = 0.01
"""How long an answer that is in no hurry waits for one that is: each one wakes a process."""
PROTOCOL: Final = f"gossamer {__version__} channel 1"
"""Both ends must be of one version: the messages are those of its contracts."""
MAX_MESSAGE: Final = 64_000_000
ERRORS: Final = {kind.__name__: kind for kind in (CrawlError, PageRefusedError, UsageError)}

Handler = Callable[..., Awaitable[Any]]


class ChannelClosedError(CrawlError):
    """The other end is gone, or has sent something that cannot be understood."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose methods the other end may call."""

    contract: Contract[Any]
    target: Mapping[str, Handler]
    """The methods by name; one that is missing cannot be called."""
    at_once: frozenset[str] | None = frozenset()
    """The methods that may take long, so that others are carried out meanwhile; None: all.

    The rest is carried out one after another, in the order of the calls.
    """
    may_wait: Callable[[str], bool] = lambda _: False
    """Tells whether the answer to a method may wait for the next message, for a moment."""
    answer_later: Callable[[str, object, Callable[[], None]], bool] = lambda *_: False
    """Is given a method, its result, and what sends it; True: it will be called when the time has
    come. So an answer can wait until what it tells is durable."""


def methods_of(contract: Contract[Any], target: object) -> dict[str, Handler]:
    """Return the methods of an object that a contract names."""
    return {name: getattr(target, name) for name in contract.methods}


def give_answer(answer: asyncio.Future[Any], kind: int, method: Method, message: bytes) -> None:
    """Answer a call with what has arrived for it; whoever asked may have been cancelled."""
    if answer.done():
        return
    if kind == RESULT:
        answer.set_result(method.read_result(message))
    else:
        name, text = msgspec.msgpack.decode(message, type=tuple[str, str])
        answer.set_exception(ERRORS.get(name, CrawlError)(text))


class Channel(asyncio.Protocol):
    """One end of a line between two processes; both ends know the same contracts in one order."""

    def __init__(
        self,
        contracts: Sequence[Contract[Any]],
        served: Sequence[Served] = (),
        *,
        max_message: int = MAX_MESSAGE,
        on_batch: Callable[[], None] = lambda: None,
        on_taken: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare; `on_batch` is called when calls that came together have been carried out.

        And `on_taken` for each frame that is not needed any more, in the order in which they
        came: its call was carried out, or was begun if it may take long.
        """
        methods = [method for contract in contracts for method in contract.methods.values()]
        self._numbers = {id(method): number for number, method in enumerate(methods)}
        self._methods = methods
        self._handlers = self._find_handlers(served)
        self._max_message = max_message
        self._on_batch = on_batch
        self._on_taken = on_taken
        self._loop = asyncio.get_running_loop()
        self._encode = msgspec.msgpack.Encoder().encode
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._outbox: list[bytes] = []
        self._flushing: asyncio.Handle | None = None
        """When the outbox is sent."""
        self._is_urgent = False
        self._calls: dict[int, tuple[Method, asyncio.Future[Any]]] = {}
        self._last_call = 0
        self._arrived: list[tuple[int, int, Any]] = []
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._is_greeted = False
        self._error: ChannelClosedError | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Done when the other end is gone and everything that it had sent is carried out."""

    @classmethod
    async def open(
        cls,
        end: socket.socket,
        contracts: Sequence[Contract[Any]],
        served: Sequence[Served] = (),
        *,
        max_message: int = MAX_MESSAGE,
        on_batch: Callable[[], None] = lambda: None,
    ) -> Self:
        """Open a channel over one end of a socket pair."""
        channel = cls(contracts, served, max_message=max_message, on_batch=on_batch)
        end.setblocking(False)
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=end)
        except BaseException:
            # Cancelled meanwhile: uvloop drops a connection that was made, and tells nobody.
            if channel._serving is not None:
                channel._serving.cancel()
            raise
        return channel

    async def call(self, method: Method, arguments: msgspec.Struct) -> Any:  # noqa: ANN401
        """Make a call, and return its result or raise its error."""
        if self._error is not None or self.closed.done():
            raise self._error or ChannelClosedError(_GONE)
        self._last_call = number = self._last_call % 0xFFFFFFFF + 1  # 0 is that of notices
        answer = self._loop.create_future()
        self._calls[number] = method, answer
        self._send(CALL, number, self._numbers[id(method)], self._encode(arguments))
        try:
            return await answer
        finally:
            self._calls.pop(number, None)

    def notify(self, method: Method, *arguments: object) -> None:
        """Make a call without waiting for its result; if the channel is closed, it is lost."""
        if self._error is None and not self.closed.done():
            message = self._encode(method.arguments(*arguments))
            self._send(NOTICE, 0, self._numbers[id(method)], message)

    async def close(self) -> None:
        """Send what is left, and close this end."""
        self._flush()
        if self._transport is not None:
            self._transport.close()
        await asyncio.wait([self.closed])

    def abort(self) -> None:
        """Close this end at once."""
        if self._transport is not None:
            self._transport.abort()

    # -- what arrives ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with the version."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one by its methods
        self._serving = asyncio.create_task(self._serve())
        self._send(HELLO, 0, 0, PROTOCOL.encode())

    def data_received(self, data: bytes) -> None:
        """Take the frames that are complete."""
        if self._is_broken():
            return  # nothing more is understood
        self._received += data
        received, begin = self._received, 0
        while len(received) - begin >= HEADER.size:
            length, kind, call, method = HEADER.unpack_from(received, begin)
            if length > self._max_message:
                self._break_off(f"it sent a message of {length:,} bytes")
                return
            end = begin + HEADER.size + length
            if len(received) < end:
                break
            self._take(kind, call, method, bytes(memoryview(received)[begin + HEADER.size : end]))
            begin = end
            if self._is_broken():
                return
        del received[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        """Tell everybody who waits for an answer; what has arrived is still carried out."""
        self._error = self._error or ChannelClosedError(_GONE)
        for _, answer in self._calls.values():
            if not answer.done():
                answer.set_exception(self._error)
                answer.exception()  # whoever waited may have been cancelled
        self._news.set()

    def _take(self, kind: int, call: int, number: int, message: bytes) -> None:
        if not self._is_greeted:
            self._greet(kind, message)
            return
        try:
            if kind in {CALL, NOTICE}:
                method = self._methods[number]
                self._arrived.append((call, number, method.read_arguments(message)))
                self._news.set()
            else:
                if call in self._calls:
                    method, answer = self._calls[call]
                    give_answer(answer, kind, method, message)
                self._on_taken()
        except (msgspec.MsgspecError, IndexError, RecursionError, ValueError) as error:
            self._break_off(f"it sent an invalid message: {error}")

    def _greet(self, kind: int, message: bytes) -> None:
        self._is_greeted = True
        if kind != HELLO or message != PROTOCOL.encode():
            other = message[:100].decode(errors="replace")
            self._break_off(f"it speaks {other!r}, this one {PROTOCOL!r}")

    def _is_broken(self) -> bool:
        return self._error is not None

    def _break_off(self, why: str) -> None:
        self._error = ChannelClosedError(f"the other process of the crawl is not understood: {why}")
        self.abort()

    # -- what is carried out ---------------------------------------------------------------------

    async def _serve(self) -> None:
        """Carry out what arrives until the other end is gone; an error of ours ends the channel."""
        try:
            while self._arrived or self._error is None:
                await self._carry_out()
        except Exception as error:  # noqa: BLE001 -- whoever waits for the end raises it
            self._fail(error)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if not self.closed.done():
            self.closed.set_result(None)

    async def _carry_out(self) -> None:
        """Carry out what has arrived; wait for it if there is nothing."""
        self._news.clear()
        if not self._arrived:
            await self._news.wait()
        arrived, self._arrived = self._arrived, []
        for call, number, arguments in arrived:
            handler, at_once, served = self._handlers[number]
            work = self._perform(call, number, handler, arguments, served)
            if at_once:
                self._start(work)
            else:
                await work
            self._on_taken()
        self._on_batch()
        if self._is_urgent:
            self._flush()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """End the channel for an error of ours, which `closed` raises."""
        if not self.closed.done():
            self.closed.set_exception(error)
            self.closed.exception()  # there may be nobody who waits
        self.abort()

    async def _perform(
        self,
        call: int,
        number: int,
        handler: Handler,
        arguments: msgspec.Struct,
        served: Served | None,
    ) -> None:
        try:
            result = await handler(*msgspec.structs.astuple(arguments))
        except GossamerError as error:
            result = None
            message, kind = self._encode((type(error).__name__, str(error))), ERROR
        else:
            message, kind = self._encode(result), RESULT
        if call and served is not None:
            name = self._methods[number].name
            if not served.answer_later(name, result, partial(self._send, kind, call, 0, message)):
                self._send(kind, call, 0, message, not served.may_wait(name))
        elif call:
            self._send(kind, call, 0, message)

    def _find_handlers(
        self, served: Sequence[Served]
    ) -> dict[int, tuple[Handler, bool, Served | None]]:
        handlers: dict[int, tuple[Handler, bool, Served | None]] = {
            number: (partial(_refuse, method.name), False, None)
            for number, method in enumerate(self._methods)
        }
        for service in served:
            for name, method in service.contract.methods.items():
                if name in service.target:
                    at_once = service.at_once is None or name in service.at_once
                    handlers[self._numbers[id(method)]] = service.target[name], at_once, service
        return handlers

    # -- what is sent ----------------------------------------------------------------------------

    def _send(
        self, kind: int, call: int, method: int, message: bytes, is_urgent: bool = True
    ) -> None:
        self._outbox.append(HEADER.pack(len(message), kind, call, method))
        self._outbox.append(message)
        if is_urgent and not self._is_urgent:
            if self._flushing is not None:
                self._flushing.cancel()
            self._is_urgent = True
            self._flushing = self._loop.call_soon(self._flush)
        elif self._flushing is None:
            self._flushing = self._loop.call_later(LAZY_S, self._flush)

    def _flush(self) -> None:
        """Send everything that waits."""
        if self._flushing is not None:
            self._flushing.cancel()
        self._flushing, self._is_urgent = None, False
        if self._outbox and self._transport is not None and not self._transport.is_closing():
            with suppress(RuntimeError):  # uvloop's, of a socket that has just failed
                self._transport.write(b"".join(self._outbox))
        self._outbox.clear()


_GONE: Final = "the other process of the crawl is gone"


async def _refuse(name: str, *_: object) -> None:
    raise CrawlError(f"the other process of the crawl asked for {name}, which is not served here")
