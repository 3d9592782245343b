import socket
import time
from collections.abc import Callable

import pytest

from gossamer.testing import Close, KeepOpen, Pause, Repeat, Reply, Reset, Web
from gossamer.testing.site import prepare

Dial = Callable[[], socket.socket]
Ask = Callable[[], socket.socket]
REQUEST = b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"


@pytest.fixture
def ask(dial: Dial) -> Ask:
    def connect_and_ask() -> socket.socket:
        connection = dial()
        connection.sendall(REQUEST)
        return connection

    return connect_and_ask


def read_all(connection: socket.socket) -> bytes:
    pieces = []
    while piece := connection.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def test_a_reply_fills_in_length_and_type() -> None:
    assert prepare(Reply(body="é")).whole == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 2\r\n\r\n"
        b"\xc3\xa9"
    )


def test_fields_given_are_left_alone_in_their_order() -> None:
    given = [("content-LENGTH", "9"), ("X", "1"), ("x", "2"), ("Content-Type", "a/b")]
    assert prepare(Reply(headers=given, body=b"abc")).whole == (
        b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 9\r\nX: 1\r\nx: 2\r\nContent-Type: a/b\r\n\r\nabc"
    )


def test_a_chunked_body_gets_no_length() -> None:
    chunked = Reply(headers={"Transfer-Encoding": "chunked"}, body=b"0\r\n\r\n")
    assert b"Content-Length" not in prepare(chunked).whole


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_content_get_neither(status: int) -> None:
    assert b"Content-" not in prepare(Reply(status=status)).whole


def test_an_unknown_status_has_no_phrase() -> None:
    assert prepare(Reply(status=999)).whole.startswith(b"HTTP/1.1 999 \r\n")


@pytest.mark.parametrize("steps", [(b"no header", Close()), (b"no header",)])
def test_raw_bytes_go_out_as_they_are_and_then_the_connection_closes(
    web: Web, ask: Ask, steps: tuple[bytes | Close, ...]
) -> None:
    web.site("a.test").raw("/", *steps)
    assert read_all(ask()) == b"no header"
    (record,) = web.requests
    assert record.started <= record.ended <= time.monotonic()


def test_steps_after_close_are_not_played(web: Web, ask: Ask) -> None:
    web.site("a.test").raw("/", b"one", Close(), b"two")
    assert read_all(ask()) == b"one"


def test_a_pause_separates_what_is_before_and_after(web: Web, ask: Ask) -> None:
    web.site("a.test").raw("/", b"before", Pause(0.1), b"after")
    connection = ask()
    assert connection.recv(100) == b"before"
    begin = time.monotonic()
    assert read_all(connection) == b"after"
    assert time.monotonic() - begin >= 0.09


def test_keep_open_is_silent_until_the_client_leaves(web: Web, ask: Ask) -> None:
    web.site("a.test").raw("/", b"HTTP/1.1 200 OK\r\n", KeepOpen())
    connection = ask()
    assert connection.recv(100) == b"HTTP/1.1 200 OK\r\n"
    connection.sendall(REQUEST)
    connection.settimeout(0.1)
    with pytest.raises(TimeoutError):
        connection.recv(100)
    assert len(web.requests) == 1


def test_reset_breaks_the_connection_off(web: Web, ask: Ask) -> None:
    web.site("a.test").raw("/", Reset())
    with pytest.raises(ConnectionResetError):
        ask().recv(100)


def test_reset_in_the_middle_of_an_answer(web: Web, ask: Ask) -> None:
    part = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
    web.site("a.test").raw("/", part, Reset())
    connection = ask()
    assert connection.recv(100) == part
    with pytest.raises(ConnectionResetError):
        connection.recv(100)


def test_repeat_a_number_of_times(web: Web, ask: Ask) -> None:
    web.site("a.test").raw("/", b"<", Repeat(b"ab", times=3), Repeat(b"-", 0.01, 2), b">")
    assert read_all(ask()) == b"<ababab-->"


def test_repeat_goes_no_faster_than_the_client_reads(web: Web, ask: Ask, dial: Dial) -> None:
    chunk, times = b"x" * 1_000_000, 64
    site = web.site("a.test")
    site.raw("/", Repeat(chunk, times=times))
    site.page("/other", html="o")
    connection = ask()
    received = len(connection.recv(1))
    other = dial()
    for _ in range(2 * times):  # time for many more turns than the server needs for all chunks
        other.sendall(REQUEST.replace(b"/ ", b"/other "))
        assert other.recv(1000).endswith(b"o")
    begin = time.monotonic()
    received += len(read_all(connection))
    assert received == times * len(chunk)
    assert web.requests[0].ended > begin
