"""The summary at the end of a crawl: as text for people, as a record for programs."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from gossamer.config.values import format_size
from gossamer.coordinator.summary import HELPFUL_OPTIONS, GivenUpHost, SeedReport, Summary
from gossamer.display.formatting import count, counted, moment, rate, size, span, visited
from gossamer.display.outlet import printable
from gossamer.display.status import by_frequency, outcome_name
from gossamer.frontier.scorers.builtin import ScorerReport
from gossamer.model import Cause, CauseCount, Outcome
from gossamer.model.errors import ExitCode
from gossamer.modules.module_stats import ModuleReport
from gossamer.outputs.contract import OutputReport
from gossamer.policy.failures import status_words
from gossamer.stores.crawl_views import HostView

MAX_WORDS_WIDTH = 60
"""The width of sentences, so that everything fits into 80 columns."""
MIN_WORDS_WIDTH = 20
LABELS_WIDTH = 18
"""The room to the left of sentences, of which the longest label takes all but one column."""
LEFT_OUT = {"max_pages", "max_bytes", "max_page_bytes", "pages_before"}
NO_SEED = "no seed could be fetched"
CAUSES_SHOWN = 3
SEEDS_SHOWN = 10
HOSTS_SHOWN = 3
_PLAIN = frozenset({Outcome.NOT_FOUND, Outcome.GONE, Outcome.UNWANTED_TYPE})
"""The name of these says what happened."""
_OPTIONS = {str(outcome): option for outcome, option in HELPFUL_OPTIONS.items()}


def outcome_reasons(
    outcomes: Mapping[str, int], causes: Sequence[CauseCount], max_page_bytes: int | None
) -> list[tuple[str, str]]:
    """Return how many URLs ended with each outcome, and why: fetched first, then by frequency."""
    return [
        (count(urls), _words(name, urls, causes, max_page_bytes))
        for name, urls in by_frequency(outcomes)
    ]


def seed_reasons(seeds: SeedReport) -> Iterator[str]:
    """Yield how many seeds were read from files, and which were not fetched and why.

    Only the first of many are listed, and nothing if all were fetched.
    """
    for file in seeds.files:
        yield printable(file.sentence)
    if not seeds.failed:
        return
    total = seeds.fetched + seeds.waiting + len(seeds.failed)
    yield f"{count(seeds.fetched) if seeds.fetched else 'none'} of {count(total)} fetched"
    for seed in seeds.failed[:SEEDS_SHOWN]:
        yield printable(f"{seed.url}: {seed.reason}")
    if more := len(seeds.failed[SEEDS_SHOWN:]):
        yield f"and {count(more)} more"


def given_up_words(hosts: Sequence[GivenUpHost]) -> Iterator[str]:
    """Yield which hosts are not asked any more, since when and why; only the first of many."""
    for host in hosts[:HOSTS_SHOWN]:
        words = f"{host.host} at {moment(host.at)}, with {counted(host.urls, 'URL')} left"
        yield printable(f"{words}: {host.reason}" if host.reason else words)
    if more := len(hosts[HOSTS_SHOWN:]):
        yield f"and {counted(more, 'host')} more"


def finished_words(outcomes: Mapping[str, int]) -> str:
    """Return that a crawl is complete, and whether it gave something up for that."""
    given_up = outcomes.get(Outcome.GAVE_UP, 0)
    words = f"; {counted(given_up, 'URL')} given up" if given_up else ""
    return f"finished: no URLs left{words}"


def sitemap_words(listed: int, outcomes: Mapping[str, int]) -> str:
    """Return how many URLs came from sitemaps; nothing if there were no sitemaps."""
    read = outcomes.get(Outcome.SITEMAP, 0)
    if not read and not listed:
        return ""
    if not read:  # their files are in progress, or what they list came before they failed
        return f"{counted(listed, 'URL')} found in sitemaps of which none is finished"
    return f"{counted(listed, 'URL')} found in {counted(read, 'sitemap')}"


def left_out_words(links: int) -> str:
    """Return how many links were left out; nothing if none were."""
    if not links:
        return ""
    return f"{counted(links, 'link')} to hosts with too many URLs; raise --max-host-urls"


def _words(name: str, urls: int, causes: Sequence[CauseCount], max_page_bytes: int | None) -> str:
    """Return `too large: over 10 MB; raise --max-page-bytes`."""
    causes = [cause for cause in causes if cause.outcome == name]
    why = "" if name in _PLAIN else _known(name, causes, max_page_bytes) or _causes(causes, urls)
    words = "; ".join(filter(None, [why, _OPTIONS.get(name)]))
    return f"{outcome_name(name)}: {words}" if words else outcome_name(name)


def _known(name: str, causes: Sequence[CauseCount], max_page_bytes: int | None) -> str:
    """Return what can be said better than by listing the causes."""
    if files := sum(cause.urls for cause in causes if cause.cause is Cause.FILE_TOO_LARGE):
        return f"{count(files)} of them files"
    if name == Outcome.TOO_LARGE and max_page_bytes is not None:
        return f"over {size(max_page_bytes)}"
    if unmarked := sum(cause.urls for cause in causes if cause.cause is Cause.NO_MARKERS):
        return f"{count(unmarked)} without content markers, whose links are not followed"
    return ""


def _causes(causes: Sequence[CauseCount], urls: int) -> str:
    """Return `403 Forbidden`, or `403 Forbidden (7), 401 Unauthorized (2)`."""
    shown = causes[:CAUSES_SHOWN]
    words = [
        str(cause.cause) if cause.status is None else status_words(cause.status) for cause in shown
    ]
    if sum(cause.urls for cause in causes[:1]) < urls:  # one does not explain all
        words = [f"{text} ({count(cause.urls)})" for cause, text in zip(shown, words, strict=True)]
    if others := sum(cause.urls for cause in causes[CAUSES_SHOWN:]):
        words.append(f"others ({count(others)})")
    return ", ".join(words)


def summary_record(summary: Summary) -> dict[str, object]:
    """Return the summary for programs, with the end of the crawl as a code and in words."""
    record = msgspec.to_builtins(summary)
    more = {"ended": ending(summary), "exit_code": int(summary.exit_code)}
    record = record.pop("snapshot") | record | more | {"new_pages": summary.new_pages}
    return {name: value for name, value in record.items() if name not in LEFT_OUT}


def summary_text(summary: Summary, columns: int = 80) -> str:
    """Return the summary as lines of text: a sentence, then the figures by subject.

    Words are wrapped for a terminal of this many columns; commands and paths are not.
    """
    width = max(MIN_WORDS_WIDTH, min(MAX_WORDS_WIDTH, columns - LABELS_WIDTH))
    subjects = [(label, lines) for label, lines in _subjects(summary, width) if lines]
    column = max(len(label) for label, _ in subjects) + 4
    text = [_headline(summary), ""]
    for label, lines in subjects:
        text.append(f"  {label}".ljust(column) + lines[0])
        text += [" " * column + line for line in lines[1:]]
    return "\n".join(printable(line, None) for line in text)


def ending(summary: Summary) -> str:
    """Return in words what ended the crawl and what is left."""
    last = summary.snapshot
    words = {
        "complete": finished_words(last.outcomes),
        "max-pages": f"the page budget (--max-pages {last.max_pages}) was reached",
        "max-bytes": f"the byte budget (--max-bytes {format_size(last.max_bytes)}) was reached",
        "max-time": "the time limit (--max-time) was reached",
        "interrupted": "it was interrupted",
    }
    waiting = f"{counted(last.waiting, 'URL')} waiting" if last.waiting else ""
    in_progress = f"{count(last.in_progress)} in progress" if last.in_progress else ""
    left = filter(None, [waiting, in_progress])
    ended = words.get(summary.ended_by) or printable(summary.ended_by)
    seeds = [NO_SEED] if summary.seeds.none_fetched else []
    if seeds and summary.ended_by == "complete":
        ended = seeds.pop()
    return "; ".join([ended, *left, *seeds, *module_failures(summary.modules)])


def trouble(summary: Summary) -> list[str]:
    """Return what went so wrong that the exit code says it, one line each."""
    if summary.exit_code is ExitCode.NO_SEED:
        failed = [f"{seed.url}: {seed.reason}" for seed in summary.seeds.failed[:SEEDS_SHOWN]]
        return [NO_SEED, *failed]
    is_of_modules = summary.exit_code is ExitCode.MODULE_FAILED
    return module_failures(summary.modules) if is_of_modules else []


def module_failures(modules: Sequence[ModuleReport]) -> list[str]:
    """Return of which modules nothing useful can have come, in words."""
    failed = (module for module in modules if module.failure)
    return [f"module {printable(module.name)} {module.failure}" for module in failed]


def scorer_words(report: ScorerReport) -> str:
    """Return how many URLs the scorer could not rank, and why."""
    return f"{counted(report.unranked, 'URL')} not ranked: {printable(report.trouble)}"


def _headline(summary: Summary) -> str:
    last = summary.snapshot
    pages = visited(last.pages, last.visits)
    unit = "visits" if last.visits > last.pages else "pages"
    extent = f"{size(last.received)} received, {counted(last.hosts, 'host')}"
    if summary.was_over:
        return f"Nothing to do: {pages} were crawled before, {extent}."
    if summary.pages_before:
        pages += f", {count(summary.new_pages)} of them new,"
    speed = f"{rate(last.pages_per_s)} {unit}/s"
    return f"Crawled {pages} in {span(last.elapsed_s)}: {speed}, {extent}."


def _subjects(summary: Summary, width: int) -> Iterator[tuple[str, Sequence[str]]]:
    last = summary.snapshot
    yield "Seeds", _all_hanging(seed_reasons(summary.seeds), width)
    yield "Sitemaps", _wrapped(sitemap_words(last.listed, last.outcomes), width)
    yield "Left out", _wrapped(left_out_words(last.over_host_urls), width)
    outcomes = outcome_reasons(last.outcomes, last.causes, summary.max_page_bytes)
    yield "Outcomes", _columns(outcomes, width)
    yield "Given up", _all_hanging(given_up_words(summary.given_up), width)
    slowest = [(span(host.mean_ms / 1000), _host(host)) for host in summary.slowest_hosts]
    yield "Slowest hosts", _columns(slowest, width)
    seen = "visit" if summary.snapshot.visits > summary.snapshot.pages else "page"
    yield "Modules", [line for module in summary.modules for line in _module(module, seen, width)]
    yield "Outputs", [*_outputs(summary.outputs, width)]
    yield "Scorer", _wrapped(scorer_words(summary.scorer), width) if summary.scorer else []
    yield "Ended", _wrapped(ending(summary), width)
    # Not wrapped, so that they can be copied.
    yield "Results", [printable(summary.directory)] if summary.directory else []
    yield "Pages", [*_where_pages_are(summary)]
    yield "Continue with", [printable(summary.continue_with)] if summary.continue_with else []


def _where_pages_are(summary: Summary) -> Iterator[str]:
    """Yield the commands that get at the pages, for whoever has named no module."""
    if summary.list_with and summary.save_with and summary.snapshot.pages:
        yield f"{printable(summary.list_with)}  # lists them; --cat 1 writes one"
        yield f"{printable(summary.save_with)}  # saves all as files"


def _wrapped(words: str, width: int) -> list[str]:
    return textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)


def _columns(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return the rows with counts aligned right and words left, wrapped."""
    column = max((len(count) for count, _ in rows), default=0)
    return [
        f"{'' if number else count:>{column}}  {line}"
        for count, words in rows
        for number, line in enumerate(_hanging(words, width - column))
    ]


