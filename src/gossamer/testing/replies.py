"""The answers of a server: a well-formed `Reply`, or `Raw` steps for any kind of misbehaviour."""

from collections.abc import Mapping, Sequence
from http.client import NO_CONTENT, NOT_MODIFIED, responses
from typing import TypeAlias

import msgspec

HeaderFields: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]

HTML_TYPE = "text/html; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A well-formed answer; Content-Length and Content-Type are filled in unless given."""

    status: int = 200
    headers: HeaderFields = ()
    body: bytes | str = b""
    delay_s: float = 0.0
    """How long the server waits before the first byte."""


class Pause(msgspec.Struct, frozen=True):
    """Send nothing for a while."""

    seconds: float


class Repeat(msgspec.Struct, frozen=True):
    """Send a chunk again and again, for ever by default, no faster than the client reads."""

    chunk: bytes
    every_s: float = 0.0
    times: int | None = None


class Close(msgspec.Struct, frozen=True):
    """Close the connection properly (FIN)."""


class Reset(msgspec.Struct, frozen=True):
    """Reset the connection (RST)."""


class KeepOpen(msgspec.Struct, frozen=True):
    """Keep the connection open and silent until the client closes it."""


RawStep: TypeAlias = bytes | Pause | Repeat | Close | Reset | KeepOpen


class Raw(msgspec.Struct, frozen=True):
    """Exact bytes and timing; the connection closes after the last step unless it is KeepOpen."""

    steps: Sequence[RawStep]


class Prepared(msgspec.Struct, frozen=True):
    """A reply as bytes, ready to be written."""

    whole: bytes
    head: bytes
    """The part that also answers HEAD."""
    delay_s: float
    closes: bool
    """Whether the reply has `Connection: close`."""


def prepare(reply: Reply) -> Prepared:
    """Return the bytes of a reply, with missing header fields filled in."""
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    given = reply.headers
    fields = list(given.items()) if isinstance(given, Mapping) else list(given)
    names = {name.lower() for name, _ in fields}
    # Other answers have no content (RFC 9110, section 6.4.1).
    if reply.status >= 200 and reply.status not in (NO_CONTENT, NOT_MODIFIED):
        if "content-type" not in names:
            fields.append(("Content-Type", HTML_TYPE))
        if not names & {"content-length", "transfer-encoding"}:
            fields.append(("Content-Length", str(len(body))))
    lines = [f"HTTP/1.1 {reply.status} {responses.get(reply.status, '')}"]
    lines += [f"{name}: {value}" for name, value in fields]
    # Real servers put UTF-8 where only ASCII is allowed; a test may want to do the same.
    head = "\r\n".join([*lines, "", ""]).encode()
    closes = ("connection", "close") in [(name.lower(), value.lower()) for name, value in fields]
    return Prepared(whole=head + body, head=head, delay_s=reply.delay_s, closes=closes)


NOT_FOUND = prepare(Reply(status=404, headers={"Content-Type": TEXT_TYPE}, body="Not found.\n"))
"""The answer for an unknown path."""
