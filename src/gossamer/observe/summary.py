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
BUDGETS = {"max_pages", "max_bytes"}


def summary_record(summary: Summary) -> dict[str, object]:
    """Return the summary for programs, with the end of the crawl as a code and in words."""
    record = msgspec.to_builtins(summary)
    record = record.pop("snapshot") | record | {"ended": ending(summary)}
    return {name: value for name, value in record.items() if name not in BUDGETS}


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
    others = {"given up": module.timed_out, "slow": module.slow, "missed": module.missed}
    counts += [f"{count(number)} {what}" for what, number in others.items() if number]
    yield from _wrapped(f"{printable(module.name)}: {', '.join(counts)}")
    if module.last_error:
        yield from (f"  {line}" for line in _wrapped(f"last error: {printable(module.last_error)}"))
