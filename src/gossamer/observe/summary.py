"""The summary at the end of a crawl: as text for people, as a record for programs."""

import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from gossamer.config import format_size
from gossamer.coordinator import HostView, Summary
from gossamer.modules import ModuleReport
from gossamer.observe.escape import printable
from gossamer.observe.figures import count, counted, rate, size, span
from gossamer.observe.status import outcome_counts

WORDS_WIDTH = 60
"""The width of sentences, so that everything fits into 80 columns."""


class SummaryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A summary for programs, with the end of the crawl as a code and in words."""

    pages: int
    bytes: int
    elapsed_s: float
    pages_per_s: float
    hosts: int
    waiting: int
    in_progress: int
    finished: int
    outcomes: dict[str, int]
    ended_by: str
    ended: str
    was_over: bool
    directory: str
    continue_with: str | None
    slowest_hosts: list[HostView]
    modules: list[ModuleReport]


def summary_record(summary: Summary) -> SummaryRecord:
    """Return the summary as a record that can be written as JSON."""
    last = summary.snapshot
    return SummaryRecord(
        pages=last.pages,
        bytes=last.bytes,
        elapsed_s=round(last.elapsed_s, 3),
        pages_per_s=round(last.pages_per_s, 3),
        hosts=last.hosts,
        waiting=last.waiting,
        in_progress=last.in_progress,
        finished=last.finished,
        outcomes=last.outcomes,
        ended_by=summary.ended_by,
        ended=ending(summary),
        was_over=summary.was_over,
        directory=summary.directory,
        continue_with=summary.continue_with,
        slowest_hosts=list(summary.slowest_hosts),
        modules=list(summary.modules),
    )


def summary_text(summary: Summary) -> str:
    """Return the summary as lines of text: a sentence, then the figures by subject."""
    subjects = [(label, lines) for label, lines in _subjects(summary) if lines]
    column = max(len(label) for label, _ in subjects) + 4
    text = [_headline(summary), ""]
    for label, lines in subjects:
        text.append(f"  {label}".ljust(column) + lines[0])
        text += [" " * column + line for line in lines[1:]]
    return "\n".join(text)


def ending(summary: Summary) -> str:
    """Return in words what ended the crawl and what is left."""
    last = summary.snapshot
    words = {
        "complete": "finished: no URLs left",
        "max-pages": f"the page budget (--max-pages {last.max_pages}) was reached",
        "max-bytes": f"the byte budget (--max-bytes {format_size(last.max_bytes)}) was reached",
        "interrupted": "it was interrupted",
    }
    left = []
    if last.waiting:
        left.append(f"{counted(last.waiting, 'URL')} waiting")
    if last.in_progress:
        left.append(f"{count(last.in_progress)} in progress")
    return "; ".join([words.get(summary.ended_by) or printable(summary.ended_by), *left])


def _headline(summary: Summary) -> str:
    last = summary.snapshot
    pages = counted(last.pages, "page")
    extent = f"{size(last.bytes)}, {counted(last.hosts, 'host')}"
    if summary.was_over:
        return f"Nothing to do: {pages} were crawled before, {extent}."
    return f"Crawled {pages} in {span(last.elapsed_s)}: {rate(last.pages_per_s)} pages/s, {extent}."


def _subjects(summary: Summary) -> Iterator[tuple[str, Sequence[str]]]:
    yield (
        "Outcomes",
        _columns([(count(number), name) for name, number in outcome_counts(summary.snapshot)]),
    )
    yield (
        "Slowest hosts",
        _columns([(span(one.mean_ms / 1000), _host(one)) for one in summary.slowest_hosts]),
    )
    yield "Modules", [line for module in summary.modules for line in _module(module)]
    yield "Ended", _wrapped(ending(summary))
    # Not wrapped, so that they can be copied.
    yield "Results", [printable(summary.directory)]
    yield "Continue with", [printable(summary.continue_with)] if summary.continue_with else []


def _wrapped(words: str) -> list[str]:
    return textwrap.wrap(words, WORDS_WIDTH, break_long_words=False, break_on_hyphens=False)


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return the rows with figures aligned right and words left."""
    width = max((len(figure) for figure, _ in rows), default=0)
    return [f"{figure:>{width}}  {words}" for figure, words in rows]


def _host(host: HostView) -> str:
    failed = f", {count(host.failures)} failed" if host.failures else ""
    return f"{printable(host.host)} ({counted(host.pages, 'page')}{failed})"


def _module(module: ModuleReport) -> Iterator[str]:
    counts = [counted(module.pages, "page")]
    if module.errors:
        counts.append(counted(module.errors, "error"))
    if module.timed_out:
        counts.append(f"{count(module.timed_out)} given up")
    if module.slow:
        counts.append(f"{count(module.slow)} slow")
    if module.missed:
        counts.append(f"{count(module.missed)} missed")
    yield from _wrapped(f"{printable(module.name)}: {', '.join(counts)}")
    if module.last_error:
        yield from (f"  {line}" for line in _wrapped(f"last error: {printable(module.last_error)}"))
