"""The first bytes of a connection: whether the client begins with TLS, and whom it asks for."""

_HANDSHAKE = 0x16
_RECORD_HEADER = 5
MAX_HELLO_BYTES = _RECORD_HEADER + 2**14


def is_tls(begin: bytes) -> bool:
    """Return whether a connection that begins like this is one of TLS."""
    return begin[:1] == bytes([_HANDSHAKE])


def is_whole(begin: bytes) -> bool:
    """Return whether the first record of TLS is there with all its bytes."""
    size = int.from_bytes(begin[3:_RECORD_HEADER], "big")
    return len(begin) >= min(MAX_HELLO_BYTES, _RECORD_HEADER + size) > _RECORD_HEADER


def server_name(hello: bytes) -> str:
    """Return the name that a client asks for (RFC 6066, section 3), empty if it does not say."""
    # Record and handshake headers, version, random; then three lists before the extensions.
    at = _RECORD_HEADER + 4 + 2 + 32
    for width in (1, 2, 1):
        at += width + int.from_bytes(hello[at : at + width], "big")
    at += 2
    while at + 4 <= len(hello):
        kind, size = int.from_bytes(hello[at : at + 2], "big"), hello[at + 2 : at + 4]
        body = hello[at + 4 : at + 4 + int.from_bytes(size, "big")]
        if kind == 0:
            return body[5:].decode("latin-1").lower()
        at += 4 + int.from_bytes(size, "big")
    return ""
