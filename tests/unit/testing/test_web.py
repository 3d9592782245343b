import asyncio
import gc
import http.client
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import trustme
import uvloop

from gossamer.model.errors import UsageError
from gossamer.testing import KeepOpen, Repeat, Reset, Web, server

Dial = Callable[[], socket.socket]
REQUEST = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"


def body_of(web: Web, host: str) -> bytes:
    client = http.client.HTTPConnection(*web.address, timeout=10)
    client.request("GET", "/", headers={"Host": host})
    body = client.getresponse().read()
    client.close()
    return body


def test_hosts_are_told_apart_without_port_and_case(web: Web) -> None:
    web.site("a.test").page("/", html="one")
    web.site("B.test").page("/", html="two")
    assert body_of(web, "a.test") == b"one"
    assert body_of(web, "b.TEST:8080") == b"two"
    assert [record.host for record in web.requests] == ["a.test", "b.test"]
    assert [record.host for record in web.requests_to("B.test")] == ["b.test"]


def test_an_unknown_host_gets_the_first_site(web: Web) -> None:
    assert b"Not found" in body_of(web, "nobody.test")
    web.site("a.test").page("/", html="first")
    web.site("b.test").page("/", html="second")
    assert body_of(web, "127.0.0.1") == b"first"


def test_the_table_of_names_is_live(web: Web) -> None:
    table = web.dns
    assert dict(table) == {}
    web.site("a.test")
    address, port = web.address
    assert dict(table) == {"a.test": f"{address}:{port}"}


def test_urls(web: Web) -> None:
    address, port = web.address
    assert web.url("a.test", "/b?c") == "http://a.test/b?c"
    assert web.base_url == f"http://{address}:{port}"


def test_sites_may_be_described_before_the_web_runs() -> None:
    web = Web()
    web.site("a.test").page("/", html="early")
    with pytest.raises(UsageError, match="not running"):
        _ = web.address
    with web:
        assert list(web.dns) == ["a.test"]
        assert body_of(web, "a.test") == b"early"


def test_async_with() -> None:
    async def fetch() -> bytes:
        async with Web() as web:
            web.site("a.test").page("/", html="async")
            reader, writer = await asyncio.open_connection(*web.address)
            writer.write(REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(fetch()).endswith(b"\r\n\r\nasync")


def test_other_processes_can_ask(web: Web) -> None:
    web.site("a.test").page("/", html="hello")
    program = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read())"
    result = subprocess.run(
        [sys.executable, "-c", program, web.base_url], capture_output=True, text=True, check=True
    )
    assert result.stdout == "b'hello'\n"


def test_waiting_for_requests(web: Web, dial: Dial) -> None:
    web.site("a.test").raw("/", KeepOpen())
    later = threading.Timer(0.05, lambda: dial().sendall(REQUEST))
    dial().sendall(REQUEST)
    later.start()
    assert len(web.wait_for_requests(2)) == 2
    later.join()
    with pytest.raises(TimeoutError, match="2 of 3 requests"):
        web.wait_for_requests(3, timeout_s=0.01)
    web.clear_requests()
    assert web.requests == []


LOOPS = pytest.mark.parametrize(
    "new_event_loop", [uvloop.new_event_loop, asyncio.new_event_loop], ids=["default", "asyncio"]
)


@LOOPS
def test_stopping_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, new_event_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    monkeypatch.setattr(server, "new_event_loop", new_event_loop)
    threads = threading.active_count()
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    with Web() as web:
        address = web.address
        web.site("endless.test").raw("/", head, Repeat(b"thread " * 1000))
        web.site("slow.test").raw("/", head, Repeat(b"thread", every_s=60))
        web.site("silent.test").raw("/", KeepOpen())
        clients = [socket.create_connection(address, timeout=10) for _ in range(5)]
        for client, host in zip(clients, [b"endless", b"slow", b"silent"], strict=False):
            client.sendall(b"GET / HTTP/1.1\r\nHost: " + host + b".test\r\n\r\n")
        clients[3].sendall(b"GET / HT")
        web.wait_for_requests(3)
        clients[0].recv(100)
    assert threading.active_count() == threads
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    assert clients[2].recv(100) == b""
    for client in clients:
        client.close()
    assert all(record.ended > record.started for record in web.requests)
    assert max(record.ended for record in web.requests) < float("inf")


@LOOPS
def test_stopping_while_clients_arrive(
    monkeypatch: pytest.MonkeyPatch, new_event_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    monkeypatch.setattr(server, "new_event_loop", new_event_loop)
    for _ in range(20):
        with Web() as web:
            clients = [socket.create_connection(web.address, timeout=10) for _ in range(3)]
        for client in clients:
            client.close()
    gc.collect()  # what was left open warns now, and a warning is an error


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@LOOPS
def test_tls(
    authority: trustme.CA,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    new_event_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    monkeypatch.setattr(server, "new_event_loop", new_event_loop)
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.test").configure_cert(ours)
    theirs = ssl.create_default_context()
    authority.configure_trust(theirs)
    with Web(tls=ours) as web:
        site = web.site("a.test")
        site.page("/", html="secret")
        site.raw("/reset", b"HTTP/1.1 200", Reset())
        assert web.url("a.test", "/") == "https://a.test/"
        first, second = (
            theirs.wrap_socket(
                socket.create_connection(web.address, timeout=10),
                server_hostname="a.test",
                suppress_ragged_eofs=False,
            )
            for _ in range(2)
        )
        first.sendall(REQUEST)
        assert first.recv(1000).endswith(b"secret")
        first.sendall(b"nonsense\r\n\r\n")
        assert first.recv(1000).startswith(b"HTTP/1.1 400 ")
        second.sendall(REQUEST.replace(b"/ ", b"/reset "))
        assert second.recv(1000) == b"HTTP/1.1 200"
        # Python's ssl makes an end without farewell of the reset.
        with pytest.raises((ssl.SSLEOFError, ConnectionResetError)):
            second.recv(1000)
        with socket.create_connection(web.address, timeout=10) as plain:
            plain.sendall(REQUEST)
            assert b"secret" not in plain.recv(1000)
        # The web stops while one client has not even begun the handshake.
        mute = socket.create_connection(web.address, timeout=10)
    for client in (first, second, mute):
        client.close()
    gc.collect()
    assert caplog.records == []
