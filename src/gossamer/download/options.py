"""The options of a client: its identity (User-Agent, name in robots.txt), timeouts and limits."""

import math
from enum import Enum
from pathlib import Path

import msgspec

from gossamer import __version__
from gossamer.model.errors import UsageError
from gossamer.model.names import ContentKind
from gossamer.policy.content_kinds import PAGES

PRODUCT = "Gossamer"
"""The product token: first in the User-Agent, and our name in robots.txt."""


def user_agent(contact: str | None = None) -> str:
    """Return our User-Agent; `contact` is a page or mail address of whoever runs the crawl.

    Raise `UsageError` for a contact that is not allowed in a header's comment.
    """
    product = f"{PRODUCT}/{__version__}"
    if contact is None:
        return product
    # RFC 9110, section 5.6.5: parentheses and backslashes have a meaning inside a comment.
    if not (contact.isascii() and contact.isprintable()) or set(contact) & set("()\\"):
        raise UsageError("the contact must be printable ASCII without parentheses or backslash")
    return f"{product} (+{contact})"


class Accept(Enum):
    """The answers that a request accepts."""

    PAGE = "page"
    """What the crawl accepts, complete or not at all; anything else is not downloaded."""
    SITEMAP = "sitemap"
    """Any type; what is more than `MAX_SITEMAP_BYTES`, or than may be received, is cut off."""
    ANYTHING = "anything"
    """Any type; everything after the first `MAX_ROBOTS_BYTES` is cut off."""


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The identity, timeouts and limits of a client; invalid ones raise `UsageError`."""

    user_agent: str = msgspec.field(default_factory=user_agent)
    """Sent with every request, robots.txt included."""
    connect_timeout_s: float = 5.0
    """For looking the name up, and again for connecting and the TLS handshake together."""
    first_byte_timeout_s: float = 10.0
    """From the connection until the first line of the answer."""
    silence_timeout_s: float = 5.0
    """Between two pieces of an answer."""
    total_timeout_s: float = 30.0
    """For the whole request, even if the server keeps sending."""
    accept: frozenset[ContentKind] = PAGES
    """Which kinds of content are downloaded."""
    max_body_bytes: int = 10_000_000
    """The largest page, counted after decoding."""
    max_file_bytes: int = 10_000_000
    """The largest body of another kind."""
    max_held_bytes: int = 256_000_000
    """What all bodies over 1 MB may take at once while they arrive."""
    max_header_bytes: int = 64 * 1024
    """The largest header, interim answers (1xx) and trailers included."""
    max_header_count: int = 500
    """The most header lines, these included."""
    connections: int = 100
    """How many requests run at a time, and how many connections are kept."""
    address_connections: int | None = None
    """How many of them may be to one address; None: a few, but any number to one that the operator
    has allowed."""
    host_connections: int = 1
    """How many of them may be to one host: at least as many may be to one address."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's."""

    def __post_init__(self) -> None:
        """Check every field, so that a wrong one is named before anything starts."""
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int | float) and not 0 < value < math.inf:
                raise UsageError(f"{name} must be greater than 0, not {value}")
        if not self.user_agent.isascii() or not self.user_agent.isprintable():
            raise UsageError("the user agent must be printable ASCII on one line")
        if not self.user_agent.strip():
            raise UsageError(
                "the user agent must not be empty: it tells servers who sends the requests"
            )
        if self.ca_file is not None and not self.ca_file.is_file():
            raise UsageError(f"there is no certificate file {str(self.ca_file)!r}")
