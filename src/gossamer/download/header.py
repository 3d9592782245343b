"""The parser of an answer's header, from the lines that libcurl passes, within limits.

libcurl has already refused NUL and bare CR, joined folded lines and checked Content-Length; what
it accepts and RFC 9112 does not is refused here.
"""

import re

from gossamer.model import Cause, Headers

# RFC 9112, section 4: three digits, then a space or the end. HTTP/1.1 is all we speak.
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?=[ \r\n])")
# RFC 9110, section 5.1. A line without a valid name, such as "Content-Length : 5", is ignored.
_FIELD = re.compile(r"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n]*)", re.MULTILINE)


class HeaderReader:
    """A parser of header lines, of interim answers (1xx) and trailers too, up to a limit."""

    def __init__(self, max_bytes: int, max_count: int) -> None:
        self._bytes_left = max_bytes
        self._lines_left = max_count
        self._lines: list[bytes] = []
        self.status: int | None = None
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
            match = _STATUS_LINE.match(line)
            if match is None:
                return Cause.BAD_HTTP
            self.status = int(match[1])
        elif line in (b"\r\n", b"\n"):
            self._end()
        else:
            self._lines.append(line)
        return None

    def headers(self) -> Headers:
        """Return the fields so far."""
        found = _FIELD.findall(b"".join(self._lines).decode("latin-1"))
        return Headers(tuple([(name.lower(), value.strip(" \t")) for name, value in found]))

    def _end(self) -> None:
        # 101 is final for us: we asked for no other protocol, and what follows is not HTTP.
        if self.status is not None and self.status < 200 and self.status != 101:
            self.status = None
            self._lines.clear()
        else:
            self.complete = True
