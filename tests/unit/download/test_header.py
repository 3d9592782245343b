import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.download.answer import HeaderReader
from gossamer.model import Cause


def read(*lines: bytes, max_bytes: int = 65_536, max_count: int = 500) -> HeaderReader | Cause:
    reader = HeaderReader(max_bytes, max_count)
    for line in lines:
        cause = reader.feed(line)
        if cause is not None:
            return cause
    return reader


def test_a_header_is_complete_at_its_empty_line() -> None:
    lines = [b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n"]
    reader = HeaderReader(1000, 10)
    assert [(reader.feed(line), reader.complete) for line in lines] == [
        (None, False),
        (None, False),
        (None, True),
    ]
    assert reader.status == 200


def test_names_are_in_lower_case_and_values_without_blanks_around() -> None:
    reader = read(
        b"HTTP/1.0 404\r\n",
        b"Content-Type:text/html\r\n",
        b"X-Name: \t J\xf6rg \xa0 \r\n",
        b"x-name: second: half\n",
        b"Empty:\r\n",
        b"\n",
    )
    assert isinstance(reader, HeaderReader)
    assert reader.headers().fields == (
        ("content-type", "text/html"),
        ("x-name", "Jörg \xa0"),
        ("x-name", "second: half"),
        ("empty", ""),
    )


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "line", [b"Content-Length : 5\r\n", b": x\r\n", b" a: b\r\n", b"a b: c\r\n"]
)
def test_what_has_no_valid_name_is_left_out(line: bytes) -> None:
    reader = read(b"HTTP/1.1 200 OK\r\n", line, b"\r\n")
    assert isinstance(reader, HeaderReader)
    assert reader.headers().fields == ()


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "line",
    [
        b"HTTP/1.1 200: OK\r\n",
        b"HTTP/1.1 2000 OK\r\n",
        b"HTTP/1.1 20 OK\r\n",
        b"HTTP/1.1 099 OK\r\n",
        b"HTTP/1.1  200 OK\r\n",
        b"HTTP/2 200\r\n",
        b"HTTP/1.2 200 OK\r\n",
        b"ICY 200 OK\r\n",
        b"\r\n",
    ],
)
def test_a_wrong_status_line_is_refused(line: bytes) -> None:
    assert read(line) is Cause.BAD_HTTP


def test_interim_answers_are_passed_over() -> None:
    reader = read(
        b"HTTP/1.1 103 Early Hints\r\n",
        b"Link: </style.css>\r\n",
        b"\r\n",
        b"HTTP/1.1 100 Continue\r\n",
        b"\r\n",
        b"HTTP/1.1 200 OK\r\n",
        b"\r\n",
    )
    assert isinstance(reader, HeaderReader)
    assert (reader.status, reader.complete, reader.headers().fields) == (200, True, ())


def test_a_switch_of_protocols_is_final() -> None:
    reader = read(b"HTTP/1.1 101 Switching Protocols\r\n", b"\r\n")
    assert isinstance(reader, HeaderReader)
    assert (reader.status, reader.complete) == (101, True)


@pytest.mark.req("D19")
def test_trailers_change_nothing_but_count() -> None:
    header = [b"HTTP/1.1 200 OK\r\n", b"Content-Type: text/html\r\n", b"\r\n"]
    reader = read(*header, b"Content-Type: image/png\r\n", b"HTTP/1.1 404 Not Found\r\n")
    assert isinstance(reader, HeaderReader)
    assert reader.status == 200
    assert reader.headers().get_all("content-type") == ["text/html"]
    assert read(*header, *[b"X: y\r\n"] * 600) is Cause.HEADERS_TOO_LARGE


@pytest.mark.req("D19")
def test_the_limits_hold_over_interim_answers_too() -> None:
    interim = [b"HTTP/1.1 103 Early Hints\r\n", b"\r\n"]
    final = [b"HTTP/1.1 200 OK\r\n", b"\r\n"]
    assert isinstance(read(*interim * 9, *final, max_count=20), HeaderReader)
    assert read(*interim * 10, *final, max_count=20) is Cause.HEADERS_TOO_LARGE
    assert read(*final, max_bytes=18) is Cause.HEADERS_TOO_LARGE
    assert isinstance(read(*final, max_bytes=19), HeaderReader)


@pytest.mark.req("D19")
@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_lines_are_taken(lines: list[bytes]) -> None:
    reader = HeaderReader(10_000, 100)
    reader.feed(b"HTTP/1.1 200 OK\r\n")
    for line in lines:
        reader.feed(line)
    for name, value in reader.headers().fields:
        assert name == name.lower()
        assert value == value.strip(" \t")