def _all_hanging(sentences: Iterable[str], width: int) -> list[str]:
    return [line for words in sentences for line in _hanging(words, width)]


def _hanging(words: str, width: int) -> list[str]:
    """Return the words wrapped, every line but the first indented."""
    first, *others = _wrapped(words, width - 2) or [""]
    return [first, *(f"  {line}" for line in others)]


def _host(host: HostView) -> str:
    failed = f", {count(host.failures)} failed" if host.failures else ""
    return f"{printable(host.host)} ({counted(host.pages, 'page')}{failed})"


def _outputs(outputs: Sequence[OutputReport], width: int) -> Iterator[str]:
    """Yield how much is in each output, and its path: not wrapped, so that it can be copied."""
    extents = [
        f"{counted(output.items, output.unit)}, {size(output.bytes)}"
        + (f" in {counted(output.files, 'file')}" if output.files > 1 else "")
        for output in outputs
    ]
    longest = max(map(len, extents), default=0)
    for output, extent in zip(outputs, extents, strict=True):
        yield f"{extent:<{longest}}  {printable(output.target)}"
        yield from (f"  {line}" for line in _wrapped(output.note, width))


def _module(module: ModuleReport, seen: str, width: int) -> Iterator[str]:
    counts = [counted(module.pages, seen)] if module.pages or not module.ends else []
    if module.ends:
        counts.append(f"the end of {counted(module.ends, 'URL')}")
    nouns = {"record": module.records, "error": module.errors}
    counts += [counted(number, noun) for noun, number in nouns.items() if number]
    others = {"given up": module.timed_out, "slow": module.slow, "missed": module.missed}
    counts += [f"{count(number)} {what}" for what, number in others.items() if number]
    yield from _wrapped(f"{printable(module.name)}: {', '.join(counts)}", width)
    if module.last_error:
        error = f"last error: {printable(module.last_error)}"
        yield from (f"  {line}" for line in _wrapped(error, width))
