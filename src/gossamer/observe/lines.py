"""Progress as plain lines, for pipes, files and simple terminals."""

from collections.abc import Sequence

from gossamer.coordinator import HostView, Level, Summary
from gossamer.model import Event, Snapshot
from gossamer.observe.classic import progress_line
from gossamer.observe.messages import Message, sentence
from gossamer.observe.outlet import Outlet, RateLimit
from gossamer.observe.standstill import resting_words, standstill
from gossamer.observe.status import status_line
from gossamer.observe.summary import summary_text, trouble
from gossamer.stores.views import WorkerView
from gossamer.views.status import worker_entries

INTERVAL_S = 5.0


class PlainLines:
    """An observer that writes a line every few seconds and the summary, to standard error.

    With `events` it also writes the classic line of every step, to standard output: at once to a
    terminal, and in blocks to a pipe or file, at the latest with the next tick.
    """

    def __init__(
        self, error: Outlet, events: Outlet | None = None, interval_s: float = INTERVAL_S
    ) -> None:
        self._error = error
        self._events = events
        self._rate_limit = RateLimit(1, interval_s)

    @property
    def wants_events(self) -> bool:
        """Whether every step is written."""
        return self._events is not None and self._events.failure is None

    def event(self, event: Event) -> None:
        """Write the classic line of a step."""
        if self._events is not None:
            self._events.write(f"{progress_line(event)}\n")

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Write the state of the crawl, if it is time and the stream is ready."""
        self._flush_events()
        if self._rate_limit.due(snapshot.elapsed_s) and self._error.ready():
            why = standstill(snapshot.resting_s, worker_entries(workers))
            why = why or resting_words(snapshot, hosts)
            self._error.line("  ".join(filter(None, [status_line(snapshot), why])))

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Write a message."""
        self._error.line(f"gossamer: {Message(level, sentence(message, fields))}")

    def close(self, summary: Summary) -> None:
        """Write the summary."""
        self._flush_events()
        self._error.line(f"\n{summary_text(summary)}")

    def _flush_events(self) -> None:
        if self._events is not None:
            self._events.flush()


class ErrorsOnly(PlainLines):
    """An observer that writes errors only, to standard error."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Ignore it."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Write an error."""
        if level == "error":
            super().say(level, message, **fields)

    def close(self, summary: Summary) -> None:
        """Write what went wrong."""
        for line in trouble(summary):
            super().say("error", line)
