"""The layout of the live display, for the size of the terminal.

Its height depends on the terminal alone and not on the contents: a display that grows and shrinks
is hard to read. In a low terminal the list of workers gives way first, then everything but the bar
and the figures. All text is `rich.text.Text`, in which markup is not interpreted.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from typing import TypeVar

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from gossamer.coordinator import HostView
from gossamer.model import Snapshot
from gossamer.observe.escape import printable
from gossamer.observe.estimate import estimate
from gossamer.observe.figures import count, span
from gossamer.observe.messages import Message
from gossamer.observe.standstill import resting_words, standstill
from gossamer.observe.status import achieved, ahead, doing, nearest_budget, outcome_counts
from gossamer.observe.workers import (
    WORKER_HEADING,
    at_work,
    first_workers,
    is_silent,
    worker_figures,
    worker_remark,
)
from gossamer.views.status import WorkerEntry

T = TypeVar("T")

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
FIGURE_WIDTH = 9
HOST_FIGURES = {"waiting": 72, "pages": 96, "mean": 96}
"""The minimum width of the display for each; that for the hosts themselves comes next."""
WIDTH_FOR_HOSTS = 56
WORKER_WIDTHS = (6, 7, 7, 11, 6, 5)
"""The widths of the figures of a worker; they are cut on the right, in the order of interest."""

STYLES = {"info": "", "warning": "yellow", "error": "bold red"}


class Panel(msgspec.Struct, frozen=True):
    """One frame of the display."""

    snapshot: Snapshot
    hosts: Sequence[HostView]
    workers: Sequence[WorkerEntry]
    messages: Sequence[Message]
    machine: str = ""
    """The machine of the reader: that of a worker is shown if it is another one."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the frame for this terminal; its last line is empty, for the cursor."""
        width = min(options.max_width, MAX_WIDTH)
        yield self._bar(width)
        yield _line("   ".join(achieved(self.snapshot)))
        now = [span(self.snapshot.elapsed_s), *ahead(self.snapshot), *at_work(self.workers)]
        yield _line("   ".join(now))
        if options.size.height > HEIGHT_WITHOUT_WORKERS:
            yield _line(estimate(self.snapshot, self.hosts))
            yield from self._outcomes_and_hosts(width)
            if options.size.height > FULL_HEIGHT:
                yield Text()
                for worker in _exactly(1 + WORKER_ROWS, self._worker_lines()):
                    yield worker or Text()
            yield Text()
            for message in _exactly(MESSAGES, self._message_lines(width)):
                yield message or Text()
        yield Text()

    def _message_lines(self, width: int) -> Iterator[Text]:
        """Yield why the crawl stands still, then the last messages: the newest one is wrapped."""
        room, why = MESSAGES, standstill(self.snapshot.resting_s, self.workers)
        if why := why or resting_words(self.snapshot, self.hosts):
            yield _line(str(Message("warning", why)), STYLES["warning"])
            room -= 1
        if not self.messages:
            return
        *others, newest = self.messages
        wrapped = textwrap.wrap(str(newest), width) or [""]
        lines = [*wrapped[: room - 1], " ".join(wrapped[room - 1 :])] if wrapped[room:] else wrapped
        for one in others[max(0, len(others) + len(lines) - room) :]:
            yield _line(str(one), STYLES[one.level])
        for line in lines:
            yield _line(line, STYLES[newest.level])

    def _bar(self, width: int) -> RenderableType:
        share, name = nearest_budget(self.snapshot)
        label = f"{min(share, 1):4.0%} of the {name}"
        row = Table.grid(padding=(0, 2))
        row.add_column(width=max(4, width - len(label) - 2))
        row.add_row(
            ProgressBar(1.0, share, style="bright_black", complete_style="cyan"), _line(label)
        )
        return row

    def _outcomes_and_hosts(self, width: int) -> Iterator[Text]:
        hosts = self._host_lines(width) if width >= WIDTH_FOR_HOSTS else iter(())
        for outcome, host in zip(self._outcome_lines(), _exactly(ROWS, hosts), strict=True):
            yield Text.assemble(outcome, host or "", no_wrap=True, overflow="ellipsis")

    def _outcome_lines(self) -> Iterator[str]:
        counts = outcome_counts(self.snapshot)
        if len(counts) > ROWS:
            others = sum(number for _, number in counts[ROWS - 1 :])
            counts = [*counts[: ROWS - 1], ("others", others)]
        for outcome in _exactly(ROWS, counts):
            text = f"{count(outcome[1]):>9}  {outcome[0]}" if outcome else ""
            yield _column(text, OUTCOMES_WIDTH)

    def _host_lines(self, width: int) -> Iterator[Text]:
        figures = [name for name, least in HOST_FIGURES.items() if width >= least]
        room = width - OUTCOMES_WIDTH - len(figures) * FIGURE_WIDTH - NOW_WIDTH
        yield Text(f"{_column('host', room)}{_figures(figures)}now", style="dim")
        for host in self.hosts:
            numbers = [count(host.waiting), count(host.pages), span(host.mean_ms / 1000)]
            name = Text(_column(printable(host.host), room))
            name.stylize("yellow" if host.failures else "")
            yield name.append(f"{_figures(numbers[: len(figures)])}{doing(host)}")

    def _worker_lines(self) -> Iterator[Text]:
        if not self.workers:
            return
        shown, others = first_workers(self.workers, WORKER_ROWS)
        yield _line(_worker_line(WORKER_HEADING), "dim")
        for one in shown:
            words = f"{_worker_line(worker_figures(one))}  {worker_remark(one, self.machine)}"
            yield _line(words.rstrip(), "yellow" if is_silent(one) else "")
        if others:
            yield _line(f"{'':{WORKER_WIDTHS[0]}}  {others}", "dim")


def _exactly(number: int, items: Iterable[T]) -> Iterator[T | None]:
    """Yield exactly `number` items: the first ones, then None."""
    return islice(chain(items, repeat(None)), number)


def _column(text: str, width: int) -> str:
    """Return the text cut and padded to the width, with two spaces at its end."""
    cut = text if len(text) <= width - 2 else f"{text[: width - 3]}…"
    return cut.ljust(width)


def _figures(figures: Sequence[str]) -> str:
    return "".join(f"{one:>{FIGURE_WIDTH - 2}}  " for one in figures)


def _worker_line(figures: Sequence[str]) -> str:
    widths = zip(figures, WORKER_WIDTHS, strict=True)
    return "  ".join(f"{one:>{width}}" for one, width in widths)


def _line(text: str, style: str = "") -> Text:
    """Return text of any origin as one line that is cut, never wrapped."""
    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")
