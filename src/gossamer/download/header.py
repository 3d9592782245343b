"""The header of an answer, from the lines that libcurl hands over, within limits.

libcurl has already refused NUL and bare CR, joined folded lines and checked Content-Length; what
it lets through and RFC 9112 does not is refused here.
"""

import re

from gossamer.model import Cause, Headers

# RFC 9112, section 4: three digits, then a space or the end. HTTP/1.1 is all we speak.
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?=[ \r\n])")
# RFC 9110, section 5.1. What has no valid name, such as "Content-Length : 5", means nothing.
_FIELD = re.compile(r"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n]*)", re.MULTILINE)


class HeaderReader:
    """Takes the lines in, interim answers (1xx) and trailers too, until they are too many."""

    def __init__(self, max_bytes: int, max_count: int) -> None:
        self._bytes_left = max_bytes
        self._lines_left = max_count
        self._lines: list[bytes] = []
        self.status: int | None = None
        self.complete = False
        """Whether the header of the final answer has come; later lines are trailers."""

    def feed(self, line: bytes) -> Cause | None:
        """Take in a line; return a cause when the answer cannot be used."""
        self._bytes_left -= len(line)
        self._lines_left -= 1
        if self._bytes_left < 0 or self._lines_left < 0:
            return Cause.HEADERS_TOO_LARGE
        # A trailer never changes what the header said (RFC 9110, section 6.5.1).
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
        # 101 is final to us: we asked for no other protocol, and none of it will be HTTP.
        if self.status is not None and self.status < 200 and self.status != 101:
            self.status = None
            self._lines.clear()
        else:
            self.complete = True
