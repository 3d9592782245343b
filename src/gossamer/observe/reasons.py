"""Why URLs ended as they did, in words: the outcomes of a crawl, and what helps against them."""

from collections.abc import Iterator, Mapping, Sequence

from gossamer.coordinator import SeedReport
from gossamer.coordinator.seed_report import OPTIONS
from gossamer.coordinator.summary import GivenUpHost
from gossamer.model import Cause, CauseCount, Outcome
from gossamer.observe.escape import printable
from gossamer.observe.figures import count, counted, moment, size
from gossamer.policy.failures import status_words

CAUSES_SHOWN = 3
SEEDS_SHOWN = 10
HOSTS_SHOWN = 3
_PLAIN = frozenset({Outcome.NOT_FOUND, Outcome.GONE, Outcome.NOT_HTML})
"""The name of these says what happened."""
_OPTIONS = {str(outcome): option for outcome, option in OPTIONS.items()}


def outcome_reasons(
    outcomes: Mapping[str, int], causes: Sequence[CauseCount], max_page_bytes: int | None
) -> list[tuple[str, str]]:
    """Return how many URLs ended with each outcome, and why: fetched first, then by frequency."""
    found = [(name, urls) for name, urls in outcomes.items() if urls]
    found.sort(key=lambda one: (one[0] != Outcome.FETCHED, -one[1], one[0]))
    return [(count(urls), _words(name, urls, causes, max_page_bytes)) for name, urls in found]


def seed_reasons(seeds: SeedReport) -> Iterator[str]:
    """Yield how many seeds were read from files, and which were not fetched and why.

    Only the first of many are listed, and nothing if all were fetched.
    """
    for file in seeds.files:
        yield printable(file.words)
    if not seeds.failed:
        return
    total = seeds.fetched + seeds.waiting + len(seeds.failed)
    yield f"{count(seeds.fetched) if seeds.fetched else 'none'} of {count(total)} fetched"
    for one in seeds.failed[:SEEDS_SHOWN]:
        yield printable(f"{one.url}: {one.reason}")
    if more := len(seeds.failed[SEEDS_SHOWN:]):
        yield f"and {count(more)} more"


def given_up_words(hosts: Sequence[GivenUpHost]) -> Iterator[str]:
    """Yield which hosts are not asked any more, since when and why; only the first of many."""
    for one in hosts[:HOSTS_SHOWN]:
        words = f"{one.host} at {moment(one.at)}, with {counted(one.urls, 'URL')} left"
        yield printable(f"{words}: {one.reason}" if one.reason else words)
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
    return f"{counted(listed, 'URL')} found in {counted(read, 'sitemap')}"


def left_out_words(links: int) -> str:
    """Return how many links were left out; nothing if none were."""
    if not links:
        return ""
    return f"{counted(links, 'link')} to hosts with too many URLs; raise --max-host-urls"


def _words(name: str, urls: int, causes: Sequence[CauseCount], max_page_bytes: int | None) -> str:
    """Return `too large: over 10 MB; raise --max-page-bytes`."""
    words = printable(name.replace("_", " "))
    own = [one for one in causes if one.outcome == name]
    why = "" if name in _PLAIN else _known(name, own, max_page_bytes) or _causes(own, urls)
    told = [one for one in (why, _OPTIONS.get(name, "")) if one]
    return f"{words}: {'; '.join(told)}" if told else words


def _known(name: str, causes: Sequence[CauseCount], max_page_bytes: int | None) -> str:
    """Return what can be said better than by listing the causes."""
    if files := sum(one.urls for one in causes if one.cause is Cause.FILE_TOO_LARGE):
        return f"{count(files)} of them files"
    if name == Outcome.TOO_LARGE and max_page_bytes is not None:
        return f"over {size(max_page_bytes)}"
    unmarked = sum(one.urls for one in causes if one.cause is Cause.NO_MARKERS)
    words = f"{count(unmarked)} without content markers, whose links are not followed"
    return words if unmarked else ""


def _causes(causes: Sequence[CauseCount], urls: int) -> str:
    """Return `403 Forbidden`, or `403 Forbidden (7), 401 Unauthorized (2)`."""
    shown = causes[:CAUSES_SHOWN]
    words = [_cause(one) for one in shown]
    if sum(one.urls for one in causes[:1]) < urls:  # one does not explain all
        words = [f"{text} ({count(one.urls)})" for one, text in zip(shown, words, strict=True)]
    if others := sum(one.urls for one in causes[CAUSES_SHOWN:]):
        words.append(f"others ({count(others)})")
    return ", ".join(words)


def _cause(one: CauseCount) -> str:
    """Return `403 Forbidden`, or the cause if no answer came."""
    return str(one.cause) if one.status is None else status_words(one.status)
