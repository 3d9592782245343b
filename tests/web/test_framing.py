"""Answers that are not HTTP, or not all of it: never taken for a page (RFC 9112)."""

import gzip
from collections.abc import Callable

import pytest

from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Outcome, Response
from gossamer.testing import Close, KeepOpen, RawStep, Repeat, Reset, Web

pytestmark = pytest.mark.req("D8", "D19")

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIPPED = gzip.compress(b"<p>hello</p>" * 100)


def gzip_answer(body: bytes) -> bytes:
    return OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


BROKEN: dict[str, tuple[Cause, list[RawStep]]] = {
    # No HTTP at all.
    "HTTP/0.9": (Cause.BAD_HTTP, [b"<html>hello</html>"]),
    "garbage": (Cause.BAD_HTTP, [b"\x00\xff\xfe\x01\r\n\r\n"]),
    "another protocol": (Cause.BAD_HTTP, [b"SSH-2.0-OpenSSH_9.2\r\n"]),
    "ICY": (Cause.BAD_HTTP, [b"ICY 200 OK\r\n\r\nhi"]),
    "HTTP/2 in plain text": (Cause.BAD_HTTP, [b"HTTP/2 200 OK\r\n\r\nhi"]),
    "HTTP/1.2": (Cause.BAD_HTTP, [b"HTTP/1.2 200 OK\r\n\r\nhi"]),
    "status with a colon": (Cause.BAD_HTTP, [b"HTTP/1.1 200: OK\r\n\r\nhi"]),
    "status of four digits": (Cause.BAD_HTTP, [b"HTTP/1.1 2000 OK\r\n\r\nhi"]),
    "status of two digits": (Cause.BAD_HTTP, [b"HTTP/1.1 20 OK\r\n\r\nhi"]),
    "status below 100": (Cause.BAD_HTTP, [b"HTTP/1.1 099 OK\r\n\r\nhi"]),
    # Less than the whole.
    "nothing": (Cause.CONNECTION_LOST, [Close()]),
    "reset at once": (Cause.CONNECTION_LOST, [Reset()]),
    "status line only": (Cause.CONNECTION_LOST, [b"HTTP/1.1 200 OK\r\n"]),
    "half a header": (Cause.CONNECTION_LOST, [OK]),
    "half a field": (Cause.CONNECTION_LOST, [OK + b"Content-Le"]),
    "body too short": (Cause.CONNECTION_LOST, [OK + b"Content-Length: 9\r\n\r\nhi"]),
    "no body": (Cause.CONNECTION_LOST, [OK + b"Content-Length: 9\r\n\r\n"]),
    "reset in the body": (Cause.CONNECTION_LOST, [OK + b"Content-Length: 9\r\n\r\nhi", Reset()]),
    "no last chunk": (Cause.CONNECTION_LOST, [CHUNKED + b"2\r\nhi\r\n"]),
    "half a chunk": (Cause.CONNECTION_LOST, [CHUNKED + b"9\r\nhi"]),
    "no end of trailers": (Cause.CONNECTION_LOST, [CHUNKED + b"2\r\nhi\r\n0\r\n"]),
    # Framing that contradicts itself.
    "negative length": (Cause.BAD_HTTP, [OK + b"Content-Length: -2\r\n\r\nhi"]),
    "length in words": (Cause.BAD_HTTP, [OK + b"Content-Length: two\r\n\r\nhi"]),
    "hexadecimal length": (Cause.BAD_HTTP, [OK + b"Content-Length: 0x2\r\n\r\nhi"]),
    "two lengths": (Cause.BAD_HTTP, [OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi"]),
    "a list of lengths": (Cause.BAD_HTTP, [OK + b"Content-Length: 2, 3\r\n\r\nhi"]),
    "chunk size no number": (Cause.BAD_HTTP, [CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n"]),
    "chunk size too large": (Cause.BAD_HTTP, [CHUNKED + b"f" * 17 + b"\r\nhi\r\n0\r\n\r\n"]),
    "chunk longer than it says": (Cause.BAD_HTTP, [CHUNKED + b"1\r\nhi\r\n0\r\n\r\n"]),
    "unknown transfer coding": (Cause.BAD_HTTP, [OK + b"Transfer-Encoding: foo\r\n\r\nhi"]),
    "transfer coding not asked for": (
        Cause.BAD_HTTP,
        [OK + b"Transfer-Encoding: gzip\r\n\r\n" + GZIPPED],
    ),
    # Headers that no server means well with.
    "NUL in a field": (Cause.BAD_HTTP, [OK + b"X: a\0b\r\n\r\nhi"]),
    "bare CR in a field": (Cause.BAD_HTTP, [OK + b"X: a\rSet-Cookie: b\r\n\r\nhi"]),
    "field without colon": (Cause.BAD_HTTP, [OK + b"nonsense\r\n\r\nhi"]),
    "one large field": (Cause.HEADERS_TOO_LARGE, [OK + b"X: " + b"a" * 70_000 + b"\r\n\r\nhi"]),
    "one huge field": (Cause.HEADERS_TOO_LARGE, [OK + b"X: " + b"a" * 2_000_000]),
    "many fields": (Cause.HEADERS_TOO_LARGE, [OK + b"X: a\r\n" * 10_000 + b"\r\nhi"]),
    "fields without end": (Cause.HEADERS_TOO_LARGE, [OK, Repeat(b"X: a\r\n")]),
    "interim answers without end": (
        Cause.HEADERS_TOO_LARGE,
        [Repeat(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")],
    ),
    "trailers without end": (
        Cause.HEADERS_TOO_LARGE,
        [CHUNKED + b"2\r\nhi\r\n0\r\n", Repeat(b"X: a\r\n")],
    ),
    # Codings.
    "unknown coding": (Cause.BAD_CODING, [OK + b"Content-Encoding: foo\r\n\r\nhi"]),
    "three codings": (Cause.BAD_CODING, [OK + b"Content-Encoding: gzip, gzip, gzip\r\n\r\nhi"]),
    "six codings": (
        Cause.BAD_CODING,
        [OK + b"Content-Encoding: " + b"gzip," * 6 + b"\r\n\r\nhi"],
    ),
    "gzip that is none": (Cause.BAD_CODING, [gzip_answer(b"<p>hello</p>")]),
    "truncated gzip": (Cause.BAD_CODING, [gzip_answer(GZIPPED[:-9])]),
    "truncated gzip, closed": (
        Cause.BAD_CODING,
        [OK + b"Content-Encoding: gzip\r\n\r\n" + GZIPPED[:-9]],
    ),
    "gzip with a wrong checksum": (Cause.BAD_CODING, [gzip_answer(GZIPPED[:-8] + bytes(8))]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_a_failure(name: str, web: Web, fetch: Callable[..., Response]) -> None:
    cause, steps = BROKEN[name]
    web.site("a.test").raw("/", *steps)
    response = fetch()
    assert response.cause is cause
    assert response.body == b""
    assert response.outcome is not Outcome.FETCHED
    assert response.detail.isprintable()


SOUND: dict[str, list[RawStep]] = {
    "closed at the end": [b"HTTP/1.0 200 OK\r\n\r\nhi"],
    "no reason phrase": [b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi"],
    "bare line feeds": [b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"],
    "chunked": [CHUNKED + b"1;ext=1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"],
    "one length twice": [OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"],
    "one length in a list": [OK + b"Content-Length: 2, 2\r\n\r\nhi"],
    "more than the length says": [OK + b"Content-Length: 2\r\n\r\nhi there"],
    "chunked beats the length": [
        OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    ],
    "folded field": [OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"],
    "interim answers": [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n",
        OK + b"Content-Length: 2\r\n\r\nhi",
    ],
}


@pytest.mark.parametrize("name", SOUND)
def test_what_the_standard_allows_is_a_page(
    name: str, web: Web, fetch: Callable[..., Response]
) -> None:
    web.site("a.test").raw("/", *SOUND[name])
    response = fetch()
    assert (response.outcome, response.cause, response.status) == (Outcome.FETCHED, None, 200)
    assert response.body == b"hi"


@pytest.mark.parametrize(
    "steps",
    [
        [b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc"],
        [b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nabc"],
        [b"HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\nabc"],
        [b"HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\n\r\nabc"],
        [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc", KeepOpen()],
        [b"HTTP/1.1 999 Go away\r\nContent-Length: 0\r\n\r\n"],
    ],
    ids=lambda steps: str(steps[0][9:12]),
)
def test_a_status_without_a_page_ends_at_once(
    steps: list[RawStep], web: Web, fetch: Callable[..., Response], patient: FetchOptions
) -> None:
    web.site("a.test").raw("/", *steps)
    response = fetch(options=patient)
    assert response.cause is Cause.STATUS_UNEXPECTED
    assert response.body == b""
    assert response.ended - response.started < 20, "no timeout ended it"


def test_an_empty_page_is_a_page(web: Web, fetch: Callable[..., Response]) -> None:
    web.site("a.test").raw("/", OK + b"Content-Length: 0\r\n\r\n")
    response = fetch()
    assert (response.outcome, response.body) == (Outcome.FETCHED, b"")


def test_trailers_do_not_change_the_header(web: Web, fetch: Callable[..., Response]) -> None:
    trailers = b"Content-Type: image/png\r\nSet-Cookie: a=b\r\n\r\n"
    web.site("a.test").raw("/", CHUNKED + b"2\r\nhi\r\n0\r\n" + trailers)
    response = fetch()
    assert (response.outcome, response.body) == (Outcome.FETCHED, b"hi")
    assert response.headers.get_all("content-type") == ["text/html"]
    assert response.headers.get("set-cookie") is None


def test_field_values_come_as_sent(web: Web, fetch: Callable[..., Response]) -> None:
    web.site("a.test").raw("/", OK + b"X:  J\xf6rg \x1b[31m\t\r\nx: 2\r\nContent-Length: 0\r\n\r\n")
    assert fetch().headers.get_all("x") == ["Jörg \x1b[31m", "2"]


@pytest.mark.parametrize("location", ["/\x1b]0;x\x07", "javascript:\u202e" + "x" * 9999])
def test_details_are_short_and_obey_no_terminal(
    location: str, web: Web, fetch: Callable[..., Response]
) -> None:
    web.site("a.test").redirect("/", f"ftp:{location}")
    response = fetch()
    assert response.cause is Cause.REDIRECT_UNUSABLE
    assert response.detail.isprintable()
    assert len(response.detail) <= 200
