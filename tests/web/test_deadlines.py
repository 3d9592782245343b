"""Servers that make us wait: each kind of waiting has an end and a name."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from msgspec.structs import replace

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import KeepOpen, Pause, RawStep, Repeat, Reply, Web

pytestmark = pytest.mark.req("D8", "D19")

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

SLOW: dict[str, tuple[Cause, list[RawStep]]] = {
    "never a byte": (Cause.FIRST_BYTE_TIMEOUT, [KeepOpen()]),
    "a status line without end": (
        Cause.FIRST_BYTE_TIMEOUT,
        [b"HTTP/1.1 200 O", Repeat(b"K", every_s=0.05)],
    ),
    "silence in the header": (Cause.SILENCE_TIMEOUT, [HTML, KeepOpen()]),
    "silence in a field": (Cause.SILENCE_TIMEOUT, [HTML + b"X: ", Repeat(b"a", every_s=0.05)]),
    "silence before the body": (
        Cause.SILENCE_TIMEOUT,
        [HTML + b"Content-Length: 5\r\n\r\n", KeepOpen()],
    ),
    "silence in the body": (
        Cause.SILENCE_TIMEOUT,
        [HTML + b"Content-Length: 5\r\n\r\nhi", KeepOpen()],
    ),
    "a body without end": (
        Cause.TOTAL_TIMEOUT,
        [HTML + b"\r\n", Repeat(b"x" * 1_000, every_s=0.05)],
    ),
}
DRIPPING: dict[str, list[RawStep]] = {
    "a field at a time": [HTML, Repeat(b"X: a\r\n", every_s=0.1)],
    "a byte at a time": [HTML + b"\r\n", Repeat(b"x", every_s=0.1)],
    "an interim answer at a time": [Repeat(b"HTTP/1.1 100 C\r\n\r\n", every_s=0.25)],
}


@pytest.mark.parametrize("name", SLOW)
def test_each_kind_of_waiting_ends(
    name: str, web: Web, fetch: Callable[..., Response], quick: FetchOptions
) -> None:
    cause, steps = SLOW[name]
    web.site("a.test").raw("/", *steps)
    response = fetch()
    assert (response.outcome, response.cause) == (Outcome.TIMED_OUT, cause)
    assert response.body == b""
    assert response.ended - response.started < quick.total_timeout_s + 0.3


@pytest.mark.parametrize("name", DRIPPING)
def test_what_drips_is_cut_off_before_its_time_is_over(
    name: str, web: Web, fetch: Callable[..., Response], quick: FetchOptions
) -> None:
    web.site("a.test").raw("/", *DRIPPING[name])
    response = fetch(options=replace(quick, total_timeout_s=30, silence_timeout_s=0.6))
    assert (response.outcome, response.cause) == (Outcome.TIMED_OUT, Cause.TOO_SLOW)


def test_a_slow_server_that_keeps_the_deadlines_is_heard_out(
    web: Web, fetch: Callable[..., Response]
) -> None:
    steps: list[RawStep] = [Pause(0.2), HTML + b"Content-Length: 2\r\n\r\nh", Pause(0.2), b"i"]
    web.site("a.test").raw("/", *steps)
    assert fetch().body == b"hi"


@pytest.fixture
def unanswering_port() -> Iterator[int]:
    """Yield a port whose queue is full, so that the kernel answers no further connection."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(8)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield port
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_does_not_answer_is_given_up(
    scheme: str, unanswering_port: int, quick: FetchOptions
) -> None:
    async def run() -> Response:
        async with Client(quick, AddressPolicy.parse(["127.0.0.1"])) as client:
            return await client.fetch(Url(f"{scheme}://127.0.0.1:{unanswering_port}/"))

    response = asyncio.run(run())
    assert (response.outcome, response.cause) == (Outcome.TIMED_OUT, Cause.CONNECT_TIMEOUT)
    assert response.ended - response.started < quick.total_timeout_s


def test_the_tls_handshake_counts_as_connecting(quick: FetchOptions) -> None:
    async def run(port: int) -> Response:
        async with Client(quick, AddressPolicy.parse(["127.0.0.1"])) as client:
            return await client.fetch(Url(f"https://127.0.0.1:{port}/"))

    with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts, and never says a word
        response = asyncio.run(run(listener.getsockname()[1]))
    assert response.cause is Cause.CONNECT_TIMEOUT


def test_a_closed_port_is_told_at_once(quick: FetchOptions) -> None:
    async def run(port: int) -> Response:
        async with Client(quick, AddressPolicy.parse(["127.0.0.1"])) as client:
            return await client.fetch(Url(f"http://127.0.0.1:{port}/"))

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # so that nobody else comes to listen there meanwhile
        response = asyncio.run(run(closed.getsockname()[1]))
    assert response.cause is Cause.CONNECTION_REFUSED
    assert response.outcome is Outcome.CONNECTION_FAILED


def test_one_silent_server_does_not_hold_up_the_others(
    web: Web, allowed: AddressPolicy, patient: FetchOptions
) -> None:
    web.site("slow.test").raw("/", KeepOpen())
    web.site("a.test").page("/")

    async def run() -> None:
        async with Client(patient, allowed, web.dns) as client:
            slow = asyncio.create_task(client.fetch(Url("http://slow.test/")))
            for _ in range(20):
                assert (await client.fetch(Url("http://a.test/"))).outcome is Outcome.FETCHED
            assert not slow.done()
            slow.cancel()
            await asyncio.wait([slow])

    asyncio.run(run())


def test_waiting_for_a_free_connection_is_not_held_against_the_server(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").reply("/", Reply(body="late", delay_s=0.2))
    one_at_a_time = replace(quick, connections=1)

    async def run() -> list[Response]:
        async with Client(one_at_a_time, allowed, web.dns) as client:
            urls = [Url("http://a.test/")] * 5
            return await asyncio.gather(*map(client.fetch, urls))

    responses = asyncio.run(run())
    assert {response.outcome for response in responses} == {Outcome.FETCHED}
    in_order = sorted(responses, key=lambda one: one.started)
    assert all(after.started >= before.ended for before, after in pairwise(in_order))
