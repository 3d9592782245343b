"""How much is received of an answer that is useless, and for a task altogether."""

from typing import Final

from gossamer.policy.robots import MAX_ROBOTS_BYTES

DRAIN_BYTES: Final = 64 * 1024
"""How much of a useless body is read so that its connection can be reused."""

MAX_SITEMAP_BYTES: Final = 50 * 1024 * 1024
"""How much of a sitemap is read, decompressed: as much as it may have (sitemaps.org)."""


def most_received(max_body_bytes: int) -> int:
    """Return the most that a task needs to receive: a body, or a robots.txt, behind a redirect."""
    return max(max_body_bytes, MAX_ROBOTS_BYTES) + DRAIN_BYTES
