"""The client that carries the calls of one process to the function library on the server.

What is called while a round trip is under way goes out together with the next one. A call that
was on its way when the connection broke is repeated as such: the server keeps its last answers, so
that nothing happens twice. A server that does not have the library gets it first.
"""

import asyncio
import logging
import random
import re
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from redis import exceptions
from redis.asyncio.connection import AbstractConnection

from gossamer.errors import CrawlError
from gossamer.stores.away import PATIENCE_S, given_up, trying_again
from gossamer.stores.redis import library
from gossamer.stores.redis.nodes import ANSWER_S
from gossamer.stores.redis.passing import ELSEWHERE, LOST, in_words, is_passing

log = logging.getLogger("gossamer.store")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 5.0
AT_ONCE = 128
"""How many calls go out together: other clients of the server want to be served as well."""

_RUN_ID = re.compile(rb"^run_id:([0-9a-f]{12})", re.MULTILINE)
"""The beginning of it, as much as a double holds without a loss."""

_pack = msgspec.msgpack.Encoder().encode


class Call(msgspec.Struct, eq=False):
    """One call that waits for its answer."""

    step: str
    arguments: Sequence[bytes]
    asked_at: float
    """By the caller's clock."""
    number: int
    answer: asyncio.Future[bytes]
    give_up_at: float
    """By the clock of the event loop."""
    is_repeated: bool = False
    """It was sent on a connection that broke, and was perhaps carried out."""
    has_loaded: bool = False
    """The library was loaded for it, and must be there."""
    connection: int = 0
    """The number of the connection on which it was asked for."""
    elsewhere: Callable[[], Sequence[bytes]] | None = None
    """The arguments for a server that perhaps does not know what that of this connection knew."""


