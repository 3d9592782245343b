"""Faults of HTTP itself: lengths, chunks, status lines, headers, kept connections, time."""

from gossamer.testing.simulator.fault import OK, Fault, answering, raw, sending, status
from gossamer.testing.site import KeepOpen, Pause, Raw, Repeat, Reply, Reset, prepare

_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
_TWO = OK + b"Content-Length: 2\r\n\r\nhi"
_STRAY = OK + b"Content-Length: 5\r\n\r\nstray"
_HEAD = OK + b"Content-Length: 1000000\r\n\r\n"
_PAST = "Sun, 06 Nov 1994 08:49:37 GMT"

_LENGTHS = (
    sending(
        "length-too-big", "promises more bytes than it sends", OK + b"Content-Length: 100\r\n\r\nhi"
    ),
    sending(
        "length-too-small", "sends more bytes than promised", _TWO + b" there" * 100, Pause(0.2)
    ),
    sending(
        "length-negative", "has a negative Content-Length", OK + b"Content-Length: -2\r\n\r\nhi"
    ),
    sending(
        "length-word",
        "has a word as its Content-Length",
        OK + b"Content-Length: thousand\r\n\r\nhi",
    ),
    sending(
        "lengths-differ",
        "has two different lengths",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
    ),
    sending(
        "lengths-same",
        "has the same length twice",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
    ),
    sending(
        "length-and-chunked",
        "has a length and chunks",
        OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ),
)

_CHUNKS = (
    sending("chunk-size-bad", "has a chunk of no size", _CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n"),
    sending(
        "chunk-size-overflow",
        "has a chunk size of twenty digits",
        _CHUNKED + b"f" * 20 + b"\r\nhi\r\n0\r\n\r\n",
    ),
    sending(
        "chunks-tiny",
        "sends a page in 200,000 chunks of one byte",
        _CHUNKED + b"1\r\n.\r\n" * 200_000 + b"0\r\n\r\n",
    ),
    sending("chunks-cut", "closes before the last chunk", _CHUNKED + b"2\r\nhi\r\n"),
    sending(
        "chunk-extensions",
        "sends chunks of one byte with long extensions, for ever",
        _CHUNKED,
        Repeat(b"1;x=" + b"a" * 8_000 + b"\r\n \r\n"),
    ),
)

_HEADERS = (
    sending("http-09", "sends a body without a header", b"<p>hello from 1991</p>"),
    sending("status-bad", "has a status line that is none", b"HTTP/1.1 OK\r\n\r\nhi"),
    sending(
        "header-folded",
        "folds a header field over two lines",
        OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi",
    ),
    sending("header-nul", "has a NUL in its header", OK + b"X: a\0b\r\n\r\nhi"),
    sending(
        "header-bare-cr",
        "has a carriage return in a header field",
        OK + b"X: a\rSet-Cookie: b\r\n\r\nhi",
    ),
    sending(
        "header-giant",
        "has a header field of two megabytes",
        OK + b"X: " + b"a" * 2_000_000 + b"\r\n\r\nhi",
    ),
    sending(
        "headers-many", "has ten thousand header fields", OK + b"X: a\r\n" * 10_000 + b"\r\nhi"
    ),
    sending("headers-endless", "never ends its header", OK, Repeat(b"X: a\r\n")),
    sending(
        "interim-endless",
        "sends interim answers for ever",
        Repeat(b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"),
    ),
    sending(
        "switching-protocols",
        "switches to another protocol",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nabc",
        KeepOpen(),
    ),
)

_KEPT = (
    sending(
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
    sending(
        "idle-408",
        "tells an idle connection that it was too slow",
        _TWO,
        Pause(0.05),
        b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
    ),
    sending("reset", "resets the connection", Reset()),
    sending("reset-in-body", "resets the connection in the body", _TWO[:-1], Reset()),
    sending("empty-answer", "closes without a word", Pause(0)),
)

_BODILESS = (
    answering("empty-page", "answers 200 without a byte", Reply(body=b"")),
    sending(
        "no-content-body",
        "sends a body with 204",
        b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc",
    ),
    answering("not-modified", "answers 304 to a request without a validator", Reply(status=304)),
    answering("status-999", "answers with a status that does not exist", Reply(status=999)),
)

SLOW = (
    sending("silent", "accepts the connection and says nothing", KeepOpen()),
    Fault("silent-host", "says nothing at all, on every path", raw(KeepOpen()), at=("/",)),
    sending("silent-body", "stops after half of its page", _HEAD + b"<p>half", KeepOpen()),
    sending(
        "slow-header",
        "sends a line of its header every half second, for ever",
        OK,
        Repeat(b"X: a\r\n", every_s=0.5),
    ),
    sending("slow-body", "sends a byte of its page every half second", _HEAD, Repeat(b".", 0.5)),
    sending("endless-body", "never ends its page", OK + b"\r\n", Repeat(b"<p>more</p>" * 1_000)),
    sending(
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
