"""A blocking connection to the server that holds a crawl.

Commands are packed and sent together, and their answers read together: one round trip. A connection
that is lost is made again, in growing pauses, at the server that has the crawl by then.
"""

import asyncio
import random
import select
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

import hiredis
from redis import ConnectionPool, exceptions
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from gossamer.errors import CrawlError
from gossamer.stores.away import Absence, StoreAwayError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.no_answer import explain
from gossamer.stores.redis.nodes import ANSWER_S, CONNECT_S, Nodes
from gossamer.stores.redis.passing import in_words, is_passing

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 5.0
SLOW_S = 0.5
"""After how long without an answer nothing else is asked for meanwhile."""
READ_SIZE = 1 << 18
ERRORS = (exceptions.RedisError, OSError)
"""What goes wrong with a server."""

Word: TypeAlias = bytes | str | int | float
Command: TypeAlias = Sequence[Word]
Result = TypeVar("Result")


def pack(command: Command) -> bytes:
    """Return a command as it is sent."""
    packed: bytes = hiredis.pack_command(tuple(command))  # type: ignore[arg-type]
    return packed


def complaint(error: Exception) -> str:
    """Return a sentence about an error that does not pass."""
    words = " ".join(str(error).split())[:300]
    if isinstance(error, exceptions.OutOfMemoryError):
        return (
            f"the store has no memory left ({words}): raise its maxmemory, then run the same "
            "command again to continue"
        )
    if words.startswith("MISCONF"):
        return (
            f"the store cannot save its data ({words}): give its disk room, then run the same "
            "command again to continue"
        )
    return f"the store refused a command ({words or type(error).__name__})"


class BlockingLink:
    """A connection that is used by one thread at a time."""

    def __init__(
        self,
        address: RedisAddress,
        key: str,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        nodes: Nodes | None = None,
    ) -> None:
        """Take a key that says which node of a cluster it is, and what is told about waits.

        The nodes are those that are known already.
        """
        self._address = address
        self._nodes = nodes or Nodes(address)
        self._key = key
        self._absence = Absence(tell, clock)
        self._connection: AbstractConnection | None = None
        self._poll = select.poll()
        self._was_lost = False
        self._is_closing = threading.Event()
        self.is_away = False
        """Whether the server is waited for."""
        self._asked_at: float | None = None
        """Since when an answer is waited for."""
        self.round_trips = 0

    def open(self) -> None:
        """Connect; a CrawlError says at once why that does not go."""
        try:
            self._connect()
        except ERRORS as error:
            words = str(explain(error, self._address, CONNECT_S))
            if is_passing(error) and not isinstance(error, exceptions.AuthenticationError):
                raise StoreAwayError(words, in_words(error)) from error
            raise CrawlError(words) from error

    def give_up(self) -> None:
        """Have what waits for the server, or would, give up."""
        self._is_closing.set()

    def close(self) -> None:
        """Let go of the connection; what waits for the server gives up."""
        self.give_up()
        self.drop()

    def drop(self) -> None:
        """Let go of the connection; the next round trip makes another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._was_lost = True
            connection.disconnect()  # type: ignore[no-untyped-call]

    def is_lost(self) -> bool:
        """Tell whether the server has hung up, or lets wait for long: whoever asked would wait."""
        asked_at = self._asked_at
        if self.is_away or (asked_at is not None and time.monotonic() - asked_at > SLOW_S):
            return True
        if asked_at is not None or self._connection is None:
            return self._was_lost
        # Nothing was asked, so there is nothing to read but the end.
        return bool(self._poll.poll(0))

    def ask(self, *commands: Command) -> list[Any]:
        """Return the answers of commands that may be carried out twice."""
        return self.patiently(lambda: self.round_trip(b"".join(map(pack, commands)), len(commands)))

    def patiently(self, attempt: Callable[[], Result]) -> Result:
        """Return what an attempt does that is made until the server answers, or was long away."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                result = attempt()
            except ERRORS as error:
                self.drop()
                if not is_passing(error):
                    raise CrawlError(complaint(error)) from error
                self.is_away = True
                self._absence.note(StoreAwayError(complaint(error), in_words(error)))
                if self._is_closing.wait(pause_s * random.uniform(0.5, 1.0)):  # noqa: S311
                    raise CrawlError(f"the store was left while it was away ({error})") from error
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                self.is_away = False
                self._absence.end()
                return result

    def round_trip(self, packed: bytes, count: int) -> list[Any]:
        """Send commands and return their answers; raise the first that is an error."""
        answers = self.answers(packed, count)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def answers(self, packed: bytes, count: int, *, same: bool = False) -> list[Any]:
        """Send commands and return their answers, errors as well, but for those that pass.

        The same connection is one on which something was said before that still counts.
        """
        if self._connection is None:
            if same:
                raise exceptions.ConnectionError("the connection was closed")
            self._connect()
        connection = self._connection
        assert connection is not None, "it has just been made"
        self.round_trips += 1
        self._asked_at = time.monotonic()
        answers: list[Any] = []
        try:
            connection.send_packed_command([packed])  # type: ignore[no-untyped-call]
            while len(answers) < count:
                try:
                    answer: Any = connection.read_response(disable_decoding=True)
                except exceptions.ResponseError as error:
                    answer = error
                answers.append(answer)
        except BaseException:
            self.drop()  # whoever comes next must not read the rest
            raise
        finally:
            self._asked_at = None
        for answer in answers:
            if isinstance(answer, Exception) and is_passing(answer):
                self.drop()  # another server may have the crawl
                raise answer
        return answers

    def _connect(self) -> None:
        address = self._find()
        pool = ConnectionPool.from_url(
            address.url(),
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=CONNECT_S,
            socket_timeout=ANSWER_S,
            protocol=2,  # servers that are too old know no other
            socket_read_size=READ_SIZE,
        )
        connection = pool.make_connection()
        assert isinstance(connection, AbstractConnection), "it is no client of a cache"
        try:
            connection.connect()  # type: ignore[no-untyped-call]
        except BaseException:
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        self._poll = select.poll()
        sock: Any = connection._sock  # noqa: SLF001 -- nothing else tells that the server has hung up
        self._poll.register(sock, select.POLLIN)
        self._connection = connection
        self._was_lost = False

    def _find(self) -> RedisAddress:
        """Return the server that has the crawl now.

        In a thread of its own: the one that asks may have an event loop that is running.
        """

        async def find() -> RedisAddress:
            async with asyncio.timeout(ANSWER_S):
                return await self._nodes.find(self._key)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(find())).result()
