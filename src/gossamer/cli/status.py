"""`gossamer status` and `gossamer verify`: how far a crawl is, and whether its state is sound."""

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator

import msgspec

from gossamer.cli.output import columns, put_record, section
from gossamer.cli.parameters import Json, reads_crawl
from gossamer.coordinator.resume import directory_command, store_command
from gossamer.display import printable
from gossamer.display.formatting import count, counted, moment, size, span, visited
from gossamer.display.status import (
    WORKER_HEADING,
    first_workers,
    standstill,
    worker_cells,
    worker_remark,
)
from gossamer.display.summary import (
    finished_words,
    given_up_words,
    outcome_reasons,
    scorer_words,
    seed_reasons,
    sitemap_words,
)
from gossamer.model import Outcome
from gossamer.model.errors import ExitCode
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.reader import CrawlReader
from gossamer.views.crawls import open_crawl
from gossamer.views.status import CrawlStatus, crawl_status
from gossamer.views.verify import Verification
from gossamer.views.verify import verify as verified

DEPTHS_SHOWN = 12
WORKERS_SHOWN = 20

STATES = {
    "running": "running",
    "crashed": "killed: 'gossamer resume' continues it",
    "max-pages": "finished: the page budget is used up",
    "max-bytes": "finished: the byte budget is used up",
    "interrupted": "interrupted: 'gossamer resume' continues it",
}
"""The words for a state of a crawl, or for what ended it."""
RELAXING = "these may still decrease: a shorter path was found, and is being followed"


@reads_crawl
def status(request: ReadRequest, *, json: Json = False) -> int:
    """Show how far a crawl is, while it runs or afterwards."""
    put_record(asyncio.run(_read(request)), status_lines, json=json)
    return 0


async def _read(request: ReadRequest) -> CrawlStatus:
    async with open_crawl(request) as crawl:
        status = await crawl_status(crawl, time.time())
        if status.state == "running" or not status.outcomes.get(Outcome.GAVE_UP):
            return status
        return msgspec.structs.replace(status, retry_with=_retry_with(request, crawl.reader))


def _retry_with(request: ReadRequest, reader: CrawlReader) -> str:
    """Return the command that tries URLs of this crawl again."""
    address = request.address
    if address.is_server or address.path is not None:
        name = reader.name if address.is_server else None
        return store_command(address, name, os.environ, "retry")
    return directory_command(reader.where, "retry")


def status_lines(status: CrawlStatus) -> Iterator[str]:
    """Yield the status for people."""
    yield printable(status.where)
    yield from section("state", [_state(status)])
    yield from section("led by", [printable(status.led_by)] if status.led_by else [])
    yield from section("standing by", [*map(printable, status.standbys)])
    if why := standstill(status.resting_s, status.workers):
        yield from section("", [why])
    if status.visits > status.pages:
        yield from section("pages", [count(status.pages)])
        yield from section("visits", [count(status.visits) + _of(count, status.max_pages)])
    else:
        yield from section("pages", [count(status.pages) + _of(count, status.max_pages)])
    received = size(status.received) + _of(size, status.max_bytes)
    yield from section("bytes", [f"{received} received, {size(status.bytes)} of pages"])
    yield from section("URLs", [_urls(status)])
    yield from section("URL queue", [_url_queue(status)])
    yield from section("hosts", [count(status.hosts)])
    if status.scorer is not None:
        yield from section("scorer", [scorer_words(status.scorer)])
    if status.started_at is not None and status.last_at is not None:
        took = span(status.last_at - status.started_at)
        times = f"{moment(status.started_at)} to {moment(status.last_at)} ({took})"
        yield from section("time", [times])
    yield from section("seeds", seed_reasons(status.seeds))
    if sitemaps := sitemap_words(status.listed, status.outcomes):
        yield from section("sitemaps", [sitemaps])
    outcomes = outcome_reasons(status.outcomes, status.causes, status.max_page_bytes)
    yield from section("outcomes", columns([*map(list, outcomes)], right=[0]))
    yield from section("given up", given_up_words(status.given_up))
    if status.retry_with:
        yield from section("ask again", [printable(status.retry_with, None)])
    yield from section("outputs", columns(_outputs(status)))
    yield ""
    depths = columns(_depths(status), right=[0, 1, 2, 3])
    yield from section("depths", [*depths, RELAXING] if status.relaxing else depths)
    if any(queue.waiting for queue in status.queues):
        yield ""
        yield from section("queues", columns(_queues(status), right=[0, 1, 2]))
    if status.busiest_hosts:
        yield ""
        yield from section("busiest", columns(_hosts(status), right=[0]))
    if status.workers:
        yield ""
        yield from section("workers", _workers(status, socket.gethostname()))


