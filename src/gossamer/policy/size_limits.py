"""How many bytes of bodies a task may receive, over all of its requests."""

from collections.abc import Callable
from typing import Final

from gossamer.policy.robots import MAX_ROBOTS_BYTES

DRAIN_BYTES: Final = 64 * 1024
"""How much of a useless body is read so that its connection can be reused."""

MAX_SITEMAP_BYTES: Final = 50 * 1024 * 1024
"""How much of a sitemap is read, decompressed: as much as it may have (sitemaps.org)."""

UNLIMITED: Final = 10**15

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


class Allowance:
    """What a task may still receive, counted as it arrives: before any content decoding.

    What a server has sent beyond that stays in the buffers of libcurl and the system, and is
    dropped with the connection.
    """

    def __init__(
        self,
        limit: int = UNLIMITED,
        *,
        is_last: bool = False,
        on_received: Callable[[int], None] | None = None,
    ) -> None:
        """Allow so much; `is_last`: it is all that is left, and may be less than a request needs.

        `on_received` gets each change of what was received and is not accounted for yet.
        """
        self.received = 0
        self._limit = limit
        self._is_last = is_last
        self._on_received = on_received
        self._is_over = False

    def __repr__(self) -> str:
        return f"<Allowance: {self.received} of {self._limit} bytes>"

    @property
    def left(self) -> int:
        """How many more bytes may be received."""
        return 0 if self._is_over else self._limit - self.received

    @property
    def is_short(self) -> bool:
        """Whether what it breaks off is no fault of the server's, and to be tried again."""
        return self._is_last or self._is_over

    def take(self, size: int) -> bool:
        """Count bytes that have arrived; False if they are more than was left."""
        taken = min(size, self.left)
        self.received += taken
        if self._on_received is not None:
            self._on_received(taken)
        return taken == size

    def end(self) -> None:
        """Allow nothing more: what was received is accounted for."""
        if not self._is_over:
            self._is_over = True
            if self._on_received is not None:
                self._on_received(-self.received)
