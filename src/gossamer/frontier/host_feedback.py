"""What a request tells about its host."""

import msgspec


class HostFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """What a request showed about its host: its duration, its failure, the pause it asks for."""

    ended: float
    """When the last byte of the last request to the host arrived."""
    took_s: float = 0.0
    """The duration of the request."""
    failed: bool = False
    """Whether the host failed, and not only this page."""
    answered: bool = True
    """Whether the host answered at all."""
    overloaded: bool = False
    """Whether it showed that it has too much to do."""
    crawl_delay_s: float | None = None
    retry_after_s: float | None = None
