"""Kept connections that servers give up, or send on what nobody asked for."""

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace
from tests.web.scripted_server import ScriptedServer, page, serving

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy

pytestmark = pytest.mark.req("D19")

LOOPBACK = AddressPolicy.parse(["127.0.0.1"])


def close(_: socket.socket) -> None:
    """Close it as it is."""


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def time_out(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")


def fetch_all(server: ScriptedServer, options: FetchOptions, *paths: str) -> list[Response]:
    async def run() -> list[Response]:
        async with Client(options, LOOPBACK) as client:
            urls = [Url(f"http://127.0.0.1:{server.port}{path}") for path in paths]
            return [await client.fetch(url) for url in urls]

    return asyncio.run(run())


@pytest.mark.parametrize("give_up", [close, reset, time_out])
def test_a_request_that_a_kept_connection_does_not_answer_is_repeated_on_a_new_one(
    give_up: Callable[[socket.socket], None], patient: FetchOptions
) -> None:
    def script(server: ScriptedServer, connection: socket.socket, number: int) -> None:
        """Answer the first request of each connection, and see the second."""
        if path := server.read_request(connection):
            connection.sendall(page(f"page {path} on {number}"))
            server.read_request(connection)
            give_up(connection)

    with serving(script) as server:
        responses = fetch_all(server, patient, "/a", "/b", "/c")
        assert [one.body for one in responses] == [
            b"page /a on 0",
            b"page /b on 1",
            b"page /c on 2",
        ]
        assert server.requests == ["/a", "/b", "/b", "/c", "/c"]


@pytest.mark.parametrize("give_up", [close, reset])
def test_it_is_repeated_once(
    give_up: Callable[[socket.socket], None], patient: FetchOptions
) -> None:
    def script(server: ScriptedServer, connection: socket.socket, number: int) -> None:
        if server.read_request(connection) and number == 0:
            connection.sendall(page("home"))
            server.read_request(connection)
        give_up(connection)

    with serving(script) as server:
        _, lost = fetch_all(server, patient, "/", "/lost")
        assert (lost.outcome, lost.cause) == (Outcome.CONNECTION_FAILED, Cause.CONNECTION_LOST)
        assert server.requests == ["/", "/lost", "/lost"]


def test_a_408_on_a_new_connection_is_an_answer(patient: FetchOptions) -> None:
    def script(server: ScriptedServer, connection: socket.socket, _: int) -> None:
        server.read_request(connection)
        time_out(connection)

    with serving(script) as server:
        (response,) = fetch_all(server, patient, "/")
        assert (response.outcome, response.status) == (Outcome.CLIENT_ERROR, 408)
        assert server.requests == ["/"]


@pytest.mark.parametrize("is_encrypted", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_an_answer_that_nobody_asked_for_is_nobodys(
    tmp_path: Path, patient: FetchOptions, *, is_encrypted: bool, together: bool
) -> None:
    """It comes with the answer before it, or a moment later on the idle connection."""
    is_answered, is_poisoned = threading.Event(), threading.Event()

    def script(server: ScriptedServer, connection: socket.socket, number: int) -> None:
        path = server.read_request(connection)
        if number:
            connection.sendall(page(f"honest {path}"))
        else:
            connection.sendall(page("first") + page("evil") if together else page("first"))
            is_answered.wait(20)
            connection.sendall(page("evil"))
        is_poisoned.set()
        server.read_request(connection)

    authority, tls = trustme.CA(), None
    if is_encrypted:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    options = replace(patient, ca_file=tmp_path / "ca.pem")

    async def run(server: ScriptedServer) -> list[bytes]:
        base = f"{'https' if is_encrypted else 'http'}://127.0.0.1:{server.port}"
        async with Client(options, LOOPBACK) as client:
            first = await client.fetch(Url(f"{base}/first"))
            is_answered.set()
            await asyncio.to_thread(is_poisoned.wait, 20)
            return [first.body, (await client.fetch(Url(f"{base}/second"))).body]

    with serving(script, tls) as server:
        assert asyncio.run(run(server)) == [b"first", b"honest /second"]
        assert server.connections == 2


def test_an_encrypted_connection_is_kept(tmp_path: Path, patient: FetchOptions) -> None:
    """What TLS itself sends after a handshake is no reason to give a connection up."""
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")

    def script(server: ScriptedServer, connection: socket.socket, _: int) -> None:
        while path := server.read_request(connection):
            connection.sendall(page(path))

    async def run(server: ScriptedServer) -> None:
        async with Client(replace(patient, ca_file=tmp_path / "ca.pem"), LOOPBACK) as client:
            for number in range(3):
                await client.fetch(Url(f"https://127.0.0.1:{server.port}/{number}"))

    with serving(script, tls) as server:
        asyncio.run(run(server))
        assert (server.connections, server.requests) == (1, ["/0", "/1", "/2"])
