"""The live display: a few lines at the bottom of the terminal that show the state of the crawl.

It is drawn at most four times a second, at ticks and messages of the crawl, without a thread of its
own. The cursor is never hidden, so nothing has to be restored, however the process ends.
"""

import socket
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice, repeat
from typing import IO, Any, Self, TextIO, TypeVar, cast

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from gossamer.coordinator.summary import Summary
from gossamer.display import status
from gossamer.display.formatting import count, span
from gossamer.display.outlet import Message, Messages, Outlet, RateLimit, printable, sentence
from gossamer.display.summary import summary_text
from gossamer.model import Event, Level, Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView

MAX_FRAMES_PER_S = 4
MAX_HELD = 65_536
"""From this many characters on, the text is written at once."""
MAX_WIDTH = 100
ROWS = 6
"""The number of lines for outcomes, and beside them for the heading and the hosts."""
WORKER_ROWS = 4
"""The number of lines for workers, below their heading."""
MESSAGES = 3
HEIGHT_WITHOUT_WORKERS = 3 + 1 + ROWS + 1 + MESSAGES + 1
FULL_HEIGHT = HEIGHT_WITHOUT_WORKERS + 1 + WORKER_ROWS + 1

OUTCOMES_WIDTH = 28
NOW_WIDTH = 14
COLUMN_WIDTH = 9
HOST_COLUMNS = {"waiting": 72, "pages": 96, "mean": 96}
"""The minimum width of the display for each; that for the hosts themselves comes next."""
WIDTH_FOR_HOSTS = 56
WORKER_WIDTHS = (6, 7, 7, 11, 6, 5)
"""The widths of the columns of a worker; they are cut on the right, in the order of interest."""

T = TypeVar("T")
STYLES = {"info": "", "warning": "yellow", "error": "bold red"}


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
        self._state: tuple[Snapshot, Sequence[HostView], Sequence[WorkerView]] | None = None
        self._machine = socket.gethostname()
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
            self._state = (snapshot, hosts, workers)
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


class Panel(msgspec.Struct, frozen=True):
    """One frame of the display."""

    snapshot: Snapshot
    hosts: Sequence[HostView]
    workers: Sequence[WorkerView]
    messages: Sequence[Message]
    machine: str = ""
    """The machine of the reader: that of a worker is shown if it is another one."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the frame for this terminal; its last line is empty, for the cursor."""
        width = min(options.max_width, MAX_WIDTH)
        yield self._bar(width)
        yield _line("   ".join(status.achieved(self.snapshot)))
        now = [
            span(self.snapshot.elapsed_s),
            *status.ahead(self.snapshot),
            *status.at_work(self.workers),
        ]
        yield _line("   ".join(now))
        if options.size.height > HEIGHT_WITHOUT_WORKERS:
            yield _line(status.estimate(self.snapshot, self.hosts))
            yield from self._outcomes_and_hosts(width)
            if options.size.height > FULL_HEIGHT:
                yield Text()
                yield from _exactly(1 + WORKER_ROWS, self._worker_lines(), Text())
            yield Text()
            yield from _exactly(MESSAGES, self._message_lines(width), Text())
        yield Text()

    def _message_lines(self, width: int) -> Iterator[Text]:
        """Yield why the crawl stands still, then the last messages: the newest one is wrapped."""
        room = MESSAGES
        if why := status.waits_for(self.snapshot, self.hosts, self.workers):
            yield _message(Message("warning", why))
            room -= 1
        if not self.messages:
            return
        *others, newest = self.messages
        wrapped = textwrap.wrap(str(newest), width) or [""]
        lines = [*wrapped[: room - 1], " ".join(wrapped[room - 1 :])] if wrapped[room:] else wrapped
        yield from map(_message, others[max(0, len(others) + len(lines) - room) :])
        yield from (_line(line, STYLES[newest.level]) for line in lines)

    def _bar(self, width: int) -> RenderableType:
        share, name = status.nearest_budget(self.snapshot)
        label = f"{min(share, 1):4.0%} of the {name}"
        row = Table.grid(padding=(0, 2))
        row.add_column(width=max(4, width - len(label) - 2))
        bar = ProgressBar(1.0, share, style="bright_black", complete_style="cyan")
        row.add_row(bar, _line(label))
        return row

    def _outcomes_and_hosts(self, width: int) -> Iterator[Text]:
        hosts = self._host_lines(width) if width >= WIDTH_FOR_HOSTS else iter(())
        lines = _exactly(ROWS, self._outcome_lines(), ""), _exactly(ROWS, hosts, Text())
        for outcome, host in zip(*lines, strict=True):
            row = _column(outcome, OUTCOMES_WIDTH), host
            yield Text.assemble(*row, no_wrap=True, overflow="ellipsis")

    def _outcome_lines(self) -> Iterator[str]:
        counts = status.by_frequency(self.snapshot.outcomes)
        if len(counts) > ROWS:
            others = sum(urls for _, urls in counts[ROWS - 1 :])
            counts = [*counts[: ROWS - 1], ("others", others)]
        return (f"{count(urls):>9}  {status.outcome_name(name)}" for name, urls in counts)

    def _host_lines(self, width: int) -> Iterator[Text]:
        columns = [name for name, least in HOST_COLUMNS.items() if width >= least]
        room = width - OUTCOMES_WIDTH - len(columns) * COLUMN_WIDTH - NOW_WIDTH
        yield Text(f"{_column('host', room)}{_cells(columns)}now", style="dim")
        for host in self.hosts:
            numbers = [count(host.waiting), count(host.pages), span(host.mean_ms / 1000)]
            name = Text(_column(printable(host.host), room))
            name.stylize("yellow" if host.failures else "")
            yield name.append(f"{_cells(numbers[: len(columns)])}{status.doing(host)}")

    def _worker_lines(self) -> Iterator[Text]:
        if not self.workers:
            return
        shown, others = status.first_workers(self.workers, WORKER_ROWS)
        yield _line(_worker_line(status.WORKER_HEADING), "dim")
        for worker in shown:
            remark = status.worker_remark(worker, self.machine)
            words = f"{_worker_line(status.worker_cells(worker))}  {remark}"
            yield _line(words.rstrip(), "yellow" if status.is_silent(worker) else "")
        if others:
            yield _line(f"{'':{WORKER_WIDTHS[0]}}  {others}", "dim")


