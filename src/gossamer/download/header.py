"""The parser of an answer's header, from the lines that libcurl passes, within limits.

libcurl has already refused NUL and bare CR, joined folded lines and checked Content-Length; what
it accepts and RFC 9112 does not is refused here.
"""

import re

from gossamer.model import Cause, Headers

# RFC 9112, section 4: three digits, then a space or the end.
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?=[ \r\n])")
# HTTP/2 has no such line; libcurl writes one.
_ANY_STATUS_LINE = re.compile(rb"HTTP/(?:1\.[01]|2) ([1-9][0-9]{2})(?=[ \r\n])")


class HeaderReader:
    """A parser of header lines, of interim answers (1xx) and trailers too, up to a limit."""

    def __init__(self, max_bytes: int, max_count: int, *, http2: bool = False) -> None:
        """Read within these limits; `http2`: answers may be of HTTP/2."""
        self._status_line = _ANY_STATUS_LINE if http2 else _STATUS_LINE
        self._bytes_left = max_bytes
        self._lines_left = max_count
        self._lines: list[bytes] = []
        self.status: int | None = None
        self.is_http2 = False
        self.complete = False
        """Whether the header of the final answer is complete; later lines are trailers."""

    def feed(self, line: bytes) -> Cause | None:
        """Parse a line; return a cause if the answer cannot be used."""
        self._bytes_left -= len(line)
        self._lines_left -= 1
        if self._bytes_left < 0 or self._lines_left < 0:
            return Cause.HEADERS_TOO_LARGE
        # A trailer never changes the header (RFC 9110, section 6.5.1).
        if self.complete:
            return None
        if self.status is None:
            match = self._status_line.match(line)
            if match is None:
                return Cause.BAD_HTTP
            self.status = int(match[1])
            self.is_http2 = line.startswith(b"HTTP/2")
            # What is kept of an answer reads like HTTP/1.1, the form that archives have.
            self._lines = [line.replace(b"HTTP/2", b"HTTP/1.1", 1)]
            return None
        self._lines.append(line)
        if line in (b"\r\n", b"\n"):
            self._end()
        return None

    def head(self) -> bytes:
        """Return the lines so far, of the final answer, as they were received."""
        return b"".join(self._lines)

    def headers(self) -> Headers:
        """Return the fields so far."""
        return Headers.read(self.head())

    def _end(self) -> None:
        # 101 is final for us: we asked for no other protocol, and what follows is not HTTP.
        if self.status is not None and self.status < 200 and self.status != 101:
            self.status = None
        else:
            self.complete = True
