"""An observer that shows nothing."""

from collections.abc import Sequence

from gossamer.coordinator.observer import HostView, Level, Summary
from gossamer.model import Event, Snapshot


class Silence:
    """For programs that look at the summary themselves."""

    wants_events = False

    def event(self, event: Event) -> None:
        """Show nothing."""

    def tick(self, snapshot: Snapshot, hosts: Sequence[HostView]) -> None:
        """Show nothing."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Show nothing."""

    def close(self, summary: Summary) -> None:
        """Show nothing."""
