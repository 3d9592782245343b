"""The sockets of kept connections, which libcurl does not tell about.

libcurl checks a kept connection before it uses it again, but only once a second. Whatever a server
sent in the meantime would be taken for the answer to the next request.
"""

import os
import select
import socket
import struct
from typing import Final, TypeAlias

Ends: TypeAlias = tuple[str, int, str, int]
"""The local and the remote end of a connection, each as address and port."""

_TCP_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_BYTES_RECEIVED: Final = struct.Struct("=128xQ")
"""Where Linux tells how many bytes a connection has received (`struct tcp_info`)."""


class ConnectionSockets:
    """The sockets of a client's connections, by their ends."""

    def __init__(self) -> None:
        self._sockets: dict[Ends, tuple[int, select.poll]] = {}
        self._answers: dict[Ends, int] = {}
        """The bytes of answers that have ended, for each connection that requests share."""
        self._ends: dict[int, Ends] = {}
        """The same, the other way round: a descriptor that is used again replaces its old entry."""

    def note(self, ends: Ends, opened: list[int]) -> None:
        """Note that a new connection has one of these sockets, the others having failed."""
        fd = opened[-1] if len(opened) == 1 else _with_port(opened, ends[1])
        previous = self._ends.get(fd)
        if previous is not None:
            self._sockets.pop(previous, None)
            self._answers.pop(previous, None)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        self._ends[fd] = ends
        self._sockets[ends] = fd, poll

    def share(self, ends: Ends) -> None:
        """Note that a connection is one of HTTP/2: there, a server may send at any time."""
        if ends in self._sockets and ends not in self._answers:
            self._sockets[ends] = self._sockets[ends][0], select.poll()
            self._answers[ends] = 0

    def is_shared(self, ends: Ends) -> bool:
        """Return whether a connection is one that requests share."""
        return ends in self._answers

    def note_answer(self, ends: Ends, size: int) -> None:
        """Note that an answer of so many bytes has ended on a connection that requests share."""
        if ends in self._answers:
            self._answers[ends] += size

    def is_quiet(self, ends: Ends) -> bool:
        """Return whether a connection is known and nothing waits there to be read, nor its end."""
        known = self._sockets.get(ends)
        return known is not None and not known[1].poll(0)

    def received(self, ends: Ends) -> int | None:
        """Return how many bytes a connection has received; None where that is not known.

        Only Linux tells. Of HTTP/2, what belongs to answers that have ended is not counted.
        """
        known = self._sockets.get(ends)
        if known is None or _TCP_INFO is None:
            return None
        fd, _ = known
        # The family is not asked for, which would take three more system calls.
        try:
            wrapped = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, fd)
        except OSError:  # it was closed a moment ago
            return None
        try:
            info = wrapped.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _BYTES_RECEIVED.size)
        except OSError:
            return None
        finally:
            wrapped.detach()
        if len(info) != _BYTES_RECEIVED.size:
            return None
        return int(_BYTES_RECEIVED.unpack(info)[0]) - self._answers.get(ends, 0)


def _with_port(opened: list[int], port: int) -> int:
    """Return the socket that has this local port."""
    for fd in reversed(opened):
        try:
            with socket.socket(fileno=os.dup(fd)) as copy:
                if copy.getsockname()[1] == port:
                    return fd
        except OSError:  # it was closed: another address was quicker
            continue
    return opened[-1]
