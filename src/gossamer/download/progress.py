"""The progress of a request, by which its deadlines are judged."""

import msgspec


class TransferProgress(msgspec.Struct):
    """The progress of a request; times are seconds of one clock, None means not yet."""

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
