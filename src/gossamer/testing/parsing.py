"""The parser of request headers."""

import msgspec

MAX_HEADER_BYTES = 65_536
"""Longer request headers are refused."""


class Request(msgspec.Struct, gc=False):
    """A parsed request, with the parts that this server needs."""

    method: str
    target: str
    """The path and query as on the request line."""
    host: str
    """The name in the Host field, in lower case, without port; empty if there was none."""
    header: bytes
    """The header fields without the request line."""
    closes: bool
    """Whether the client expects the connection to close after the answer."""


def parse_request(head: bytes) -> Request | None:
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
    return Request(
        method=method.decode("latin-1"),
        target=target.decode("latin-1"),
        host=_field(lowered, b"host").partition(b":")[0].decode("latin-1"),
        header=header,
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
