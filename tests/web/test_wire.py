"""Bytes on the wire are limited, not only those of bodies."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace
from tests.web.scripted_server import ScriptedServer, page, serving

from gossamer.download.client import Client
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"1;x=" + b"y" * 65_000 + b"\r\na\r\n"
CHUNKS = 5_000
"""More than 300 MB for a page of 5,000 bytes."""


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("scheme", "accept", "on_kept"),
    [
        ("http", Accept.PAGE, True),
        ("http", Accept.ANYTHING, False),
        ("https", Accept.PAGE, False),
    ],
)
def test_chunk_extensions_count(
    scheme: str, accept: Accept, patient: FetchOptions, tmp_path: Path, *, on_kept: bool
) -> None:
    sent = 0
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    options = replace(patient, ca_file=file)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)

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
        async with Client(options, AddressPolicy.parse(["127.0.0.1"])) as client:
            if on_kept:
                await client.fetch(Url(f"{base}/"))
            return await client.fetch(Url(f"{base}/long"), accept)

    with serving(script, tls if scheme == "https" else None) as server:
        response = asyncio.run(run(f"{scheme}://127.0.0.1:{server.port}"))
        assert (response.outcome, response.cause) == (Outcome.TOO_LARGE, Cause.BODY_TOO_LARGE)
        assert sent < CHUNKS * len(CHUNK)
        assert server.connections == 1
