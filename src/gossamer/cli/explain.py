"""`gossamer explain URL`: why a URL was fetched or not, or what it waits for."""

import asyncio
import time
from collections.abc import Iterator

from gossamer.cli.output import columns, put_record, section
from gossamer.cli.parameters import Json, reads_crawl
from gossamer.cli.status import RELAXING
from gossamer.config.host_rules import shown_table
from gossamer.display import printable
from gossamer.display.formatting import counted, moment, size, span
from gossamer.display.summary import left_out_words
from gossamer.model import Url
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.url_record import PageRecord
from gossamer.urls import parse_seed
from gossamer.views.crawls import RepeatedPage, open_crawl
from gossamer.views.explain import Explanation, Waits
from gossamer.views.explain import explain as explained

LONGEST = 10_000
STEPS_SHOWN = 12
"""A longer path is shown without its middle."""
ATTEMPTS_SHOWN = 12
"""Of more attempts the last ones are shown."""


@reads_crawl
def explain(request: ReadRequest, url: str, *, json: Json = False) -> int:
    """Explain a URL: where it was found, what came of it, or what it waits for.

    Parameters
    ----------
    url
        The URL, in any spelling.
    """
    answer = asyncio.run(_read(request, parse_seed(url, "URL")))
    put_record(answer, explanation_lines, json=json)
    return 0


async def _read(request: ReadRequest, url: Url) -> Explanation:
    async with open_crawl(request) as crawl:
        return await explained(crawl, url, time.time())


def explanation_lines(answer: Explanation) -> Iterator[str]:
    """Yield the explanation for people."""
    yield printable(answer.url, LONGEST)
    if answer.known_as not in (None, answer.url):
        yield from section("known as", [printable(answer.known_as or "", LONGEST)])
    yield from section("state", _state(answer))
    if answer.waits:
        yield from section("waits for", _obstacles(answer, answer.waits))
    yield from section("scope", _scope(answer))
    if answer.host_rules:
        yield from section("host rules", columns(_host_rules(answer)))
    if answer.path:
        path = columns(_path(answer), right=[0])
        yield from section("path", [*path, RELAXING] if answer.relaxing else path)
    if answer.found_at is not None:
        yield from section("found", [moment(answer.found_at)])
    if answer.score is not None:
        yield from section("score", [f"{answer.score:g}, queue {answer.queue}"])
    if answer.attempts:
        yield from section("attempts", columns(_attempts(answer)))
    if answer.page:
        yield from section("page", _page(answer.page))
    if answer.duplicate_of:
        yield from section("repeats", _repeated(answer.duplicate_of))


def _repeated(page: RepeatedPage) -> Iterator[str]:
    if page.url is not None:
        yield printable(page.url, LONGEST)
    whole, own = (f"{100 * share:.4g} %" for share in (page.similarity, page.own_similarity))
    yield f"page {page.id}; {whole} of the whole text is alike, {own} of the own content"


def _state(answer: Explanation) -> Iterator[str]:
    match answer.state:
        case "never_seen":
            yield "never seen"
            if answer.scope is None or answer.scope.accepted:
                left, are = answer.urls_left, "is" if answer.urls_left == 1 else "are"
                yield (
                    f"no page so far links to it; {counted(left, 'URL')} of the crawl {are} not "
                    "finished"
                    if left
                    else "no page of the crawl links to it"
                )
                if answer.over_host_urls:
                    yield f"or it is one of {left_out_words(answer.over_host_urls)}"
        case "waiting":
            yield "waiting to be visited again" if answer.page else "waiting"
        case "in_progress":
            was = "was in progress when its process ended: it will be fetched again"
            yield "in progress" if answer.crawl == "running" else was
        case "too_deep":
            yield (
                f"too deep: it is {counted(answer.depth or 0, 'link')} away from a seed, and "
                f"{_depth_rule(answer)} {answer.max_depth}"
            )
        case "finished":
            outcome = str(answer.outcome).replace("_", " ")
            yield outcome + (f": {printable(answer.detail, LONGEST)}" if answer.detail else "")


def _depth_rule(answer: Explanation) -> str:
    patterns = (rule.pattern for rule in answer.host_rules if rule.key == "depth")
    pattern = next(patterns, None)
    return "--depth is" if pattern is None else f"the depth of {shown_table(pattern)} is"


def _host_rules(answer: Explanation) -> list[list[str]]:
    return [[f"{rule.key} {rule.value}", shown_table(rule.pattern)] for rule in answer.host_rules]


def _obstacles(answer: Explanation, waits: Waits) -> Iterator[str]:
    ahead, come = counted(waits.ahead, "URL"), "comes" if waits.ahead == 1 else "come"
    before = f"at least {ahead} of its host {come} first"
    failures = counted(waits.host_failures, "failure")
    why = f", after {failures} in a row" if waits.host_failures else ""
    asked = f"{printable(answer.host or '')} may be asked again in {span(waits.host_ready_in_s)}"
    reasons = {
        "no-process": "a process: none is running; 'gossamer resume' continues the crawl",
        "max-pages": "a larger --max-pages: the page budget is used up",
        "max-bytes": "a larger --max-bytes: the byte budget is used up",
        "score": f"its score: {ahead} {come} first",
        "queue": f"its turn in queue {answer.queue}: {before}",
        "worker": f"its turn: {before}",
        "host": f"its host: {asked}{why}",
    }
    for obstacle in waits.obstacles:
        yield reasons[obstacle]
    pause = f"with {span(waits.host_delay_s)} between requests to its host"
    if waits.at_least_s > waits.host_ready_in_s:
        yield f"altogether at least {span(waits.at_least_s)}, {pause}"
    elif waits.host_ready_in_s > 0 and waits.host_delay_s > 0:
        yield pause
    elif not waits.obstacles:
        yield "a free connection"


def _scope(answer: Explanation) -> Iterator[str]:
    if answer.scope is None:
        yield "unknown: the options are not stored with this crawl"
    else:
        would = "would be " if answer.state == "never_seen" else ""
        verdict = "accepted" if answer.scope.accepted else "refused"
        yield f"{would}{verdict} by {printable(answer.scope.words, LONGEST)}"


def _path(answer: Explanation) -> list[list[str]]:
    rows = [[str(step.depth), printable(step.url, LONGEST), step.over] for step in answer.path]
    half = STEPS_SHOWN // 2
    if len(rows) > STEPS_SHOWN:
        between = f"… {len(rows) - 2 * half} more …"
        rows = [*rows[:half], ["", between, ""], *rows[-half:]]
    return rows


def _attempts(answer: Explanation) -> list[list[str]]:
    earlier = len(answer.attempts) - ATTEMPTS_SHOWN
    rows = [[f"… {earlier:,} earlier …", "", "", ""]] if earlier > 0 else []
    for attempt in answer.attempts[-ATTEMPTS_SHOWN:]:
        status = "" if attempt.status is None else str(attempt.status)
        reason = attempt.detail or str(attempt.cause or "")
        outcome = attempt.outcome.replace("_", " ")
        rows.append([moment(attempt.at), outcome, status, printable(reason)])
    return rows


def _page(page: PageRecord) -> Iterator[str]:
    kind = f", {printable(page.content_type)}" if page.content_type else ""
    title = f", titled {printable(page.title, 100)}" if page.title else ""
    visits = f", {counted(page.visits, 'visit')}" if page.visits > 1 else ""
    yield f"number {page.id}, {size(page.bytes)}{kind}{title}{visits}"
