"""A blocking connection to the server that holds a crawl.

Commands are packed and sent together, and their answers read together: one round trip. A connection
that is lost is made again, in growing pauses, at the server that has the crawl by then.
"""

import logging
import random
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeAlias, TypeVar

import hiredis
from redis import ConnectionPool, exceptions
from redis.connection import AbstractConnection

from gossamer.errors import CrawlError
from gossamer.stores.away import Absence, StoreAwayError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.no_answer import crawl_error, first_error, is_passing
from gossamer.stores.redis.nodes import CONNECT_S, Nodes, settings

log = logging.getLogger("gossamer.store")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 2.0
SLOW_S: Final = 0.5
"""After how long without an answer nothing else is asked for meanwhile."""
READ_SIZE: Final = 1 << 18
ERRORS: Final = (exceptions.RedisError, OSError)
"""What goes wrong with a server."""

Word: TypeAlias = bytes | str | int | float
Command: TypeAlias = Sequence[Word]
Result = TypeVar("Result")


def pack(*commands: Command) -> bytes:
    """Return commands as they are sent."""
    return b"".join(map(hiredis.pack_command, map(tuple, commands)))  # type: ignore[arg-type]


class Patience:
    """The waiting for a server that is away: in growing pauses, told once, and not for ever."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._absence = Absence(tell, clock)
        self._pause_s = FIRST_PAUSE_S
        self.is_away = False
        """Whether the server is waited for."""

    def after(self, error: CrawlError) -> float:
        """Return for how long to pause before the next attempt; raise an error that stays."""
        if not isinstance(error, StoreAwayError):
            raise error
        self.is_away = True
        self._absence.note(error)
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_PAUSE_S)
        return pause_s * random.uniform(0.5, 1.0)  # noqa: S311

    def end(self) -> None:
        """Note that the server answers."""
        self._absence.end()
        self._pause_s, self.is_away = FIRST_PAUSE_S, False


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
        self.address = address
        self._nodes = nodes or Nodes(address)
        self._key = key
        self._patience = Patience(tell, clock)
        self._connection: AbstractConnection | None = None
        self._poll = select.poll()
        self._was_lost = False
        self._is_closing = threading.Event()
        self._asked_at: float | None = None
        """Since when an answer is waited for."""
        self.round_trips = 0

    def open(self) -> None:
        """Connect; a CrawlError says at once why that does not go."""
        try:
            self._connect()
        except ERRORS as error:
            raise first_error(error, self.address, CONNECT_S) from error

    @property
    def is_away(self) -> bool:
        """Whether the server is waited for."""
        return self._patience.is_away

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
        return self.patiently(lambda: self.send(*commands))

    def patiently(self, attempt: Callable[[], Result]) -> Result:
        """Return what an attempt does that is made until the server answers, or was long away."""
        while True:
            try:
                result = attempt()
            except ERRORS as error:
                self.drop()
                pause_s = self._patience.after(crawl_error(error))
                if self._is_closing.wait(pause_s):
                    raise CrawlError(f"the store was left while it was away ({error})") from error
            else:
                self._patience.end()
                return result

    def send(self, *commands: Command, same: bool = False) -> list[Any]:
        """Send commands and return their answers; raise the first that is an error."""
        answers = self.answers(pack(*commands), len(commands), same=same)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def execute(self, *commands: Command, same: bool = False) -> list[Any] | None:
        """Have commands carried out together, and return their answers; raise the first error.

        None: what was watched before, over the same connection, has changed.
        """
        executed = self.send(("MULTI",), *commands, ("EXEC",), same=same)[-1]
        for answer in executed or ():
            if isinstance(answer, Exception):
                raise answer
        return None if executed is None else [*executed]

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
        address = self._nodes.find(self._key)
        pool = ConnectionPool.from_url(address.url(), **settings(), socket_read_size=READ_SIZE)
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


@contextmanager
def linked(address: RedisAddress, key: str) -> Iterator[BlockingLink]:
    """Give a connection to the server that has a key."""
    link = BlockingLink(address, key, log.warning)
    try:
        link.open()
        yield link
    finally:
        link.close()
