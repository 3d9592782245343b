"""Progress as plain lines: for pipes, files and terminals that cannot do more."""

from collections.abc import Sequence

from gossamer.coordinator import HostView, Level, Summary
from gossamer.model import Event, Snapshot
from gossamer.observe.classic import progress_line
from gossamer.observe.messages import sentence
from gossamer.observe.outlet import Outlet
from gossamer.observe.rate_limit import RateLimit
from gossamer.observe.status import status_line
from gossamer.observe.summary import summary_text

INTERVAL_S = 5.0


def say_line(outlet: Outlet, level: Level, text: str) -> None:
    """Write a message as one line that tells whose it is and how serious."""
    label = "" if level == "info" else f"{level}: "
    outlet.line(f"gossamer: {label}{text}")


class PlainLines:
    """A line every few seconds and the summary, on standard error.

    With `events` also the classic words for every step, on standard output. They are passed on
    at once to a terminal, and to a pipe or file in blocks, at the latest with the next tick.
    """

    def __init__(
        self, error: Outlet, events: Outlet | None = None, interval_s: float = INTERVAL_S
    ) -> None:
        self._error = error
        self._events = events
        self._rate_limit = RateLimit(1, interval_s)

    @property
    def wants_events(self) -> bool:
        """Whether every step is told."""
        return self._events is not None and self._events.failure is None

    def event(self, event: Event) -> None:
        """Write the classic line of a step."""
        if self._events is not None:
            self._events.write(f"{progress_line(event)}\n")

    def tick(self, snapshot: Snapshot, hosts: Sequence[HostView]) -> None:
        """Write where the crawl stands, if that was long ago and somebody reads it."""
        self._flush_events()
        if self._rate_limit.due(snapshot.elapsed_s) and self._error.ready():
            self._error.line(status_line(snapshot))

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Write a message."""
        say_line(self._error, level, sentence(message, fields))

    def close(self, summary: Summary) -> None:
        """Write the summary."""
        self._flush_events()
        self._error.line(f"\n{summary_text(summary)}")

    def _flush_events(self) -> None:
        if self._events is not None:
            self._events.flush()


class ErrorsOnly:
    """Nothing but errors, on standard error."""

    wants_events = False

    def __init__(self, error: Outlet) -> None:
        self._error = error

    def event(self, event: Event) -> None:
        """Ignore it."""

    def tick(self, snapshot: Snapshot, hosts: Sequence[HostView]) -> None:
        """Ignore it."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Write an error."""
        if level == "error":
            say_line(self._error, level, sentence(message, fields))

    def close(self, summary: Summary) -> None:
        """Ignore it."""
