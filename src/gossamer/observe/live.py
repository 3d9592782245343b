"""The live display: a few lines at the bottom of the terminal that show the state of the crawl.

It is drawn at most four times a second, at ticks and messages of the crawl, without a thread of its
own. The cursor is never hidden, so nothing has to be restored, however the process ends.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import IO, Self, cast

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment, Segments

from gossamer.coordinator import HostView, Level, Summary
from gossamer.model import Event, Snapshot
from gossamer.observe.held_output import HeldOutput, hold_output
from gossamer.observe.messages import Messages, sentence
from gossamer.observe.outlet import Outlet, RateLimit
from gossamer.observe.panel import MESSAGES, Panel
from gossamer.observe.summary import summary_text
from gossamer.observe.workers import this_machine
from gossamer.stores.views import WorkerView
from gossamer.views.status import WorkerEntry, worker_entries

MAX_FRAMES_PER_S = 4


class TerminalConsole(Console):
    """A console that never hides the cursor."""

    def show_cursor(self, show: bool = True) -> bool:
        """Do nothing: a hidden cursor would stay hidden if the process is killed or stopped."""
        return False


class LiveDisplay:
    """An observer that displays the crawl in a terminal, until `close` or the end of `with`."""

    wants_events = False

    def __init__(self, outlet: Outlet, clock: Callable[[], float]) -> None:
        self._outlet = outlet
        self._clock = clock
        # The caller has checked that this is a terminal: FORCE_COLOR and the like are ignored.
        self._console = TerminalConsole(
            file=cast("IO[str]", outlet), force_terminal=True, force_interactive=True
        )
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._rate_limit = RateLimit(MAX_FRAMES_PER_S, 1.0)
        self._messages = Messages()
        self._state: tuple[Snapshot, Sequence[HostView], Sequence[WorkerEntry]] | None = None
        self._machine = this_machine()
        self._held = HeldOutput()
        self._lock = threading.RLock()
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        self._exits.enter_context(hold_output(self._held, self._draw))
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the display from the terminal."""
        self._end()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the current display."""
        if self._state is not None:
            yield Panel(*self._state, self._messages.latest(MESSAGES), self._machine)

    def event(self, event: Event) -> None:
        """Ignore it: there are too many to read."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Show the state of the crawl."""
        with self._lock:
            self._state = (snapshot, hosts, worker_entries(workers))
            self._draw_if_due()

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Show a message for a while; warnings and errors are repeated at the end."""
        with self._lock:
            self._messages.add(level, sentence(message, fields))
            self._draw_if_due()

    def close(self, summary: Summary) -> None:
        """Replace the display by the summary."""
        self._end()
        self._outlet.line(summary_text(summary, self._console.width))

    def _draw_if_due(self) -> None:
        # Do not wait for a terminal that was stopped (Ctrl-S).
        if self._state is not None and self._rate_limit.due(self._clock()) and self._outlet.ready():
            self._draw()

    def _draw(self) -> None:
        """Write what was held back, and the display below it, in one piece."""
        with self._lock:
            text = self._held.take()
            if self._state is None:
                self._outlet.write(text)
                return
            self._live.start()
            if text:
                self._console.print(Segments([Segment(text)]), end="", soft_wrap=True)
            else:
                self._live.refresh()

    def _end(self) -> None:
        with self._lock:
            self._live.stop()
            self._state = None
            self._exits.close()
            if rest := self._held.take(everything=True):
                self._outlet.write(rest if rest.endswith("\n") else f"{rest}\n")
            for line in self._messages.serious():
                self._outlet.line(f"gossamer: {line}")
            self._messages = Messages()
            self._outlet.flush()
