"""Calls that are held until they are answered, and sent again to whoever is the frontier next.

A process that has joined a crawl puts its calls, settlements above all, into one queue, and finds
the answers in another. A message in a queue is a header and frames as on every channel. The
frontier takes a message from the queue in the commit that has its effects, and the answer gets into
the other queue in that commit: so a call is carried out once, whoever is the frontier. A new
frontier says hello, and gets all calls again that were not answered; those that it has seen already
it skips.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

import msgspec

from gossamer.channel.channel import (
    CALL,
    ERROR,
    HEADER,
    HELLO,
    NOTICE,
    PROTOCOL,
    RESULT,
    Channel,
    ChannelClosedError,
    Served,
    give_answer,
)
from gossamer.channel.contract import Contract, Method
from gossamer.model.errors import CrawlError

MESSAGE: Final = struct.Struct(">QI")
"""The number of a message, and the first call that was not answered when it was sent."""
OVER, BYE, AGAIN = 5, 6, 7
"""More kinds of frames: the crawl is over; whoever has joined leaves; a call is repeated for one
frontier, whose token comes before the arguments."""


class Hello(msgspec.Struct, frozen=True, array_like=True):
    """What a process that joins says first."""

    protocol: str
    worker: int | None
    """The number of the worker that it is; None: it is none."""


class MessageQueues(Protocol):
    """The two queues of a process that has joined, at a server that may be away for a moment."""

    async def send(self, number: int, message: bytes) -> bool:
        """Append a message, once; False: the server has lost some that were sent before it."""

    async def receive(self) -> list[bytes]:
        """Return the messages that are there; wait a moment for some if there are none."""

    async def drop(self, count: int) -> None:
        """Take the first messages away, which were read."""


def frames(message: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield kind, number of the call, number of the method and content of each frame."""
    begin = 0
    while begin < len(message):
        length, kind, call, method = HEADER.unpack_from(message, begin)
        end = begin + HEADER.size + length
        if end > len(message):
            raise ValueError("a frame is cut off")
        yield kind, call, method, message[begin + HEADER.size : end]
        begin = end


def frame(kind: int, call: int, method: int, content: bytes) -> bytes:
    """Return a frame as it is sent."""
    return HEADER.pack(len(content), kind, call, method) + content


class QueueServer(Channel):
    """The frontier's end of the queues of one process.

    What it sends is given to `push` in the step that carries a call out, and `on_taken` is called
    in the same step for each message of which nothing is needed any more.
    """

    def __init__(
        self,
        contracts: Sequence[Contract[Any]],
        served: Sequence[Served],
        push: Callable[[bytes], None],
        *,
        on_batch: Callable[[], None],
        on_taken: Callable[[], None],
        on_hello: Callable[[Hello], None],
    ) -> None:
        super().__init__(contracts, served, on_batch=on_batch, on_taken=self._frame_taken)
        self._push = push
        self._on_message_taken = on_taken
        self._on_hello = on_hello
        self._frames_left: deque[int] = deque()
        """How many frames of each message are still needed."""
        self._last_message = 0
        self._seen: set[int] = set()
        """The calls that were begun, as long as they may come again."""
        self._token = b""
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.is_left = False
        """Whether the process has said that it leaves."""

    def begin(self, token: str) -> None:
        """Begin to serve; the token tells one frontier from another."""
        self._is_greeted = True
        self._token = token.encode()
        self._serving = asyncio.create_task(self._serve())
        self._send(HELLO, 0, 0, token.encode())

    def end(self) -> None:
        """Serve no more."""
        self._error = self._error or ChannelClosedError("the process has left the crawl")
        self._news.set()

    def tell_over(self, ended_by: str) -> None:
        """Tell that the crawl is over, and what ended it."""
        self._send(OVER, 0, 0, ended_by.encode())

    async def idle(self) -> None:
        """Wait until everything that was taken is carried out, or was begun if it may take long."""
        await self._is_idle.wait()

    def feed(self, message: bytes) -> bool:
        """Take a message; False: it was read before."""
        number, floor = MESSAGE.unpack_from(message)
        if number <= self._last_message:
            return False
        self._is_idle.clear()
        self._last_message = number
        self._seen = {call for call in self._seen if call >= floor}
        try:
            arrived = [*frames(message[MESSAGE.size :])]
        except (ValueError, struct.error) as error:
            self._refuse(f"it sent an invalid message: {error}")
            arrived = []
        self._frames_left.append(max(1, len(arrived)))
        if not arrived:
            self._frame_taken()
        for kind, call, method, content in arrived:
            if kind == AGAIN:
                self._take_repetition(call, method, content, floor)
            else:
                self._take_frame(kind, call, method, content)
        return True

    def _take_repetition(self, call: int, method: int, content: bytes, floor: int) -> None:
        end = 1 + content[0]
        # One whose answer was on its way when it was repeated is below the floor.
        is_ours = content[1:end] == self._token and call >= floor
        self._take_frame(CALL if is_ours else AGAIN, call, method, content[end:])

    def _take_frame(self, kind: int, call: int, method: int, content: bytes) -> None:
        if kind == HELLO:
            self._take_hello(content)
        elif kind == BYE:
            self.is_left = True
        elif self._error is None and kind in {CALL, NOTICE} and call not in self._seen:
            if call:
                self._seen.add(call)
            self._take(kind, call, method, content)
            return
        self._frame_taken()

    def _take_hello(self, content: bytes) -> None:
        try:
            hello = msgspec.msgpack.decode(content, type=Hello)
        except msgspec.MsgspecError:
            hello = Hello("something else", None)
        if hello.protocol != PROTOCOL:
            self._refuse(f"it speaks {hello.protocol!r}, the frontier {PROTOCOL!r}")
        else:
            self._on_hello(hello)

    def _refuse(self, why: str) -> None:
        message = f"the frontier of the crawl does not understand this process: {why}"
        self._send(ERROR, 0, 0, msgspec.msgpack.encode(("CrawlError", message)))
        self.end()

    def _frame_taken(self) -> None:
        self._frames_left[0] -= 1
        while self._frames_left and not self._frames_left[0]:
            self._frames_left.popleft()
            self._on_message_taken()
        if not self._frames_left:
            self._is_idle.set()

    def _break_off(self, why: str) -> None:
        self._refuse(why)
        self._frame_taken()

    def _send(
        self, kind: int, call: int, method: int, message: bytes, is_urgent: bool = True
    ) -> None:
        self._push(frame(kind, call, method, message))

    def _flush(self) -> None:
        """Do nothing: everything was given away already."""


