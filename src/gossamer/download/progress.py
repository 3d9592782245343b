"""The progress of a request, by which its deadlines are judged."""

from math import inf

import msgspec


class TransferProgress(msgspec.Struct):
    """The progress of a request; times are seconds of one clock, None means not yet."""

    started: float = inf
    """When it began, with connecting."""
    connected: float | None = None
    """When the request was sent, on a new connection or a kept one."""
    first_byte: float | None = None
    """When the first line of the answer came."""
    last_byte: float | None = None
    """When the last piece of the answer came."""
    received: int = 0
    """The bytes of the answer so far, without its framing."""
    useless_since: float | None = None
    """When the rest of the answer was found to be useless."""
    paused_at: float | None = None
    """Since when we read no more: it is us whom the server waits for."""
    paused_s: float = 0.0
    """How long it was paused before, which is no time that the server took."""

    def go_on(self, now: float) -> None:
        """Note that a piece of the answer came; a pause is over then."""
        if self.paused_at is not None:
            self.paused_s += now - self.paused_at
            self.paused_at = None
        self.last_byte = now
