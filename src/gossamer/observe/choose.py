"""The choice of the observer of a crawl, by the options and the kind of terminal."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TextIO

import msgspec

from gossamer.config import LogFormat
from gossamer.coordinator import Observer
from gossamer.observe.lines import ErrorsOnly, PlainLines
from gossamer.observe.outlet import Outlet
from gossamer.plugins.logs import logging_to

# Terminals that cannot move the cursor, or may not be able to.
SIMPLE_TERMINALS = {"", "dumb", "unknown"}


class DisplayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the display."""

    log_format: LogFormat = "text"
    verbose: bool = False
    quiet: bool = False


@contextmanager
def open_observer(
    options: DisplayOptions, out: TextIO | None, err: TextIO | None, environment: Mapping[str, str]
) -> Iterator[Observer]:
    """Open the observer of a crawl, which also gets all logging."""
    error = Outlet(err)
    with ExitStack() as exits:
        observer: Observer
        if options.log_format == "json":
            from gossamer.observe.jsonlog import JsonLog, LogLevel  # noqa: PLC0415 -- json takes time

            level: LogLevel = "error" if options.quiet else "debug" if options.verbose else "info"
            observer = JsonLog(error, time.time, level)
        elif options.quiet:
            observer = ErrorsOnly(error)
        elif options.verbose:
            observer = PlainLines(error, events=Outlet(out))
        elif error.isatty() and environment.get("TERM", "") not in SIMPLE_TERMINALS:
            from gossamer.observe.live import LiveDisplay  # noqa: PLC0415 -- rich takes time to load

            observer = exits.enter_context(LiveDisplay(error, time.monotonic))
        else:
            observer = PlainLines(error)
        exits.enter_context(logging_to(observer.say))
        yield observer
