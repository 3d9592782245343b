"""The answer to one request."""

import re
from typing import Self

import msgspec

from gossamer.model.names import Url
from gossamer.model.outcome import Cause, Outcome

# RFC 9110, section 5.1. A line without a valid name, such as "Content-Length : 5", is ignored.
_FIELD = re.compile(r"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n]*)", re.MULTILINE)


class Headers(msgspec.Struct, frozen=True):
    """The header fields of an answer, in order, names in lower case."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, head: bytes) -> Self:
        """Return the fields of a header as it was received."""
        lines = _FIELD.findall(head.decode("latin-1"))
        return cls(tuple([(name.lower(), value.strip(" \t")) for name, value in lines]))

    def get(self, name: str) -> str | None:
        """Return the value of the first field of that name, None if there is none."""
        name = name.lower()
        for key, value in self.fields:
            if key == name:
                return value
        return None

    def get_all(self, name: str) -> list[str]:
        """Return the values of all fields of that name, in order."""
        name = name.lower()
        return [value for key, value in self.fields if key == name]


class Exchange(msgspec.Struct, frozen=True):
    """What was sent and received for a page, beside its body."""

    request: bytes
    """The request as it was sent, with its empty line. The values of secret fields, such as
    passwords and cookies, are replaced by a word."""
    head: bytes
    """The status line and the header of the answer as they were received, with the empty line. What
    the server sent before its final answer (1xx) is left out, and folded lines are joined."""
    address: str | None = None
    """The IP address that answered."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request. A redirect is a result like any other, never followed here."""

    url: Url
    """The URL that was requested."""
    outcome: Outcome
    """FETCHED only when `body` is complete and of a type that was accepted."""
    cause: Cause | None = None
    """Why there is no page; None exactly when the outcome is FETCHED or REDIRECTED."""
    detail: str = ""
    """The library's or server's own words about the cause, escaped, for people."""
    status: int | None = None
    """The HTTP status; None when no answer came."""
    headers: Headers = Headers()
    body: bytes = b""
    """The page: transfer and content codings decoded, character encoding untouched."""
    coding: str = ""
    """The content codings of the body, in the order in which they were applied."""
    wire_body: bytes = b""
    """The body with its content codings; the same as `body` if there are none."""
    exchange: Exchange | None = None
    """What was sent and received for a page; None: there is no page."""
    target: Url | None = None
    """Where a redirect leads, resolved and in normal form."""
    address: str | None = None
    """The IP address that answered."""
    started: float
    """When the request started, in seconds of the client's clock."""
    ended: float
    """When its last byte arrived, or the request was given up."""

    def __repr__(self) -> str:
        status = "no answer" if self.status is None else f"status {self.status}"
        size = f"{len(self.body):,} bytes"
        return f"<Response {self.url[:200]} {self.outcome.value}: {status}, {size}>"