class ScriptClient:
    """A client with one connection, used by one event loop."""

    def __init__(
        self,
        connection: AbstractConnection,
        prefix: str,
        patience_s: float = PATIENCE_S,
        tell: Callable[[str], None] = log.warning,
        find: Callable[[], Awaitable[AbstractConnection]] | None = None,
    ) -> None:
        self._connection = connection
        self._find = find
        """Finds the server that holds the crawl now, if it may move."""
        self._prefix = prefix.encode()
        self._patience_s = patience_s
        self._tell = tell
        self._client = secrets.token_hex(8)
        self._waiting: deque[Call] = deque()
        self._round: asyncio.Task[None] | None = None
        self._calls = 0
        self._pause_s = 0.0
        self._server = 0
        """Which server this connection leads to; 0: it did not say."""
        self._must_load = False
        """The server said that it does not have the library."""
        self.rules = b""
        """The rules of the crawl, which every step gets first."""
        self.round_trips = 0
        self.connections = 0
        """How often it has connected. A server that has lost its last seconds is always reached
        over another connection: what was learnt on one holds there alone."""

    async def ask(
        self,
        step: str,
        asked_at: float,
        *arguments: bytes,
        elsewhere: Callable[[], Sequence[bytes]] | None = None,
    ) -> bytes:
        """Return the answer of a step; `elsewhere` as in `Call`."""
        loop = asyncio.get_running_loop()
        self._calls += 1
        answer: asyncio.Future[bytes] = loop.create_future()
        give_up_at = loop.time() + self._patience_s
        call = Call(step, arguments, asked_at, self._calls, answer, give_up_at)
        call.connection, call.elsewhere = self.connections, elsewhere
        self._waiting.append(call)
        if self._round is None:
            self._round = loop.create_task(self._go())
        return await answer

    async def close(self) -> None:
        """Let go of the connection; what still waits is not carried out."""
        if self._round is not None:
            self._round.cancel()
            await asyncio.gather(self._round, return_exceptions=True)
        for call in self._waiting:
            call.answer.cancel()
        self._waiting.clear()
        await self._connection.disconnect(nowait=True)

    async def _go(self) -> None:
        """Make round trips while something waits."""
        try:
            while self._waiting:
                if self._pause_s:
                    await asyncio.sleep(self._pause_s * random.uniform(0.5, 1.0))  # noqa: S311
                count = min(len(self._waiting), AT_ONCE)
                calls = [self._waiting.popleft() for _ in range(count)]
                await self._carry([call for call in calls if not call.answer.done()])
        finally:
            self._round = None

    async def _carry(self, calls: list[Call]) -> None:
        """Carry calls out; those that must be repeated go first the next time."""
        trouble: Exception | None = None
        try:
            await self._send(calls)
            async with asyncio.timeout(ANSWER_S):
                for call in calls:
                    trouble = self._hand_over(call, await self._reply()) or trouble
        except LOST as error:
            trouble = error
            for call in calls:
                call.is_repeated = True
            await self._connection.disconnect(nowait=True)
        except BaseException as error:
            _abandon(calls, error)
            await self._connection.disconnect(nowait=True)
            if not isinstance(error, Exception):
                raise
        left = [call for call in calls if not call.answer.done()]
        if trouble is None:
            self._pause_s = 0.0
        else:
            if isinstance(trouble, ELSEWHERE):
                await self._connection.disconnect(nowait=True)
            self._pause(in_words(trouble), left)
        self._waiting.extendleft(reversed([call for call in left if not call.answer.done()]))

    async def _send(self, calls: Sequence[Call]) -> None:
        if not self._connection.is_connected:
            if self._find is not None:
                try:
                    self._connection = await self._find()
                except exceptions.ResponseError as error:  # a cluster may heal in a moment
                    raise exceptions.ConnectionError(in_words(error)) from error
            await self._connection.connect()  # type: ignore[no-untyped-call]
            self.connections += 1
            self._server = await self._identify()
        if self._must_load:
            await self._load(calls)
        commands = self._connection.pack_commands([self._command(call) for call in calls])
        self.round_trips += 1
        try:
            await self._connection.send_packed_command(commands)
        except RuntimeError as error:  # how uvloop says that the other side has hung up
            raise exceptions.ConnectionError(str(error)) from error

    async def _identify(self) -> int:
        """Return a number that the server has had since it was started, and no other server has."""
        about = await self._command_alone("INFO", "server")
        if isinstance(about, Exception):
            raise exceptions.ConnectionError(str(about)) from about
        found = _RUN_ID.search(about if isinstance(about, bytes) else b"")
        return int(found[1], 16) if found else 0

    async def _load(self, calls: Sequence[Call]) -> None:
        """Load the library into the server."""
        reply = await self._command_alone("FUNCTION", "LOAD", library.source())
        if isinstance(reply, Exception) and not library.is_loaded(reply):
            if is_passing(reply):
                raise exceptions.ConnectionError(in_words(reply)) from reply
            raise CrawlError(
                _refused(reply)
                or f"the store refused FUNCTION LOAD ({_one_line(reply)}): give its user the right "
                "to load and call functions (+function|load +fcall)"
            ) from reply
        self._must_load = False
        for call in calls:
            call.has_loaded = True

    def _command(self, call: Call) -> tuple[bytes | str, ...]:
        asked = _pack((call.asked_at, self._client, call.number, call.is_repeated, self._server))
        if call.elsewhere is not None and call.connection != self.connections:
            call.arguments, call.elsewhere = call.elsewhere(), None
        function = library.function_name(call.step)
        return ("FCALL", function, "1", self._prefix, self.rules, asked, *call.arguments)

    async def _command_alone(self, *command: str) -> object:
        await self._connection.send_command(*command)
        async with asyncio.timeout(ANSWER_S):
            return await self._reply()

    async def _reply(self) -> object:
        try:
            return await self._connection.read_response(disable_decoding=True)
        except exceptions.ResponseError as error:
            return error

    def _hand_over(self, call: Call, reply: object) -> Exception | None:
        """Hand an answer over; return what is wrong if the call is to be repeated later."""
        if isinstance(reply, Exception) and library.is_missing(reply):
            self._must_load = True
            return reply if call.has_loaded else None
        if isinstance(reply, Exception) and is_passing(reply):
            return reply
        if not call.answer.done():
            if isinstance(reply, bytes):
                call.answer.set_result(reply)
            else:
                failed = f"the store failed in the step {call.step} ({_one_line(reply)})"
                call.answer.set_exception(CrawlError(_refused(reply) or failed))
        return None

    def _pause(self, trouble: str, left: Sequence[Call]) -> None:
        """Pause before the next try, longer each time, and give up what has been tried enough."""
        now = asyncio.get_running_loop().time()
        if not self._pause_s:
            self._tell(trying_again(trouble))
        self._pause_s = min(max(2 * self._pause_s, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        for call in left:
            if call.give_up_at <= now:
                call.answer.set_exception(given_up(trouble, self._patience_s))


def _abandon(calls: Sequence[Call], error: BaseException) -> None:
    for call in calls:
        if isinstance(error, asyncio.CancelledError):
            call.answer.cancel()
        elif not call.answer.done():
            call.answer.set_exception(error)


def _refused(reply: object) -> str | None:
    """Return what to do about a server that takes no writes; None if that is not the trouble."""
    words = _one_line(reply)
    if isinstance(reply, exceptions.OutOfMemoryError) or words.startswith("MISCONF"):
        return f"the store accepts no more data ({words}): give it room, then run the command again"
    return None


def _one_line(reply: object) -> str:
    return " ".join(str(reply).split())[:300]
