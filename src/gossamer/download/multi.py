"""libcurl's multi handle on the event loop.

pycurl's own class for it, `AsyncCurlMulti`, has the loop watch each socket, and needs a timer and
several turns of the loop for each transfer, which takes longer than the transfer itself. Here the
sockets are watched by a selector, of which the loop watches the one descriptor: what is ready
together is handled together, in one turn.
"""

import asyncio
import resource
import selectors
from math import inf

import pycurl

KEPT_CONNECTIONS = 500
"""How many connections are kept, if the system allows: a host that rests is asked again over the
same one, and many hosts rest at a time."""

_WANTED = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_READY = {
    selectors.EVENT_READ: pycurl.CSELECT_IN,
    selectors.EVENT_WRITE: pycurl.CSELECT_OUT,
    selectors.EVENT_READ | selectors.EVENT_WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}


class Multi:
    """The transfers of a client, each with a future for its end."""

    def __init__(self, connections: int) -> None:
        self._futures: dict[pycurl.Curl, asyncio.Future[None]] = {}
        self._loop = asyncio.get_running_loop()
        self._selector = selectors.DefaultSelector()
        self._loop.add_reader(self._selector.fileno(), self._on_ready)
        self._due = inf
        """When libcurl wants to be called, by the clock of the loop."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        """When the timer ends: uvloop's does not tell that if it was due already."""
        self._is_starting = False
        self._multi = pycurl.CurlMulti()
        open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections_to_keep(connections, open_files))
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._multi.closed

    def add(self, curl: pycurl.Curl) -> asyncio.Future[None]:
        """Start a transfer; its future raises a `pycurl.error` if it fails."""
        future = self._futures[curl] = self._loop.create_future()
        self._multi.add_handle(curl)
        return future

    def remove(self, curl: pycurl.Curl) -> None:
        """Break off a transfer, unless it has ended."""
        if self._futures.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        """Close every connection; whoever waits for a transfer is cancelled."""
        if self.closed:
            return
        for curl, future in list(self._futures.items()):
            self.remove(curl)
            future.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._selector.fileno())
        self._multi.close()
        self._selector.close()

    # -- what libcurl wants ----------------------------------------------------------------------

    def _on_socket(self, what: int, fd: int, _multi: pycurl.CurlMulti, is_known: object) -> None:
        """Watch a socket for what libcurl waits for."""
        events = _WANTED.get(what)
        if events is None:
            self._selector.unregister(fd)
        elif is_known:
            self._selector.modify(fd, events)
        else:
            self._selector.register(fd, events)
            self._multi.assign(fd, True)

    def _on_timer(self, wait_ms: int) -> None:
        """Note when libcurl wants to be called; a timer that is earlier finds that out."""
        if wait_ms == 0:
            self._start()
            return
        self._due = inf if wait_ms < 0 else self._loop.time() + wait_ms / 1e3
        if self._due < inf and (self._timer is None or self._timer_at > self._due):
            self._set_timer()

    def _start(self) -> None:
        """Call libcurl in the next turn: once for all transfers that were added in this one."""
        if not self._is_starting:
            self._is_starting = True
            self._loop.call_soon(self._on_start)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = self._loop.call_at(self._due, self._on_time), self._due

    # -- what the loop has for it ----------------------------------------------------------------

    def _on_start(self) -> None:
        self._is_starting = False
        self._act(pycurl.SOCKET_TIMEOUT, 0)

    def _on_time(self) -> None:
        self._timer = None
        if self._loop.time() >= self._due:
            self._due = inf
            self._act(pycurl.SOCKET_TIMEOUT, 0)
        elif self._due < inf:
            self._set_timer()

    def _on_ready(self) -> None:
        for key, events in self._selector.select(0):
            self._act(key.fd, _READY[events])

    def _act(self, fd: int, events: int) -> None:
        """Have libcurl work on a socket, or on what is due; then tell whose transfer has ended."""
        if self.closed:
            return
        try:
            _, running = self._multi.socket_action(fd, events)
        except pycurl.error as error:
            ended = [(curl, *error.args) for curl in self._futures]
        else:
            if running == len(self._futures):
                return
            _, done, ended = self._multi.info_read()
            for curl in done:
                self._end(curl, None)
        for curl, *words in ended:
            self._end(curl, pycurl.error(*words))

    def _end(self, curl: pycurl.Curl, error: pycurl.error | None) -> None:
        future = self._futures[curl]
        self.remove(curl)
        if future.done():  # it was cancelled a moment ago
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


def connections_to_keep(connections: int, open_files: int) -> int:
    """Return how many connections are kept where so many requests and open files are allowed."""
    if open_files == resource.RLIM_INFINITY:
        return max(connections, KEPT_CONNECTIONS)
    return max(connections, min(KEPT_CONNECTIONS, open_files // 2))
