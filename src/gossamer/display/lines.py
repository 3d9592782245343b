"""Progress for people as plain lines, and the choice of the observer of a crawl.

The options and the kind of terminal decide: a live display (`live`), plain lines, errors only, or
JSON (`jsonlog`).
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TextIO

from gossamer.config import LogFormat
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.processes.worker_channel import logging_to
from gossamer.coordinator.summary import Summary
from gossamer.display.outlet import Message, Outlet, RateLimit, printable, sentence
from gossamer.display.status import status_line, waits_for
from gossamer.display.summary import summary_text, trouble
from gossamer.model import Event, EventKind, Level, Outcome, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

MAX_INDENT = 40
"""The limit of the indentation: the depth of a spider trap has none."""
MAX_LINE = 4096
INTERVAL_S = 5.0
SIMPLE_TERMINALS = {"", "dumb", "unknown"}
"""Terminals that cannot move the cursor, or may not be able to."""

EVENT_WORDS = {
    EventKind.FETCHED: "Fetched",
    EventKind.SAVED: "Saved",
    EventKind.SCANNING: "Scanning",
    EventKind.FOUND: "Found",
    EventKind.ALREADY_KNOWN: "IgnDupl",
    EventKind.OUTSIDE: "IgnExtrn",
    EventKind.ADDED: "Added",
    EventKind.NO_FOLLOW: "NoFollow",
    EventKind.NO_MARKERS: "NoMarkers",
}

OUTCOME_WORDS = {
    Outcome.REDIRECTED: "Redirect",
    Outcome.NOT_FOUND: "NotFound",
    Outcome.GONE: "Gone",
    Outcome.CLIENT_ERROR: "Refused",
    Outcome.SERVER_ERROR: "SrvError",
    Outcome.RATE_LIMITED: "TooFast",
    Outcome.ROBOTS_DENIED: "Forbidden",
    Outcome.ROBOTS_UNREACHABLE: "NoRobots",
    Outcome.OUT_OF_SCOPE: "IgnExtrn",
    Outcome.UNWANTED_TYPE: "NotHtml",
    Outcome.SITEMAP: "Sitemap",
    Outcome.NOT_SITEMAP: "NoSitemap",
    Outcome.TOO_LARGE: "TooLarge",
    Outcome.TIMED_OUT: "TimedOut",
    Outcome.DNS_FAILED: "NoServer",
    Outcome.CONNECTION_FAILED: "NoConnect",
    Outcome.TLS_FAILED: "BadCert",
    Outcome.BAD_HTTP: "BadHttp",
    Outcome.BAD_REDIRECT: "BadRedir",
    Outcome.ADDRESS_REFUSED: "Unsafe",
    Outcome.DUPLICATE: "Duplicate",
    Outcome.SIMILAR: "Similar",
    Outcome.GAVE_UP: "GaveUp",
    Outcome.HOST_OVER_BUDGET: "OverBudg",
    Outcome.TRAP: "Trap",
}
"""One word of at most nine letters for every outcome without a page."""


def progress_line(event: Event) -> str:
    """Return one line: depth in two columns, a space for each level, the word in nine, the URL."""
    word = EVENT_WORDS[event.kind] if event.outcome is None else OUTCOME_WORDS[event.outcome]
    detail = f" ({event.detail})" if event.detail else ""
    indent = " " * min(event.depth, MAX_INDENT)
    # A link that is not a URL is shown as the page has it, which may be anything.
    return printable(f"{event.depth:2d} {indent}{word:>9s}: {event.url}{detail}", MAX_LINE)


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
            why = waits_for(snapshot, hosts, workers)
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


@contextmanager
def open_observer(
    out: TextIO | None,
    err: TextIO | None,
    environment: Mapping[str, str],
    *,
    log_format: LogFormat = "text",
    verbose: bool = False,
    quiet: bool = False,
) -> Iterator[Observer]:
    """Open the observer of a crawl, which also gets all logging."""
    error = Outlet(err)
    with ExitStack() as exits:
        observer: Observer
        if log_format == "json":
            from gossamer.display.jsonlog import JsonLog, LogLevel  # noqa: PLC0415 -- json takes time

            level: LogLevel = "error" if quiet else "debug" if verbose else "info"
            observer = JsonLog(error, time.time, level)
        elif quiet:
            observer = ErrorsOnly(error)
        elif verbose:
            observer = PlainLines(error, events=Outlet(out))
        elif error.isatty() and environment.get("TERM", "") not in SIMPLE_TERMINALS:
            from gossamer.display.live import LiveDisplay  # noqa: PLC0415 -- rich takes time to load

            observer = exits.enter_context(LiveDisplay(error, time.monotonic))
        else:
            observer = PlainLines(error)
        exits.enter_context(logging_to(observer.say))
        yield observer
