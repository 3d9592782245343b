"""Frames of HTTP/2 (RFC 9113), as far as it takes to misbehave: written by hand, byte by byte."""

import struct
from enum import IntEnum

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client begins with."""
PREFACE_TARGET = "*"
"""The path of the request line that it has: it stands for the whole connection here."""
END_STREAM, END_HEADERS, PADDED, ACK = 1, 4, 8, 1
_HEADER = struct.Struct("!BHBBI")


class Frame(IntEnum):
    """A kind of frame."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    CONTINUATION = 9


def frame(kind: Frame, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return a frame; stream 0 is the connection."""
    high, low = divmod(len(payload), 2**16)
    return _HEADER.pack(high, low, kind, flags, stream) + payload


def parse_frame_header(header: bytes) -> tuple[int, int, int, int]:
    """Return the size, kind, flags and stream of a frame from its nine bytes."""
    high, low, kind, flags, stream = _HEADER.unpack(header)
    return (high << 16) + low, kind, flags, stream


def field(name: bytes, value: bytes) -> bytes:
    """Return a header field as HPACK writes it without any table (RFC 7541, section 6.2.2)."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def has_request(received: bytes) -> bool:
    """Return whether a client has sent its preface and the header of a request."""
    at = len(PREFACE)
    while at + _HEADER.size <= len(received):
        size, kind, _, _ = parse_frame_header(received[at : at + _HEADER.size])
        if kind == Frame.HEADERS:
            return True
        at += _HEADER.size + size
    return False
