"""What is kept of an exchange, compared with the bytes on the wire."""

import asyncio
import gzip
import socket
import threading
from collections.abc import Callable

import pytest

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Response, Url
from gossamer.policy.addresses import AddressPolicy

PAGE = b"<p>Gossamer is fine spider silk.</p>" * 50
HEAD = (
    b"HTTP/1.1 200 Fine, J\xf6rg\r\ncontent-TYPE:  text/html\r\nX-Odd : left out\r\n"
    b"Set-Cookie: a=1\r\n"
    b"Content-Length: %d\r\nset-cookie: b=2\nConnection: close\r\n"
)


class RecordingServer:
    """Answers each connection with the same bytes, and keeps what it was sent."""

    def __init__(self, answer: bytes, family: int = socket.AF_INET) -> None:
        host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        self.received: list[bytes] = []
        self._answer = answer
        self._listening = socket.create_server((host, 0), family=family)
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> "RecordingServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                request = b""
                while not request.endswith(b"\r\n\r\n") and (data := connection.recv(65536)):
                    request += data
                self.received.append(request)
                connection.sendall(self._answer)


@pytest.fixture
def fetch_from() -> Callable[..., Response]:
    def fetch(url: str, contact: str = "Gossamer/9 (+https://a.test/bot)") -> Response:
        async def run() -> Response:
            policy = AddressPolicy.parse(["127.0.0.1", "::1"])
            names = {"a.test": "127.0.0.1", "xn--bcher-kva.test": "127.0.0.1"}
            async with Client(FetchOptions(user_agent=contact), policy, names) as client:
                return await client.fetch(Url(url))

        return asyncio.run(run())

    return fetch


def answer(body: bytes, more: bytes = b"") -> bytes:
    return HEAD % len(body) + more + b"\r\n" + body


@pytest.mark.req("D10")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://a.test:{port}/a//b/./c/../d?q=1&q=%20x&empty=",
        "http://xn--bcher-kva.test:{port}/%C3%BC/%2F~!$&'()*+,;=:@?a=[]|^`{{}}\"<>\\",
        "http://a.test.:{port}/?",
        "http://a.test:{port}/" + "long/" * 900,
    ],
)
def test_the_kept_request_is_what_was_sent_byte_for_byte(
    url: str, fetch_from: Callable[..., Response]
) -> None:
    with RecordingServer(answer(PAGE)) as server:
        response = fetch_from(url.format(port=server.port))
    assert response.exchange is not None, response
    assert [response.exchange.request] == server.received


def test_the_address_is_the_one_that_answered(fetch_from: Callable[..., Response]) -> None:
    with RecordingServer(answer(PAGE), socket.AF_INET6) as server:
        response = fetch_from(f"http://[::1]:{server.port}/")
    assert response.exchange is not None
    assert response.exchange.address == "::1"
    assert [response.exchange.request] == server.received


def test_the_kept_head_is_what_was_received_without_what_came_before_it(
    fetch_from: Callable[..., Response],
) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    with RecordingServer(early + answer(PAGE)) as server:
        response = fetch_from(f"http://127.0.0.1:{server.port}/")
    assert response.exchange is not None
    assert response.exchange.head == HEAD % len(PAGE) + b"\r\n"
    assert response.headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert (response.body, response.wire_body, response.coding) == (PAGE, PAGE, "")


def test_a_coded_body_is_kept_as_it_was_received(fetch_from: Callable[..., Response]) -> None:
    coded = gzip.compress(PAGE) + b"junk after it, which browsers ignore"
    with RecordingServer(answer(coded, b"Content-Encoding: identity, X-GZIP\r\n")) as server:
        response = fetch_from(f"http://127.0.0.1:{server.port}/")
    assert (response.body, response.wire_body, response.coding) == (PAGE, coded, "x-gzip")


def test_what_is_no_page_has_no_exchange(fetch_from: Callable[..., Response]) -> None:
    with RecordingServer(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n") as server:
        response = fetch_from(f"http://127.0.0.1:{server.port}/")
    assert (response.status, response.exchange) == (404, None)
