"""When a host may be asked again."""

from gossamer.model import HostKey


class Pacing:
    """Keeps, for each host, the earliest moment of its next request.

    A request may start no earlier than the end of the last one to the same host plus the host's
    delay: the configured one, or a longer one that its robots.txt asks for.
    """

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._longer_delay_s: dict[HostKey, float] = {}
        self._next_start: dict[HostKey, float] = {}

    def delay_s(self, host: HostKey) -> float:
        """Return the pause that this host gets between two requests."""
        return max(self._delay_s, self._longer_delay_s.get(host, 0.0))

    def wait_s(self, host: HostKey, now: float) -> float:
        """Return how long a request to this host must still wait; 0 when it may start."""
        return max(0.0, self._next_start.get(host, now) - now)

    def ended(self, host: HostKey, now: float) -> None:
        """Note that a request to this host ended now."""
        self._next_start[host] = now + self.delay_s(host)

    def ask_longer(self, host: HostKey, delay_s: float) -> None:
        """Note the Crawl-delay of this host; it counts from the end of its last request."""
        before = self.delay_s(host)
        self._longer_delay_s[host] = delay_s
        if host in self._next_start:
            self._next_start[host] += self.delay_s(host) - before
