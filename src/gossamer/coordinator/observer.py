"""What a crawl tells its watchers, and what every watcher can be told."""

from collections.abc import Sequence
from typing import Literal, Protocol, runtime_checkable

import msgspec

from gossamer.coordinator.exit_code import exit_code
from gossamer.coordinator.given_up import GivenUpHost
from gossamer.coordinator.seeds import SeedReport
from gossamer.errors import ExitCode
from gossamer.frontier.scorers.contract import ScorerReport
from gossamer.model import Event, Snapshot
from gossamer.modules import ModuleReport
from gossamer.outputs.contract import OutputReport
from gossamer.stores.views import HostView, WorkerView

__all__ = [
    "HostView",
    "Level",
    "Observer",
    "SeedReport",
    "Silence",
    "Summary",
    "WorkerView",
]

Level = Literal["info", "warning", "error"]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl that has ended, for the last words about it."""

    snapshot: Snapshot
    """The last one. Its rate is shown as that of the whole run."""
    ended_by: str
    """`complete`, `max-pages`, `max-bytes`, `interrupted`, or what else it was, in words."""
    directory: str
    """Where its results are; empty: nothing was kept."""
    pages_before: int = 0
    """How many of the pages were there before this run."""
    was_over: bool = False
    """Whether there was nothing left to do from the beginning."""
    continue_with: str | None = None
    """The command that goes on from here, where something is left to do."""
    list_with: str | None = None
    """The command that lists the pages, where no module has done anything with them."""
    save_with: str | None = None
    """The command that saves all of them as files then."""
    seeds: SeedReport = SeedReport()
    """What came of the seeds, over all runs of the crawl."""
    given_up: Sequence[GivenUpHost] = ()
    """The hosts that failed so often that they are not asked any more, as far as looked for."""
    slowest_hosts: Sequence[HostView] = ()
    modules: Sequence[ModuleReport] = ()
    max_page_bytes: int | None = None
    """The size beyond which a page is too large."""
    outputs: Sequence[OutputReport] = ()
    scorer: ScorerReport | None = None
    """How many URLs the scorer could not rank, and why; None: it has ranked all."""

    @property
    def exit_code(self) -> ExitCode:
        """What the command exits with: 0 if the crawl did what was asked for."""
        return exit_code(self.ended_by, self.seeds, self.modules)

    @property
    def new_pages(self) -> int:
        """How many of the pages came in this run."""
        return self.snapshot.pages - self.pages_before

    def __repr__(self) -> str:
        pages, size = self.snapshot.pages, self.snapshot.bytes
        return f"<Summary {self.ended_by!r}: {pages:,} pages, {size:,} bytes in {self.directory!r}>"


@runtime_checkable
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
