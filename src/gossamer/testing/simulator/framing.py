"""Faults of HTTP itself: lengths, chunks, status lines, headers, kept connections, time."""

from gossamer.testing.simulator.fault import OK, Fault, answers, raw, sends, status
from gossamer.testing.site import KeepOpen, Pause, Raw, Repeat, Reply, Reset, prepare

_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
_TWO = OK + b"Content-Length: 2\r\n\r\nhi"
_STRAY = OK + b"Content-Length: 5\r\n\r\nstray"
_HEAD = OK + b"Content-Length: 1000000\r\n\r\n"
_PAST = "Sun, 06 Nov 1994 08:49:37 GMT"
_LAST = b"\r\n0\r\n\r\n"


def _with(field: bytes, body: bytes = b"hi") -> bytes:
    """Return an answer with this line, or these, in its header."""
    return OK + field + b"\r\n\r\n" + body


def _sized(length: bytes, body: bytes = b"hi") -> bytes:
    """Return an answer with this Content-Length."""
    return _with(b"Content-Length: " + length, body)


_LENGTHS = (
    sends("length-too-big", "promises more bytes than it sends", _sized(b"100")),
    sends("length-too-small", "sends more bytes than promised", _TWO + b" there" * 100, Pause(0.2)),
    sends("length-negative", "has a negative Content-Length", _sized(b"-2")),
    sends("length-word", "has a word as its Content-Length", _sized(b"thousand")),
    sends("lengths-differ", "has two different lengths", _sized(b"2\r\nContent-Length: 3", b"hi!")),
    sends("lengths-same", "has the same length twice", _sized(b"2\r\nContent-Length: 2")),
    sends(
        "length-and-chunked",
        "has a length and chunks",
        _sized(b"9\r\nTransfer-Encoding: chunked", b"2\r\nhi" + _LAST),
    ),
)

_CHUNKS = (
    sends("chunk-size-bad", "has a chunk of no size", _CHUNKED + b"zz\r\nhi" + _LAST),
    sends(
        "chunk-size-overflow",
        "has a chunk size of twenty digits",
        _CHUNKED + b"f" * 20 + b"\r\nhi" + _LAST,
    ),
    sends(
        "chunks-tiny",
        "sends a page in 200,000 chunks of one byte",
        _CHUNKED + b"1\r\n.\r\n" * 200_000 + b"0\r\n\r\n",
    ),
    sends("chunks-cut", "closes before the last chunk", _CHUNKED + b"2\r\nhi\r\n"),
    sends(
        "chunk-extensions",
        "sends chunks of one byte with long extensions, for ever",
        _CHUNKED,
        Repeat(b"1;x=" + b"a" * 8_000 + b"\r\n \r\n"),
    ),
)

_HEADERS = (
    sends("http-09", "sends a body without a header", b"<p>hello from 1991</p>"),
    sends("status-bad", "has a status line that is none", b"HTTP/1.1 OK\r\n\r\nhi"),
    sends(
        "header-folded",
        "folds a header field over two lines",
        _with(b"X: a\r\n b\r\nContent-Length: 2"),
    ),
    sends("header-nul", "has a NUL in its header", _with(b"X: a\0b")),
    sends(
        "header-bare-cr", "has a carriage return in a header field", _with(b"X: a\rSet-Cookie: b")
    ),
    sends("header-giant", "has a header field of two megabytes", _with(b"X: " + b"a" * 2_000_000)),
    sends("headers-many", "has ten thousand header fields", OK + b"X: a\r\n" * 10_000 + b"\r\nhi"),
    sends("headers-endless", "never ends its header", OK, Repeat(b"X: a\r\n")),
    sends(
        "interim-endless",
        "sends interim answers for ever",
        Repeat(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"),
    ),
    sends(
        "switching-protocols",
        "switches to another protocol",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc",
        KeepOpen(),
    ),
)

_KEPT = (
    sends(
        "answer-unasked",
        "sends a second answer that nobody asked for",
        _TWO,
        Pause(0.05),
        _STRAY,
        KeepOpen(),
    ),
    Fault(
        "closes-kept",
        "closes every kept connection without a word",
        lambda request: Raw([prepare(request.honest()).whole, Pause(0.02)]),
        at=("/",),
    ),
    sends(
        "idle-408",
        "tells an idle connection that it was too slow",
        _TWO,
        Pause(0.05),
        b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    ),
    sends("reset", "resets the connection", Reset()),
    sends("reset-in-body", "resets the connection in the body", _TWO[:-1], Reset()),
    sends("empty-answer", "closes without a word", Pause(0)),
)

_BODILESS = (
    answers("empty-page", "answers 200 without a byte", Reply(body=b"")),
    sends(
        "no-content-body",
        "sends a body with 204",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
    ),
    answers("not-modified", "answers 304 to a request without a validator", Reply(status=304)),
    answers("status-999", "answers with a status that does not exist", Reply(status=999)),
)

SLOW = (
    sends("silent", "accepts the connection and says nothing", KeepOpen()),
    Fault("silent-host", "says nothing at all, on every path", raw(KeepOpen()), at=("/",)),
    sends("silent-body", "stops after half of its page", _HEAD + b"<p>half", KeepOpen()),
    sends(
        "slow-header",
        "sends a line of its header every half second, for ever",
        OK,
        Repeat(b"X: a\r\n", every_s=0.5),
    ),
    sends("slow-body", "sends a byte of its page every half second", _HEAD, Repeat(b".", 0.5)),
    sends("endless-body", "never ends its page", OK + b"\r\n", Repeat(b"<p>more</p>" * 1_000)),
    sends(
        "endless-chunks",
        "never ends its chunks",
        OK + b"Transfer-Encoding: chunked\r\n\r\n",
        Repeat(b"1000\r\n" + b"." * 4096 + b"\r\n"),
    ),
    Fault("error-500", "fails", status(500)),
    Fault("error-503", "fails, and asks to come back in a second", status(503, Retry_After="1")),
    Fault(
        "retry-after-years", "asks to come back in ten years", status(429, Retry_After="315360000")
    ),
    Fault("retry-after-past", "asks to come back in the past", status(503, Retry_After=_PAST)),
    Fault("retry-after-garbage", "asks to come back at no time", status(429, Retry_After="soon")),
)

FRAMING = (*_LENGTHS, *_CHUNKS, *_HEADERS, *_KEPT, *_BODILESS)
