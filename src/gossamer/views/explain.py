"""Why a URL is where it is: where it was found, what let it in, what came of it, what it awaits."""

from typing import Literal

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, PageRecord, UrlRecord, UrlState
from gossamer.stores.embedded.sqlite.reader import State, Step, state_of
from gossamer.urls import Scope
from gossamer.views.stored_crawl import CrawlState, StoredCrawl
from gossamer.worker.links import LinkFilter

Obstacle = Literal["no-process", "max-pages", "max-bytes", "score", "queue", "worker", "host"]


class ScopeVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules of the crawl say of a URL."""

    accepted: bool
    rule: str
    words: str


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL waits for, and how long at least."""

    obstacles: list[Obstacle]
    """What is in its way: nobody works on the crawl, a budget is used up, it has no score yet, it
    is not its turn in the queue or at the worker, its host rests."""
    ahead: int
    """How many URLs surely come before it: of its host, or of all while it has no score."""
    host_ready_in_s: float
    """How long until its host may be asked again; 0: now."""
    host_delay_s: float
    host_failures: int
    """How many requests to its host have failed in a row."""
    at_least_s: float
    """How long it takes until its turn comes, if nothing else comes between."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to tell about a URL."""

    url: Url
    """The URL that was asked about, in normal form."""
    state: State | Literal["never_seen"]
    crawl: CrawlState
    urls_left: int
    """How many URLs of the crawl are not finished."""
    max_depth: int | None
    scope: ScopeVerdict | None
    """None if the options were not kept with the crawl."""
    known_as: Url | None = None
    """How it was spelt where it was found first."""
    url_state: str | None = None
    host: HostKey | None = None
    depth: int | None = None
    score: float | None = None
    queue: int | None = None
    outcome: Outcome | None = None
    detail: str = ""
    page: PageRecord | None = None
    repeats: PageRecord | None = None
    """The page of which it is a duplicate, or to which it is similar."""
    found_at: float | None = None
    finished_at: float | None = None
    path: list[Step] = []
    """The shortest path from a seed."""
    attempts: list[Attempt] = []
    waits: Waits | None = None


def explain(crawl: StoredCrawl, url: Url, now: float) -> Explanation:
    """Return what the crawl knows about a URL, however it is spelt."""
    reader, options = crawl.reader, crawl.options
    scope = options.scope_of_crawl() if options else None
    known = reader.url(LinkFilter(scope or Scope.for_seeds("any", []), str).file(url).key)
    left = reader.unfinished()
    found = Explanation(
        url=url,
        state="never_seen",
        crawl=crawl.state(left),
        urls_left=left,
        max_depth=options.depth if options else None,
        scope=_judged(scope, known.url if known else url),
    )
    if known is None:
        return found
    return msgspec.structs.replace(
        found,
        state=state_of(known.state),
        known_as=known.url,
        url_state=known.state.name.lower(),
        host=known.host,
        depth=known.depth,
        score=known.score,
        queue=known.queue,
        outcome=known.outcome if known.state is UrlState.DONE else None,
        detail=known.detail if known.state is UrlState.DONE else "",
        page=None if known.page_id is None else reader.page(known.page_id),
        repeats=None if known.duplicate_of is None else reader.page(known.duplicate_of),
        found_at=known.found_at,
        finished_at=known.finished_at,
        path=reader.path(known.id),
        attempts=reader.attempts(known.id),
        waits=_waits(crawl, known, now) if state_of(known.state) == "waiting" else None,
    )


def _judged(scope: Scope | None, url: Url) -> ScopeVerdict | None:
    if scope is None:
        return None
    verdict = scope.judge(url)
    return ScopeVerdict(accepted=bool(verdict), rule=verdict.rule, words=verdict.explain(url))


def _waits(crawl: StoredCrawl, url: UrlRecord, now: float) -> Waits:
    host = crawl.reader.host(url.host)
    ahead = crawl.reader.ahead_of(url)
    rest_s = max(0.0, host.next_start - now) if host else 0.0
    delay_s = host.delay_s if host else 0.0
    turns_s = 0.0 if url.state is UrlState.UNSCORED else ahead * delay_s
    return Waits(
        obstacles=_obstacles(crawl, url, ahead, rest_s),
        ahead=ahead,
        host_ready_in_s=rest_s,
        host_delay_s=delay_s,
        host_failures=host.failures if host else 0,
        at_least_s=rest_s + turns_s,
    )


def _obstacles(crawl: StoredCrawl, url: UrlRecord, ahead: int, rest_s: float) -> list[Obstacle]:
    found: list[Obstacle] = []
    if not crawl.running:
        found.append("no-process")
    match crawl.exhausted_by():
        case "max-pages":
            found.append("max-pages")
        case "max-bytes":
            found.append("max-bytes")
    match url.state:
        case UrlState.UNSCORED:
            found.append("score")
        case UrlState.QUEUED:
            found.append("queue")
        case _ if ahead:
            found.append("worker")
    if rest_s > 0:
        found.append("host")
    return found
