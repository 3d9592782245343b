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
import msgspec
from redis import ConnectionPool, Redis, exceptions
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from gossamer.model.errors import CrawlError
from gossamer.stores.reconnect import Absence, StoreAwayError
from gossamer.stores.redis.address import RedisAddress, Sentinels
from gossamer.stores.redis.no_answer import crawl_error, first_error, is_passing

MOST_STEPS = 5
CONNECT_S = 5.0
"""How long a server may take for its first answers."""
ANSWER_S = 30.0
"""How long the server may take for the answers of one round trip."""
SENTINEL_S = 2.0
"""How long a Sentinel may take for its answer: another one knows the same."""


def settings(answer_s: float = ANSWER_S) -> dict[str, Any]:
    """Return how every connection is made: nothing is tried again behind our back."""
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": min(CONNECT_S, answer_s),
        "socket_timeout": answer_s,
        "protocol": 2,  # servers that are too old know no other
    }


def connect(address: RedisAddress, answer_s: float = CONNECT_S) -> Redis:
    """Return a client for the first commands to a server; it connects when it is first used."""
    text = {"decode_responses": True, "encoding_errors": "replace"}
    return Redis.from_url(address.url(), **settings(answer_s), **text)


class Nodes:
    """The servers that are known, at first the one whose address was given."""

    def __init__(self, address: RedisAddress) -> None:
        self._known = [address]

    def find(self, name: str) -> RedisAddress:
        """Return the server that holds a key; raise the error of the last one if none answers."""
        trouble: Exception | None = None
        for address in [*self._known]:
            try:
                node, others = _follow(locate(address), name)
            except (exceptions.RedisError, OSError) as error:
                trouble = error
                self._known.remove(address)  # the next time it is asked last
                self._known.append(address)
                continue
            if address.sentinels is None:  # else they alone know who leads
                self._known += [other for other in others if other not in self._known]
            return node
        raise trouble or exceptions.ConnectionError("no server is known")


def locate(address: RedisAddress) -> RedisAddress:
    """Return the server itself: the primary, where the address is that of Sentinels."""
    if address.sentinels is None:
        return address
    host, port = _find_primary(address.sentinels, tls=address.tls)
    return msgspec.structs.replace(address, host=host, port=port, sentinels=None)


def _find_primary(sentinels: Sentinels, *, tls: bool) -> tuple[str, int]:
    """Return where the primary is; raise the error of the first Sentinel if none knows."""
    trouble: Exception | None = None
    user, password = sentinels.user, sentinels.password
    for host, port in sentinels.places:
        sentinel = RedisAddress(host=host, port=port, user=user, password=password, tls=tls)
        try:
            with connect(sentinel, SENTINEL_S) as client:
                return _ask_sentinel(client, sentinels.service)
        except (exceptions.RedisError, OSError) as error:
            trouble = trouble or error
    assert trouble is not None, "an address names at least one Sentinel"
    raise trouble


def _ask_sentinel(client: Redis, service: str) -> tuple[str, int]:
    """Return where the primary is, unless this Sentinel takes it for dead.

    One that is cut off from the others would go on to name the primary of old.
    """
    try:
        state: Any = client.sentinel_master(service, return_responses=True)
    except exceptions.AuthenticationError as error:
        raise exceptions.ConnectionError(
            "a Sentinel wants another password: give theirs as ?sentinel_password=…"
        ) from error
    except exceptions.ResponseError as error:
        raise exceptions.ConnectionError(f"a Sentinel does not know {service}: {error}") from error
    if state["is_sdown"] or state["is_odown"] or not state["is_master"]:
        raise exceptions.ConnectionError(f"the primary {service} is down, and no other leads yet")
    return str(state["ip"]), int(state["port"])


def _follow(address: RedisAddress, name: str) -> tuple[RedisAddress, list[RedisAddress]]:
    """Follow servers, each of which may name the next; return the last, and all of its cluster.

    While a slot is moved, both nodes refuse the name of a key that is not there.
    """
    for _ in range(MOST_STEPS):
        with connect(address) as client:
            try:
                client.exists(name)
            except exceptions.MovedError as moved:
                host = (
                    moved.host or address.host
                )  # a node that does not know its name leaves it out
                address = msgspec.structs.replace(address, host=host, port=moved.port)
            except exceptions.AskError:
                return address, [address]
            else:
                return address, [address, *_others(client, address)]
    raise exceptions.ConnectionError("the nodes of the cluster do not agree who holds the crawl")


def _others(client: Redis, address: RedisAddress) -> list[RedisAddress]:
    """Return the nodes of the cluster; none if it is no cluster, or does not tell."""
    try:
        slots: Any = client.execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
    except exceptions.ResponseError:
        return []
    places = {(node[0], node[1]) for row in slots for node in row[2:] if node[0]}
    return [msgspec.structs.replace(address, host=host, port=port) for host, port in sorted(places)]


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
