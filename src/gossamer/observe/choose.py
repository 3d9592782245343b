"""The choice of the observer of a crawl, by the options and the kind of terminal."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from typing import TextIO

import msgspec

from gossamer.config import LogFormat
from gossamer.coordinator import Observer
from gossamer.observe.jsonlog import JsonLog, LogLevel
from gossamer.observe.lines import ErrorsOnly, PlainLines
from gossamer.observe.logs import logging_to
from gossamer.observe.outlet import Outlet

# Terminals that cannot move the cursor, or may not be able to.
SIMPLE_TERMINALS = {"", "dumb", "unknown"}


class DisplayStyle(Enum):
    """The styles in which a crawl can be displayed."""

    LIVE = auto()
    LINES = auto()
    EVERY_STEP = auto()
    ERRORS = auto()
    JSON = auto()


class DisplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the display."""

    log_format: LogFormat = "text"
    verbose: bool = False
    quiet: bool = False


def choose(options: DisplayOptions, *, terminal: bool) -> DisplayStyle:
    """Return the style for a terminal (that can move its cursor) or another output."""
    if options.log_format == "json":
        return DisplayStyle.JSON
    if options.quiet:
        return DisplayStyle.ERRORS
    if options.verbose:
        return DisplayStyle.EVERY_STEP
    return DisplayStyle.LIVE if terminal else DisplayStyle.LINES


@contextmanager
def open_observer(
    options: DisplayOptions, out: TextIO | None, err: TextIO | None, environment: Mapping[str, str]
) -> Iterator[Observer]:
    """Open the observer of a crawl, which also gets all logging."""
    error = Outlet(err)
    terminal = error.isatty() and environment.get("TERM", "") not in SIMPLE_TERMINALS
    observer: Observer
    match choose(options, terminal=terminal):
        case DisplayStyle.LIVE:
            from gossamer.observe.live import LiveDisplay  # noqa: PLC0415 -- rich takes time to load

            with LiveDisplay(error, time.monotonic) as observer, logging_to(observer):
                yield observer
            return
        case DisplayStyle.JSON:
            level: LogLevel = "error" if options.quiet else "debug" if options.verbose else "info"
            observer = JsonLog(error, time.time, level)
        case DisplayStyle.ERRORS:
            observer = ErrorsOnly(error)
        case DisplayStyle.EVERY_STEP:
            observer = PlainLines(error, events=Outlet(out))
        case DisplayStyle.LINES:
            observer = PlainLines(error)
    with logging_to(observer):
        yield observer
