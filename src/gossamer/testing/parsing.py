"""The parser of request headers."""

import time

from gossamer.testing.traffic import RequestRecord

MAX_HEADER_BYTES = 65_536
"""Longer request headers are refused."""


def parse_request(head: bytes, connection: int = 0) -> RequestRecord | None:
    """Parse a request header (without the final empty line); None if it is invalid.

    A request with a body counts as invalid, since nothing here accepts one.
    """
    line, _, header = head.partition(b"\r\n")
    words = line.split(b" ")
    if len(words) != 3:
        return None
    method, target, version = words
    lowered = head.lower()
    hosts = lowered.count(b"\r\nhost:")
    is_old = version == b"HTTP/1.0"
    well_formed = (
        method.isalpha()
        and target.startswith(b"/")
        and (is_old or version == b"HTTP/1.1")
        and (hosts == 1 or (is_old and hosts == 0))  # RFC 9112, section 3.2
        and _field(lowered, b"content-length") in (b"", b"0")
        and not _field(lowered, b"transfer-encoding")
    )
    if not well_formed:
        return None
    return RequestRecord(
        host=_field(lowered, b"host").partition(b":")[0].decode("latin-1"),
        path=target.decode("latin-1"),
        method=method.decode("latin-1"),
        header=header,
        connection=connection,
        started=time.monotonic(),
        closes=is_old or b"close" in _field(lowered, b"connection"),
    )


def _field(lowered: bytes, name: bytes) -> bytes:
    """Return the value of the first field of that name, empty if there is none."""
    begin = lowered.find(b"\r\n" + name + b":")
    if begin < 0:
        return b""
    begin += len(name) + 3
    end = lowered.find(b"\r\n", begin)
    return lowered[begin : end if end >= 0 else None].strip()
