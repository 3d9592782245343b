"""The limits on what is received: of a useless answer, on a connection, and for a whole task."""

from typing import Final

from gossamer.policy.robots import MAX_ROBOTS_BYTES

DRAIN_BYTES: Final = 64 * 1024
"""How much of a useless body is read so that its connection can be reused."""

MAX_SITEMAP_BYTES: Final = 50 * 1024 * 1024
"""How much of a sitemap is read, decompressed: as much as it may have (sitemaps.org)."""

FRAMING_BYTES: Final = 1024 * 1024
"""How much an answer may have beside its body whatever its size: header, chunk sizes, TLS."""


def most_on_wire(max_bytes: int) -> int:
    """Return the most that is read from a connection for a body of at most this many bytes.

    Small chunks make a body twice as large, and encryption hardly larger. Anything beyond
    that only keeps us busy: chunk extensions, of which there is no end, never reach the body.
    """
    return 2 * max_bytes + FRAMING_BYTES


def most_received(max_body_bytes: int) -> int:
    """Return the most that a task needs to receive: a body, or a robots.txt, behind a redirect."""
    return max(max_body_bytes, MAX_ROBOTS_BYTES) + DRAIN_BYTES
