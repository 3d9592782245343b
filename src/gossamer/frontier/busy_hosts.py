"""The busiest hosts, stored now and then for whoever reads the crawl."""

import heapq
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.frontier.hosts import Host
from gossamer.stores.views import BusyHost

MOST: Final = 50
EVERY_S: Final = 1.0
HOSTS_A_SECOND: Final = 10_000
"""How many hosts are compared in a second, so that it takes some thousandths of the time."""


class BusyHosts:
    """Says when the busiest hosts are to be stored again, and which they are."""

    def __init__(self) -> None:
        self._due = float("-inf")

    def is_due(self, now: float, hosts: int) -> bool:
        """Tell whether it is time to compare so many hosts, and that it is done then."""
        if now < self._due:
            return False
        self._due = now + max(EVERY_S, hosts / HOSTS_A_SECOND)
        return True


def pack_busy_hosts(hosts: Iterable[Host]) -> bytes:
    """Return the busiest of these hosts as they are stored."""
    busiest = heapq.nlargest(MOST, hosts, key=lambda host: host.waiting + host.in_progress)
    busy = [BusyHost(host.key, host.waiting, host.in_progress) for host in busiest]
    return msgspec.msgpack.encode([host for host in busy if host.waiting + host.in_progress])
