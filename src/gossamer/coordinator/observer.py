"""What a crawl tells its watchers, and what every watcher can be told."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from gossamer.model import Event, Snapshot
from gossamer.modules import ModuleReport
from gossamer.stores.contract import HostView, WorkerView

__all__ = ["HostView", "Level", "Observer", "Silence", "Summary", "WorkerView"]

Level = Literal["info", "warning", "error"]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that has ended, for the last words about it."""

    snapshot: Snapshot
    """The last one. Its rate is shown as that of the whole run."""
    ended_by: str
    """`complete`, `max-pages`, `max-bytes`, `interrupted`, or what else it was, in words."""
    directory: str
    was_over: bool = False
    """Whether there was nothing left to do from the beginning."""
    continue_with: str | None = None
    """The command that goes on from here, where something is left to do."""
    slowest_hosts: Sequence[HostView] = ()
    modules: Sequence[ModuleReport] = ()


class Observer(Protocol):
    """Shows a crawl to somebody.

    It never raises and never stops the crawl: where the reader has gone away it falls silent.
    `say` may be called from any thread, the others only from the crawl's own.
    """

    @property
    def wants_events(self) -> bool:
        """Whether `event` does anything; there are many thousand a second to be spared."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Take the state of the crawl, about once a second.

        With it come a few hosts worth showing and all workers that take part, by number.
        """

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Take a message; the words may come from anywhere, they are made safe here."""

    def close(self, summary: Summary) -> None:
        """Take the last words; nothing follows."""


class Silence:
    """For programs that look at the summary themselves."""

    wants_events = False

    def event(self, event: Event) -> None:
        """Show nothing."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Show nothing."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Show nothing."""

    def close(self, summary: Summary) -> None:
        """Show nothing."""
