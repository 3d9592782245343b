"""A blocking connection to the server that holds a crawl, and what its errors mean.

Commands are packed and sent together, and their answers read together: one round trip. A connection
that is lost is made again, in growing pauses, at the server that has the crawl by then: the primary
that Sentinels name, or the node of a cluster.
"""

import logging
import os
import random
import select
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, TypeAlias, TypeVar

import hiredis
import msgspec
from redis import ConnectionPool, Redis, exceptions
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress, Sentinels
from gossamer.stores.rows import ReconnectDeadline, StoreAwayError

log = logging.getLogger("gossamer.store")

Word: TypeAlias = bytes | str | int | float
Command: TypeAlias = Sequence[Word]
Result = TypeVar("Result")

MOST_STEPS: Final = 5
"""How many servers are asked, each of which names the next."""
CONNECT_S: Final = 5.0
"""How long a server may take for its first answers."""
ANSWER_S: Final = 30.0
"""How long the server may take for the answers of one round trip."""
SENTINEL_S: Final = 2.0
"""How long a Sentinel may take for its answer: another one knows the same."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 2.0
SLOW_S: Final = 0.5
"""After how long without an answer nothing else is asked for meanwhile."""
READ_SIZE: Final = 1 << 18
ERRORS: Final = (exceptions.RedisError, OSError)
"""What goes wrong with a server."""
NOTHING_GOES: Final = "without the store nothing can be crawled"
IS_IT_THERE: Final = "check that the server runs and that its address is right"
ELSEWHERE: Final = (exceptions.AskError, exceptions.ReadOnlyError, exceptions.ClusterDownError)
"""The errors of a server that does not, or no longer, hold the crawl; nothing was carried out.
Its address, or the cluster, may lead to another by now."""
PASSING: Final = ("BUSY", "NOREPLICAS")
"""How other errors begin that may pass in a moment; nothing was carried out."""
LOST: Final = (exceptions.ConnectionError, exceptions.TimeoutError, OSError, RuntimeError)
"""uvloop says with the last that the other side has hung up."""


# -- which server it is ----------------------------------------------------------------------------


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


# -- the connection --------------------------------------------------------------------------------


def pack(command: Command) -> bytes:
    """Return a command as it is sent."""
    packed: bytes = hiredis.pack_command(tuple(command))  # type: ignore[arg-type]
    return packed


class Backoff:
    """The waiting for a server that is away: in growing pauses, told once, and not for ever."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._deadline = ReconnectDeadline(tell, clock)
        self._pause_s = FIRST_PAUSE_S
        self.is_away = False
        """Whether the server is waited for."""

    def pause_after(self, error: CrawlError) -> float:
        """Return for how long to pause before the next attempt; raise an error that stays."""
        if not isinstance(error, StoreAwayError):
            raise error
        self.is_away = True
        self._deadline.check(error)
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, LONGEST_PAUSE_S)
        return pause_s * random.uniform(0.5, 1.0)  # noqa: S311

    def reset(self) -> None:
        """Note that the server answers."""
        self._deadline.reset()
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
        self._backoff = Backoff(tell, clock)
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
        return self._backoff.is_away

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
                pause_s = self._backoff.pause_after(crawl_error(error))
                if self._is_closing.wait(pause_s):
                    raise CrawlError(f"the store was left while it was away ({error})") from error
            else:
                self._backoff.reset()
                return result

    def ask_one(self, *command: Word) -> Any:  # noqa: ANN401
        """Return the answer of a command that may be carried out twice."""
        return self.ask(command)[0]

    def send(self, *commands: Command, same: bool = False) -> list[Any]:
        """Send commands and return their answers; raise the first that is an error."""
        return self.send_packed([*map(pack, commands)], same=same)

    def send_packed(self, commands: Sequence[bytes], *, same: bool = False) -> list[Any]:
        """Do the same with commands that are packed."""
        answers = self.answers(commands, same=same)
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

    def answers(self, commands: Sequence[bytes], *, same: bool = False) -> list[Any]:
        """Send packed commands and return their answers, errors as well, but for those that pass.

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
            connection.send_packed_command([b"".join(commands)])  # type: ignore[no-untyped-call]
            while len(answers) < len(commands):
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


# -- what errors mean ------------------------------------------------------------------------------


class ServerFinding(msgspec.Struct, frozen=True):
    """One thing about a server that is not as it should be."""

    severity: Literal["refuse", "warn"]
    what: str
    why: str
    """What it costs."""
    remedy: str
    passing: bool = False
    """It may pass in a moment: worth waiting for."""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}; {self.remedy}"


def is_passing(error: Exception) -> bool:
    """Tell whether an error in the middle of a crawl may pass in a moment."""
    may_be_elsewhere = isinstance(error, (*LOST, *ELSEWHERE, exceptions.TryAgainError))
    return may_be_elsewhere or str(error).startswith(PASSING)


def in_short(error: Exception) -> str:
    """Return what went wrong, for whoever waits until it passes."""
    if isinstance(error, exceptions.AskError):  # or MOVED, which it includes
        return "another node of the cluster has it now"
    return str(error) or type(error).__name__


def describe_error(error: Exception) -> str:
    """Return a sentence about an error in the middle of a crawl."""
    message = " ".join(str(error).split())[:300]
    if isinstance(error, exceptions.OutOfMemoryError):
        what, remedy = "has no memory left", "raise its maxmemory"
    elif message.startswith("MISCONF"):
        what, remedy = "cannot save its data", "give its disk room"
    else:
        return f"the store refused a command ({message or type(error).__name__})"
    return f"the store {what} ({message}): {remedy}, then run the same command again to continue"


def crawl_error(error: Exception) -> CrawlError:
    """Return an error in the middle of a crawl for whoever asked; a StoreAwayError passes."""
    message = describe_error(error)
    return StoreAwayError(message, in_short(error)) if is_passing(error) else CrawlError(message)


def first_error(error: Exception, address: RedisAddress, patience_s: float) -> CrawlError:
    """Return an error in the first commands to a server; a StoreAwayError passes."""
    finding = explain(error, address, patience_s)
    message = str(finding)
    return StoreAwayError(message, finding.what) if finding.passing else CrawlError(message)


def explain(error: Exception, address: RedisAddress, patience_s: float) -> ServerFinding:
    """Return what an error in the first commands to a server means."""
    message = " ".join(str(error).split())
    if address.password:  # some servers quote what they did not understand
        message = message.replace(address.password, "***")
    match error:
        case exceptions.BusyLoadingError():
            return _refusal("the server is still loading its data", "wait", passing=True)
        case exceptions.AuthenticationError():
            return _no_entry(message, address)
        case exceptions.ResponseError():
            return _denied(error, message, address)
        case TimeoutError() | exceptions.TimeoutError():
            remedy = IS_IT_THERE + (", and whether it speaks TLS" if address.tls else "")
            what = f"{address.place} did not answer within {patience_s:g} s"
            return _refusal(what, remedy, passing=True)
        case exceptions.ConnectionError() | OSError():
            return _no_connection(error, message, address)
    what = f"what answers at {address.place} is not a Redis"
    maybe_tls = "" if address.tls else ", and whether it wants TLS (rediss://)"
    return _refusal(what, f"check host and port{maybe_tls}")


def _refusal(what: str, remedy: str, *, passing: bool = False) -> ServerFinding:
    return ServerFinding("refuse", what, NOTHING_GOES, remedy, passing)


def _no_entry(message: str, address: RedisAddress) -> ServerFinding:
    if address.password is None:
        return _refusal(
            "the server wants a password and the address has none",
            "write it as redis://:password@host, preferably in the variable GOSSAMER_STORE",
        )
    if "without any password configured" in message:
        return _refusal(
            "the address has a password and the server has none",
            "set one on the server (requirepass or ACL SETUSER), or leave it out",
        )
    who = f"user {address.user}" if address.user else "default user"
    return _refusal(
        f"the server did not accept the password of the {who}",
        "compare it with the server's; in a URL, characters other than letters and digits must be"
        " percent-encoded",
    )


def _denied(error: Exception, message: str, address: RedisAddress) -> ServerFinding:
    if isinstance(error, exceptions.NoPermissionError):
        return _refusal(f"the user may not use INFO ({message})", "ACL SETUSER … +info")
    if "protected mode" in message:
        return _refusal(
            f"{address.place} accepts connections from its own machine only (protected mode)",
            "set a password on the server",
        )
    if "DB index" in message:
        return _refusal(f"the server has no database {address.db}", "use 0, or leave it out")
    return _refusal(f"the server refused the first command ({message})", "check its settings")


def _no_connection(error: Exception, message: str, address: RedisAddress) -> ServerFinding:
    place = address.place
    cause = error.__context__ or error
    match cause:
        case ssl.SSLCertVerificationError():
            return _refusal(
                f"the certificate of {place} is not trusted ({cause.verify_message})",
                "name the file of its authority in the variable SSL_CERT_FILE",
            )
        case ssl.SSLError():
            return _refusal(f"{place} does not speak TLS", "write redis://, or set up TLS there")
    if isinstance(cause, ConnectionResetError | BrokenPipeError) or "closed" in message:
        return _refusal(
            f"{place} closed the connection at once",
            "check that it is a Redis, and whether it wants TLS (rediss://)",
            passing=True,
        )
    number = cause.errno or 0 if isinstance(cause, OSError) else 0
    # The system's message are shorter than the libraries'.
    reason = os.strerror(number) if number > 0 else getattr(cause, "strerror", None) or message
    return _refusal(f"{place} cannot be reached ({reason})", IS_IT_THERE, passing=True)
