"""The slots of hosts that are taken without a task."""

from gossamer.frontier import Host


class TakenSlots:
    """The slots taken without a task; whoever is alive releases one within the time of a lease."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._taken: dict[Host, tuple[int, float]] = {}
        """How many of each host, and when they are over."""

    def __len__(self) -> int:
        return sum(count for count, _ in self._taken.values())

    def take(self, host: Host, now: float) -> None:
        """Note that a slot was taken."""
        count, _ = self._taken.get(host, (0, now))
        self._taken[host] = (count + 1, now + self._lease_s)

    def release(self, host: Host) -> bool:
        """Note that a slot was released; False if none is taken, or no longer."""
        count, deadline = self._taken.pop(host, (0, 0.0))
        if count > 1:
            self._taken[host] = (count - 1, deadline)
        return count > 0

    def end_overdue(self, now: float) -> list[tuple[Host, int]]:
        """Forget the slots that nobody released in time; return how many of each host."""
        overdue = [(host, taken[0]) for host, taken in self._taken.items() if taken[1] <= now]
        for host, _ in overdue:
            del self._taken[host]
        return overdue
