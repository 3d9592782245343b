"""A running web on each kind of event loop, and two plain clients that share no code with it."""

import asyncio
import http.client
import socket
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from gossamer.testing import Web, server


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


Get = Callable[..., HttpAnswer]
Dial = Callable[[], socket.socket]


@pytest.fixture(params=["default loop", "asyncio loop"])
def web(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    if request.param == "asyncio loop":
        monkeypatch.setattr(server, "new_event_loop", asyncio.new_event_loop)
    with Web() as running:
        yield running


@pytest.fixture
def get(web: Web) -> Get:
    """Ask for one path on a connection of its own."""

    def fetch(path: str, host: str = "a.test", method: str = "GET") -> HttpAnswer:
        client = http.client.HTTPConnection(*web.address, timeout=10)
        try:
            client.request(method, path, headers={"Host": host})
            response = client.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return HttpAnswer(response.status, headers, response.read())
        finally:
            client.close()

    return fetch


@pytest.fixture
def dial(web: Web) -> Iterator[Dial]:
    """Open connections that are closed after the test."""
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection(web.address, timeout=10))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()
