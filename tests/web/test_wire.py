"""Bytes on the wire are limited, not only those of bodies."""

import asyncio
import socket

import pytest
from tests.web.scripted_server import ScriptedServer, page, serving

from gossamer.download import Accept, Client, FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"1;x=" + b"y" * 65_000 + b"\r\na\r\n"
CHUNKS = 5_000
"""More than 300 MB for a page of 5,000 bytes."""


@pytest.mark.req("D19")
@pytest.mark.parametrize("accept", [Accept.PAGE, Accept.ANYTHING])
@pytest.mark.parametrize("on_kept", [False, True])
def test_chunk_extensions_count(accept: Accept, patient: FetchOptions, *, on_kept: bool) -> None:
    sent = 0

    def script(server: ScriptedServer, connection: socket.socket, _: int) -> None:
        nonlocal sent
        while path := server.read_request(connection):
            if path == "/":
                connection.sendall(page("home"))
                continue
            connection.sendall(HEAD)
            for _ in range(CHUNKS):
                connection.sendall(CHUNK)
                sent += len(CHUNK)
            connection.sendall(b"0\r\n\r\n")

    async def run(base: str) -> Response:
        async with Client(patient, AddressPolicy.parse(["127.0.0.1"])) as client:
            if on_kept:
                await client.fetch(Url(f"{base}/"))
            return await client.fetch(Url(f"{base}/long"), accept)

    with serving(script) as server:
        response = asyncio.run(run(f"http://127.0.0.1:{server.port}"))
        assert (response.outcome, response.cause) == (Outcome.TOO_LARGE, Cause.BODY_TOO_LARGE)
        assert sent < CHUNKS * len(CHUNK)
        assert server.connections == 1
