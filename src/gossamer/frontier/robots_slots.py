"""The slots of hosts that are taken to ask for their robots.txt, without a task."""

from gossamer.frontier.host_registry import HostRegistry
from gossamer.frontier.hosts import Host
from gossamer.stores.rows import HostRow


class RobotsSlots:
    """The slots taken without a task; whoever is alive releases one within the time of a lease."""

    def __init__(self, hosts: HostRegistry, lease_s: float) -> None:
        self._registry = hosts
        self._lease_s = lease_s
        self._taken: dict[Host, None] = {}
        """The hosts of which any is taken."""

    def __len__(self) -> int:
        return sum(host.robots_slots for host in self._taken)

    def take(self, host: Host, now: float) -> None:
        """Note that a slot was taken."""
        host.robots_slots += 1
        host.robots_until = now + self._lease_s
        self._taken[host] = None
        self._registry.note(host)

    def resume(self, host: Host, row: HostRow) -> None:
        """Go on with slots that were stored."""
        host.robots_slots, host.robots_until = row.robots_slots, row.robots_until
        self._taken[host] = None

    def release(self, host: Host) -> bool:
        """Note that a slot was released; False if none is taken, or no longer."""
        if not host.robots_slots:
            return False
        host.robots_slots -= 1
        if not host.robots_slots:
            del self._taken[host]
        self._registry.note(host)
        return True

    def end_overdue(self, now: float) -> list[tuple[Host, int]]:
        """Forget the slots that nobody released in time; return how many of each host."""
        overdue = [(host, host.robots_slots) for host in self._taken if host.robots_until <= now]
        for host, _ in overdue:
            host.robots_slots = 0
            del self._taken[host]
            self._registry.note(host)
        return overdue
