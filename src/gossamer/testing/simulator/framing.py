"""Faults of HTTP itself: lengths, chunks, status lines, headers, interim and kept answers."""

from collections.abc import Mapping

from gossamer.testing.simulator.fault import OK, Fault, Player, always, raw
from gossamer.testing.site import KeepOpen, Pause, Raw, Repeat, Reply, Reset, prepare

_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
_TWO = OK + b"Content-Length: 2\r\n\r\nhi"
_STRAY = OK + b"Content-Length: 5\r\n\r\nstray"

_LENGTHS = (
    Fault(
        "length-too-big",
        "promises more bytes than it sends",
        raw(OK + b"Content-Length: 100\r\n\r\nhi"),
    ),
    Fault(
        "length-too-small",
        "sends more bytes than it promised",
        raw(OK + b"Content-Length: 2\r\n\r\nhi" + b" there" * 100, Pause(0.2)),
    ),
    Fault(
        "length-negative",
        "has a negative Content-Length",
        raw(OK + b"Content-Length: -2\r\n\r\nhi"),
    ),
    Fault(
        "length-word",
        "has a word as its Content-Length",
        raw(OK + b"Content-Length: thousand\r\n\r\nhi"),
    ),
    Fault(
        "lengths-differ",
        "has two different lengths",
        raw(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"),
    ),
    Fault(
        "lengths-same",
        "has the same length twice",
        raw(OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
    ),
    Fault(
        "length-and-chunked",
        "has a length and chunks",
        raw(OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
    ),
)

_CHUNKS = (
    Fault("chunk-size-bad", "has a chunk of no size", raw(_CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n")),
    Fault(
        "chunk-size-overflow",
        "has a chunk size of twenty digits",
        raw(_CHUNKED + b"f" * 20 + b"\r\nhi\r\n0\r\n\r\n"),
    ),
    Fault(
        "chunks-tiny",
        "sends a page in 200,000 chunks of one byte",
        raw(_CHUNKED + b"1\r\n.\r\n" * 200_000 + b"0\r\n\r\n"),
    ),
    Fault("chunks-cut", "closes before the last chunk", raw(_CHUNKED + b"2\r\nhi\r\n")),
    Fault(
        "chunk-extensions",
        "sends chunks of one byte with long extensions, for ever",
        raw(_CHUNKED, Repeat(b"1;x=" + b"a" * 8_000 + b"\r\n \r\n")),
    ),
)

_HEADERS = (
    Fault("http-09", "sends a body without a header", raw(b"<p>hello from 1991</p>")),
    Fault("status-bad", "has a status line that is none", raw(b"HTTP/1.1 OK\r\n\r\nhi")),
    Fault(
        "header-folded",
        "folds a header field over two lines",
        raw(OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi"),
    ),
    Fault("header-nul", "has a NUL in its header", raw(OK + b"X: a\0b\r\n\r\nhi")),
    Fault(
        "header-bare-cr",
        "has a carriage return in a header field",
        raw(OK + b"X: a\rSet-Cookie: b\r\n\r\nhi"),
    ),
    Fault(
        "header-giant",
        "has a header field of two megabytes",
        raw(OK + b"X: " + b"a" * 2_000_000 + b"\r\n\r\nhi"),
    ),
    Fault(
        "headers-many", "has ten thousand header fields", raw(OK + b"X: a\r\n" * 10_000 + b"\r\nhi")
    ),
    Fault("headers-endless", "never ends its header", raw(OK, Repeat(b"X: a\r\n"))),
    Fault(
        "interim-endless",
        "sends interim answers for ever",
        raw(Repeat(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n")),
    ),
    Fault(
        "switching-protocols",
        "switches to another protocol",
        raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc", KeepOpen()),
    ),
)

_KEPT = (
    Fault(
        "answer-unasked",
        "sends a second answer that nobody asked for",
        raw(_TWO, Pause(0.05), _STRAY, KeepOpen()),
    ),
    Fault(
        "closes-kept",
        "closes every kept connection without a word",
        lambda request: Raw([prepare(request.honest()).whole, Pause(0.02)]),
        at=("/",),
    ),
    Fault(
        "idle-408",
        "tells an idle connection that it was too slow",
        raw(_TWO, Pause(0.05), b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"),
    ),
    Fault("reset", "resets the connection", raw(Reset())),
    Fault("reset-in-body", "resets the connection in the body", raw(_TWO[:-1], Reset())),
    Fault("empty-answer", "closes without a word", raw(Pause(0))),
)

_BODILESS = (
    Fault("empty-page", "answers 200 without a byte", always(Reply(body=b""))),
    Fault(
        "no-content-body",
        "sends a body with 204",
        raw(b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc"),
    ),
    Fault(
        "not-modified", "answers 304 to a request without a validator", always(Reply(status=304))
    ),
    Fault("status-999", "answers with a status that does not exist", always(Reply(status=999))),
)

FRAMING = (*_LENGTHS, *_CHUNKS, *_HEADERS, *_KEPT, *_BODILESS)


_PAST = "Sun, 06 Nov 1994 08:49:37 GMT"
_HEAD = OK + b"Content-Length: 1000000\r\n\r\n"


def _later(status: int, **fields: str) -> Player:
    headers: Mapping[str, str] = {name.replace("_", "-"): value for name, value in fields.items()}
    return always(Reply(status=status, headers=headers))


SLOW = (
    Fault("silent", "accepts the connection and says nothing", raw(KeepOpen())),
    Fault("silent-host", "says nothing at all, on every path", raw(KeepOpen()), at=("/",)),
    Fault("silent-body", "stops after half of its page", raw(_HEAD + b"<p>half", KeepOpen())),
    Fault(
        "slow-header",
        "sends a line of its header every half second, for ever",
        raw(OK, Repeat(b"X: a\r\n", every_s=0.5)),
    ),
    Fault("slow-body", "sends a byte of its page every half second", raw(_HEAD, Repeat(b".", 0.5))),
    Fault("endless-body", "never ends its page", raw(OK + b"\r\n", Repeat(b"<p>more</p>" * 1_000))),
    Fault(
        "endless-chunks",
        "never ends its chunks",
        raw(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", Repeat(b"1000\r\n" + b"." * 4096 + b"\r\n")
        ),
    ),
    Fault("error-500", "fails", _later(500)),
    Fault("error-503", "fails, and asks to come back in a second", _later(503, Retry_After="1")),
    Fault(
        "retry-after-years", "asks to come back in ten years", _later(429, Retry_After="315360000")
    ),
    Fault("retry-after-past", "asks to come back in the past", _later(503, Retry_After=_PAST)),
    Fault("retry-after-garbage", "asks to come back at no time", _later(429, Retry_After="soon")),
)