def _exactly(number: int, items: Iterable[T], fill: T) -> Iterator[T]:
    """Yield exactly `number` items: the first ones, then that to fill up."""
    return islice(chain(items, repeat(fill)), number)


def _column(text: str, width: int) -> str:
    """Return the text cut and padded to the width, with two spaces at its end."""
    cut = text if len(text) <= width - 2 else f"{text[: width - 3]}…"
    return cut.ljust(width)


def _cells(cells: Sequence[str]) -> str:
    return "".join(f"{cell:>{COLUMN_WIDTH - 2}}  " for cell in cells)


def _worker_line(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, WORKER_WIDTHS, strict=True))


def _message(message: Message) -> Text:
    return _line(str(message), STYLES[message.level])


def _line(text: str, style: str = "") -> Text:
    """Return text of any origin as one line that is cut, never wrapped."""
    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")


class HeldOutput:
    """The buffer of text that is held back; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._text: list[str] = []
        self._length = 0

    def add(self, text: str) -> bool:
        """Add text; return whether it must be written at once."""
        with self._lock:
            self._text.append(text)
            self._length += len(text)
            return self._length >= MAX_HELD

    def take(self, *, everything: bool = False) -> str:
        """Return and remove the complete lines, or everything."""
        with self._lock:
            text = "".join(self._text)
            cut = len(text) if everything or len(text) >= MAX_HELD else text.rfind("\n") + 1
            self._text = [text[cut:]]
            self._length = len(text) - cut
            return text[:cut]


class HeldStream:
    """The replacement of a standard stream that is a terminal; bytes are not held back."""

    def __init__(self, original: TextIO, held: HeldOutput, release: Callable[[], None]) -> None:
        self._original = original
        self._held = held
        self._release = release

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- whatever the original has
        """Return what the original has."""
        return getattr(self._original, name)

    def write(self, text: str) -> int:
        """Hold the text back."""
        if self._held.add(text):
            self._release()
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Hold the lines back."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Do nothing: the next frame writes complete lines."""


@contextmanager
def hold_output(held: HeldOutput, release: Callable[[], None]) -> Iterator[None]:
    """Hold back what is printed to standard streams that are terminals."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (
        cast("TextIO", HeldStream(stream, held, release)) if stream and stream.isatty() else stream
        for stream in before
    )
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
