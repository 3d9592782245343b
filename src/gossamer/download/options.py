"""What a client needs to know before its first request: who asks, how long, how much."""

import math
from enum import Enum
from pathlib import Path

import msgspec

from gossamer.download import identity
from gossamer.errors import UsageError


class Accept(Enum):
    """Which answers a request is after."""

    PAGE = "page"
    """HTML and text, whole or not at all; anything else is not downloaded."""
    ANYTHING = "anything"
    """Any type; what is over `MAX_ROBOTS_BYTES` is cut off, and the rest taken for the whole."""


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The identity, patience and limits of a client. Refused with `UsageError` when senseless."""

    user_agent: str = msgspec.field(default_factory=identity.user_agent)
    """Sent with every request, robots.txt included."""
    connect_timeout_s: float = 5.0
    """For looking up the name, connecting and the TLS handshake together."""
    first_byte_timeout_s: float = 10.0
    """From the connection until the first line of the answer."""
    silence_timeout_s: float = 5.0
    """Between two pieces of an answer."""
    total_timeout_s: float = 30.0
    """For the whole request, however busily the server sends."""
    max_body_bytes: int = 500_000
    """The largest page, counted after decoding."""
    max_header_bytes: int = 64 * 1024
    """The largest header, interim answers (1xx) and trailers included."""
    max_header_count: int = 500
    """The most lines of header, counted alike."""
    connections: int = 100
    """How many requests run at a time, and how many connections are kept."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's."""

    def __post_init__(self) -> None:
        """Check every field, so that a wrong one is named before anything starts."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int | float) and not 0 < value < math.inf:
                raise UsageError(f"{name} must be greater than 0, not {value}.")
        if not self.user_agent.isascii() or not self.user_agent.isprintable():
            raise UsageError("The user agent must be printable ASCII on one line.")
        if not self.user_agent.strip():
            raise UsageError("The user agent must not be empty: servers want to know who asks.")
        if self.ca_file is not None and not self.ca_file.is_file():
            raise UsageError(f"There is no file of certificates at {str(self.ca_file)!r}.")
