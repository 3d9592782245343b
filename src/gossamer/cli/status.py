"""`gossamer status`: how far a crawl is."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from gossamer.cli.output import columns, moment, put_json, put_lines, section
from gossamer.cli.parameters import CrawlName, Directory, Json, StoreUrl, the_crawl
from gossamer.observe import printable
from gossamer.observe.figures import count, counted, size, span
from gossamer.views.status import CrawlStatus, crawl_status

DEPTHS_SHOWN = 12

ENDINGS = {
    "complete": "complete, every URL that was found is settled",
    "max-pages": "ended by the page budget",
    "max-bytes": "ended by the byte budget",
    "interrupted": "interrupted; the same command continues",
}


def status(
    *,
    directory: Directory = None,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    json: Json = False,
) -> int:
    """Show how far a crawl is, while it runs or afterwards.

    Parameters
    ----------
    directory
        The directory of the crawl; by default this one, or the only crawl right below it.
    store
        Where the crawl is instead: redis://HOST, or sqlite:PATH.
    crawl
        The name of the crawl in a shared store; by default the only one there.
    json
        Print one JSON object.

    """
    with the_crawl(directory, store, crawl) as kept:
        found = crawl_status(kept)
    if json:
        put_json([found])
    else:
        put_lines(status_lines(found, time.time()))
    return 0


def status_lines(status: CrawlStatus, now: float) -> Iterator[str]:
    """Yield the status for people."""
    yield f"{printable(status.directory)}: {_headline(status)}"
    yield ""
    yield from section("pages", [count(status.pages) + _of(count, status.max_pages)])
    yield from section("bytes", [size(status.bytes) + _of(size, status.max_bytes)])
    yield from section("URLs", [_urls(status)])
    yield from section("hosts", [count(status.hosts)])
    if status.started_at is not None and status.last_at is not None:
        took = span(status.last_at - status.started_at)
        times = f"{moment(status.started_at)} to {moment(status.last_at)} ({took})"
        yield from section("time", [times])
    yield from section("outcomes", columns(_outcomes(status), right=[0]))
    yield from _table("depths", _depths(status), right=[0, 1, 2, 3])
    if any(queue.waiting for queue in status.queues):
        yield from _table("queues", _queues(status), right=[0, 1, 2])
    if status.busiest_hosts:
        yield from _table("most to do", _hosts(status, now), right=[0])


def _headline(status: CrawlStatus) -> str:
    if status.state == "running":
        return "running"
    if status.state == "crashed":
        return "its process was killed; the same command continues"
    return ENDINGS[status.ended_by or ""]


def _of(show: Callable[[int], str], limit: int | None) -> str:
    return "" if limit is None else f" of {show(limit)}"


def _urls(status: CrawlStatus) -> str:
    figures = [
        f"{count(status.waiting)} waiting",
        f"{count(status.in_progress)} in progress",
        f"{count(status.finished)} finished",
    ]
    if status.too_deep:
        figures.append(f"{count(status.too_deep)} beyond the depth limit")
    return ", ".join(figures)


def _table(label: str, rows: Sequence[Sequence[str]], right: Iterable[int]) -> Iterator[str]:
    yield ""
    yield from section(label, columns(rows, right))


def _outcomes(status: CrawlStatus) -> list[list[str]]:
    return [[count(urls), name.replace("_", " ")] for name, urls in status.outcomes.items()]


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


def _hosts(status: CrawlStatus, now: float) -> list[list[str]]:
    rows = [["URLs", "host", ""]]
    for one in status.busiest_hosts:
        words = []
        if status.state == "running":
            wait_s = one.next_start - now
            words.append(f"next in {span(wait_s)}" if wait_s > 0 else "next now")
        if one.failures:
            words.append(f"{counted(one.failures, 'failure')} in a row")
        rows.append([count(one.left), printable(one.host), ", ".join(words)])
    return rows
