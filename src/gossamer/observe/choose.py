"""Which observer a crawl gets, by what was asked for and where it is shown."""

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

# Terminals that cannot move the cursor; an unknown one is taken for such a one.
SIMPLE_TERMINALS = {"", "dumb", "unknown"}


class Look(Enum):
    """The ways in which a crawl can show itself."""

    LIVE = auto()
    LINES = auto()
    EVERY_STEP = auto()
    ERRORS = auto()
    JSON = auto()


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    log_format: LogFormat = "text"
    verbose: bool = False
    quiet: bool = False


def choose(wish: Wish, *, terminal: bool) -> Look:
    """Return the look for a wish on a terminal (that can move its cursor) or elsewhere."""
    if wish.log_format == "json":
        return Look.JSON
    if wish.quiet:
        return Look.ERRORS
    if wish.verbose:
        return Look.EVERY_STEP
    return Look.LIVE if terminal else Look.LINES


@contextmanager
def open_observer(
    wish: Wish, out: TextIO | None, err: TextIO | None, environment: Mapping[str, str]
) -> Iterator[Observer]:
    """Give a crawl its observer, to which all logging goes too, and leave the streams in order."""
    error = Outlet(err)
    terminal = error.isatty() and environment.get("TERM", "") not in SIMPLE_TERMINALS
    observer: Observer
    match choose(wish, terminal=terminal):
        case Look.LIVE:
            from gossamer.observe.live import LiveDisplay  # noqa: PLC0415 -- rich takes time to load

            with LiveDisplay(error, time.monotonic) as observer, logging_to(observer):
                yield observer
            return
        case Look.JSON:
            level: LogLevel = "error" if wish.quiet else "debug" if wish.verbose else "info"
            observer = JsonLog(error, time.time, level)
        case Look.ERRORS:
            observer = ErrorsOnly(error)
        case Look.EVERY_STEP:
            observer = PlainLines(error, events=Outlet(out))
        case Look.LINES:
            observer = PlainLines(error)
    with logging_to(observer):
        yield observer