def _state(status: CrawlStatus) -> str:
    if status.state == "finished" and status.ended_by == "complete":
        return finished_words(status.outcomes)
    return STATES.get(status.state) or STATES[status.ended_by or ""]


def _of(show: Callable[[int], str], limit: int | None) -> str:
    return "" if limit is None else f" of {show(limit)}"


def _urls(status: CrawlStatus) -> str:
    figures = [
        f"{count(status.waiting)} waiting",
        f"{count(status.in_progress)} in progress",
        f"{count(status.finished)} finished",
    ]
    if status.too_deep:
        figures.append(f"{count(status.too_deep)} too deep")
    return ", ".join(figures)


def _outputs(status: CrawlStatus) -> list[list[str]]:
    return [
        [
            "finished" if output.finished else "in progress",
            f"{count(output.written)} of {counted(output.results, 'result')}",
            printable(output.target),
        ]
        for output in status.outputs
    ]


def _depths(status: CrawlStatus) -> list[list[str]]:
    rows = [["depth", "URLs", "finished", "pages"]]
    for depth in status.depths[:DEPTHS_SHOWN]:
        counts = map(count, (depth.urls, depth.finished, depth.pages))
        rows.append([str(depth.depth), *counts])
    if deeper := status.depths[DEPTHS_SHOWN:]:
        sums = map(sum, zip(*((d.urls, d.finished, d.pages) for d in deeper), strict=True))
        rows.append([f"to {deeper[-1].depth}", *map(count, sums)])
    return rows


def _queues(status: CrawlStatus) -> list[list[str]]:
    rows = [["queue", "scores", "waiting"]]
    for queue in status.queues:
        rows.append([str(queue.queue), f"{queue.low:g} to {queue.high:g}", count(queue.waiting)])
    unscored = status.url_states["unscored"]
    return [*rows, ["", "no score yet", count(unscored)]] if unscored else rows


def _url_queue(status: CrawlStatus) -> str:
    waiting, peak = count(status.url_states["unscored"]), count(status.url_queue_peak)
    limit = "" if status.url_queue is None else f" (limit {count(status.url_queue)})"
    return f"{waiting} waiting for their score, {peak} at most{limit}"


def _hosts(status: CrawlStatus) -> list[list[str]]:
    rows = [["URLs", "host", ""]]
    for host in status.busiest_hosts:
        notes = []
        if status.state == "running":
            notes.append(f"ready in {span(host.next_in_s)}" if host.next_in_s > 0 else "ready")
        if host.delay_s:
            notes.append(f"{span(host.delay_s)} between requests")
        if host.failures:
            notes.append(counted(host.failures, "failed request"))
        left = count(host.waiting + host.in_progress)
        rows.append([left, printable(host.host), ", ".join(notes)])
    return rows


def _workers(status: CrawlStatus, here: str) -> Iterator[str]:
    shown, others = first_workers(status.workers, WORKERS_SHOWN)
    rows = [[*WORKER_HEADING, ""]]
    rows += [[*worker_cells(worker), worker_remark(worker, here)] for worker in shown]
    yield from columns(rows, right=range(len(WORKER_HEADING)))
    if others:
        yield others


@reads_crawl
def verify(request: ReadRequest, *, json: Json = False) -> int:
    """Check that a crawl lost nothing, did nothing twice and counted right.

    It may be running: then a consistent snapshot is checked. The exit code is 1 if a check fails.
    """
    result = asyncio.run(verified(request, time.time()))
    put_record(result, verification_lines, json=json)
    return 0 if result.sound else ExitCode.FAILED


def verification_lines(result: Verification) -> Iterator[str]:
    """Yield the result for people: one line if all is well, else every check that failed."""
    where, checks = printable(result.where), len(result.findings)
    broken = [finding for finding in result.findings if finding.broken]
    if not broken:
        snapshot = ", in a consistent snapshot of the running crawl" if result.running else ""
        pages = visited(result.pages, result.visits)
        yield f"{where}: all {checks} checks passed on {pages}{snapshot}"
        return
    yield f"{where}: {len(broken)} of {checks} checks failed"
    for finding in broken:
        yield ""
        yield f"  {finding.rule}: {finding.promise}"
        for example in finding.examples:
            yield f"    {printable(example, 10_000)}"
        more = finding.broken - len(finding.examples)
        if more:
            yield f"    … and {count(more)} more"
    if not result.complete:
        yield ""
        yield "  The other checks were not made: the crawl cannot be read any further."
