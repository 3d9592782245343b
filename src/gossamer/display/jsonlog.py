"""Progress for programs: one JSON object per line.

Every object has `time`, `level`, `event`, and the fields of the event:

    progress   info    the counters of the crawl and its `workers`, every few seconds
    message    any     `message` and its fields
    summary    info    the last line of a crawl (`summary_record`); error if its exit code says so
    fetched …  debug   every step, on request: `url`, `depth`, `outcome`, `detail`

The lines are ASCII without control characters, so they are safe on a terminal, too.
"""

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from gossamer.coordinator.summary import Summary
from gossamer.display.outlet import Outlet, RateLimit
from gossamer.display.summary import summary_record, trouble
from gossamer.model import Event, Level, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

INTERVAL_S = 5.0
# Text of unknown origin is cut, as everywhere; a URL is never longer than this.
MAX_TEXT = 4096

LogLevel = Literal["debug", "info", "warning", "error"]
SEVERITY = {"debug": 0, "info": 1, "warning": 2, "error": 3}


class JsonLog:
    """An observer that writes JSON lines from a level on; steps have the level `debug`."""

    def __init__(
        self, outlet: Outlet, clock: Callable[[], float], least: LogLevel = "info"
    ) -> None:
        self._outlet = outlet
        self._clock = clock
        self._least = least
        self._rate_limit = RateLimit(1, INTERVAL_S)

    @property
    def wants_events(self) -> bool:
        """Whether every step is written."""
        return self._least == "debug" and self._outlet.failure is None

    def event(self, event: Event) -> None:
        """Write a step."""
        if self._least == "debug":
            outcome = {} if event.outcome is None else {"outcome": event.outcome}
            detail = {"detail": event.detail} if event.detail else {}
            fields = {"url": event.url, "depth": event.depth, **outcome, **detail}
            self._outlet.write(self._line("debug", event.kind, fields))

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Write the counters and the workers, if it is time and the stream is ready."""
        self._outlet.flush()
        if self._rate_limit.due(snapshot.elapsed_s) and self._outlet.ready():
            working = {"workers": msgspec.to_builtins(workers)}
            self._write("info", "progress", msgspec.to_builtins(snapshot) | working)

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Write a message."""
        self._write(level, "message", {"message": message, **fields})

    def close(self, summary: Summary) -> None:
        """Write the summary."""
        level: Level = "error" if trouble(summary) else "info"
        self._write(level, "summary", summary_record(summary))

    def _write(self, level: LogLevel, event: str, fields: dict[str, object]) -> None:
        if SEVERITY[level] >= SEVERITY[self._least]:
            self._outlet.write(self._line(level, event, fields))
            self._outlet.flush()

    def _line(self, level: LogLevel, event: str, fields: dict[str, object]) -> str:
        moment = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        head = {"time": moment.replace("+00:00", "Z"), "level": level, "event": event}
        rest = {name: plain(value) for name, value in fields.items() if name not in head}
        # Python escapes everything but printable ASCII, lone surrogates too.
        return f"{json.dumps(head | rest)}\n"


def plain(value: object) -> object:
    """Return the value in a form that JSON allows: bounded text, finite numbers."""
    match value:
        case str():
            return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
        case float():
            return round(value, 3) if math.isfinite(value) else None
        case dict():
            return {name: plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
    return value
