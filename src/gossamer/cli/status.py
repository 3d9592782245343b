"""`gossamer status`: how far a crawl is."""

import asyncio
import time
from collections.abc import Callable, Iterator

from gossamer.cli.output import columns, moment, put_found, section
from gossamer.cli.parameters import CrawlName, Directory, Json, StoreUrl, crawl_to_read
from gossamer.observe import printable
from gossamer.observe.figures import count, counted, size, span
from gossamer.observe.workers import (
    WORKER_HEADING,
    first_workers,
    this_machine,
    worker_figures,
    worker_remark,
)
from gossamer.stores.reading import ReadRequest
from gossamer.views.status import CrawlStatus, crawl_status
from gossamer.views.stored_crawl import open_crawl

DEPTHS_SHOWN = 12
WORKERS_SHOWN = 20

STATES = {
    "running": "running",
    "crashed": "killed: the same command continues it",
    "complete": "finished: no URLs left",
    "max-pages": "finished: the page budget is used up",
    "max-bytes": "finished: the byte budget is used up",
    "interrupted": "interrupted: the same command continues it",
}
"""The words for a state of a crawl, or for what ended it."""


def status(
    *,
    directory: Directory = None,
    store: StoreUrl = None,
    name: CrawlName = None,
    json: Json = False,
) -> int:
    """Show how far a crawl is, while it runs or afterwards."""
    found = asyncio.run(_read(crawl_to_read(directory, store, name)))
    put_found(found, status_lines, json=json)
    return 0


async def _read(request: ReadRequest) -> CrawlStatus:
    async with open_crawl(request) as crawl:
        return await crawl_status(crawl, time.time())


def status_lines(status: CrawlStatus) -> Iterator[str]:
    """Yield the status for people."""
    yield printable(status.where)
    yield from section("state", [STATES.get(status.state) or STATES[status.ended_by or ""]])
    yield from section("pages", [count(status.pages) + _of(count, status.max_pages)])
    yield from section("bytes", [size(status.bytes) + _of(size, status.max_bytes)])
    yield from section("URLs", [_urls(status)])
    yield from section("hosts", [count(status.hosts)])
    if status.started_at is not None and status.last_at is not None:
        took = span(status.last_at - status.started_at)
        times = f"{moment(status.started_at)} to {moment(status.last_at)} ({took})"
        yield from section("time", [times])
    outcomes = [[count(urls), name.replace("_", " ")] for name, urls in status.outcomes.items()]
    yield from section("outcomes", columns(outcomes, right=[0]))
    yield ""
    yield from section("depths", columns(_depths(status), right=[0, 1, 2, 3]))
    if any(queue.waiting for queue in status.queues):
        yield ""
        yield from section("queues", columns(_queues(status), right=[0, 1, 2]))
    if status.busiest_hosts:
        yield ""
        yield from section("busiest", columns(_hosts(status), right=[0]))
    if status.workers:
        yield ""
        yield from section("workers", _workers(status, this_machine()))


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


def _depths(status: CrawlStatus) -> list[list[str]]:
    rows = [["depth", "URLs", "finished", "pages"]]
    for one in status.depths[:DEPTHS_SHOWN]:
        rows.append([str(one.depth), count(one.urls), count(one.finished), count(one.pages)])
    rest = status.depths[DEPTHS_SHOWN:]
    if rest:
        sums = [sum(one.urls for one in rest), sum(one.finished for one in rest)]
        sums.append(sum(one.pages for one in rest))
        rows.append([f"to {rest[-1].depth}", *map(count, sums)])
    return rows


def _queues(status: CrawlStatus) -> list[list[str]]:
    rows = [["queue", "scores", "waiting"]]
    for one in status.queues:
        rows.append([str(one.queue), f"{one.low:g} to {one.high:g}", count(one.waiting)])
    unscored = status.url_states["unscored"]
    return [*rows, ["", "no score yet", count(unscored)]] if unscored else rows


def _hosts(status: CrawlStatus) -> list[list[str]]:
    rows = [["URLs", "host", ""]]
    for one in status.busiest_hosts:
        words = []
        if status.state == "running":
            words.append(f"ready in {span(one.next_in_s)}" if one.next_in_s > 0 else "ready")
        if one.failures:
            words.append(counted(one.failures, "failed request"))
        left = count(one.waiting + one.in_progress)
        rows.append([left, printable(one.host), ", ".join(words)])
    return rows


def _workers(status: CrawlStatus, here: str) -> Iterator[str]:
    shown, others = first_workers(status.workers, WORKERS_SHOWN)
    rows = [[*WORKER_HEADING, ""]]
    rows += [[*worker_figures(one), worker_remark(one, here)] for one in shown]
    yield from columns(rows, right=range(len(WORKER_HEADING)))
    if others:
        yield others