class QueueClient:
    """The end of a process that has joined: it makes calls, and makes them again where needed."""

    def __init__(
        self, contracts: Sequence[Contract[Any]], queues: MessageQueues, hello: Hello
    ) -> None:
        methods = [method for contract in contracts for method in contract.methods.values()]
        self._numbers = {id(method): number for number, method in enumerate(methods)}
        self._queues = queues
        self._encode = msgspec.msgpack.Encoder().encode
        self._loop = asyncio.get_running_loop()
        self._outbox: list[bytes] = [frame(HELLO, 0, 0, self._encode(hello))]
        self._has_more = asyncio.Event()
        self._has_more.set()
        self._is_sent = asyncio.Event()
        self._calls: dict[int, tuple[Method, bytes, asyncio.Future[Any]]] = {}
        """The calls that were not answered, in their order."""
        self._last_call = 0
        self._last_message = 0
        self._frontier = b""
        """The token of the frontier that said hello last."""
        self._error: BaseException | None = None
        self.over: asyncio.Future[str] = self._loop.create_future()
        """What ended the crawl, when that is known."""
        self._tasks = [asyncio.create_task(work) for work in (self._push(), self._pull())]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def call(self, method: Method, arguments: msgspec.Struct) -> Any:  # noqa: ANN401
        """Make a call, and return its result or raise its error."""
        if self._error is not None:
            raise self._error
        self._last_call = number = self._last_call % 0xFFFFFFFF + 1  # 0 is that of notices
        answer = self._loop.create_future()
        content = self._encode(arguments)
        self._calls[number] = method, content, answer
        self._post(frame(CALL, number, self._numbers[id(method)], content))
        try:
            return await answer
        finally:
            self._calls.pop(number, None)

    def notify(self, method: Method, *arguments: object) -> None:
        """Make a call without waiting for its result."""
        message = self._encode(method.arguments(*arguments))
        self._post(frame(NOTICE, 0, self._numbers[id(method)], message))

    async def close(self, within_s: float) -> None:
        """Leave: send what is left, if that goes within that time."""
        self._post(frame(BYE, 0, 0, b""))
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._is_sent.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- what is sent ----------------------------------------------------------------------------

    def _post(self, sent: bytes) -> None:
        self._outbox.append(sent)
        self._is_sent.clear()
        self._has_more.set()

    async def _push(self) -> None:
        while True:
            await self._has_more.wait()
            await asyncio.sleep(0)  # what is said in one turn of the loop travels together
            posted = len(self._outbox)
            self._last_message += 1
            floor = next(iter(self._calls), self._last_call + 1)
            head = MESSAGE.pack(self._last_message, floor)
            is_whole = await self._queues.send(
                self._last_message, head + b"".join(self._outbox[:posted])
            )
            del self._outbox[:posted]
            if not self._outbox:
                self._has_more.clear()
                self._is_sent.set()
            if not is_whole:
                self._call_again()

    def _call_again(self) -> None:
        """Make all calls again that were not answered, for the frontier that said hello last."""
        token = bytes([len(self._frontier)]) + self._frontier
        for number, (method, content, _) in self._calls.items():
            self._post(frame(AGAIN, number, self._numbers[id(method)], token + content))

    # -- what arrives ----------------------------------------------------------------------------

    async def _pull(self) -> None:
        while True:
            messages = await self._queues.receive()
            for message in messages:
                for kind, call, _, content in frames(message):
                    self._take(kind, call, content)
            if messages:
                await self._queues.drop(len(messages))

    def _take(self, kind: int, call: int, content: bytes) -> None:
        if kind == HELLO and content != self._frontier:
            self._frontier = content
            self._call_again()
        elif kind == OVER and not self.over.done():
            self.over.set_result(content.decode())
        elif kind == ERROR and not call:
            _, text = msgspec.msgpack.decode(content, type=tuple[str, str])
            raise CrawlError(text)
        elif kind in {RESULT, ERROR} and call in self._calls:
            method, _, answer = self._calls.pop(call)
            give_answer(answer, kind, method, content)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            self._error = self._error or ChannelClosedError("the crawl was left")
        else:
            self._error = self._error or task.exception()
        error = self._error or ChannelClosedError("the crawl was left")
        for _, _, answer in self._calls.values():
            if not answer.done():
                answer.set_exception(error)
                answer.exception()
        if not self.over.done():
            self.over.set_exception(error)
            self.over.exception()
        for running in self._tasks:
            running.cancel()
