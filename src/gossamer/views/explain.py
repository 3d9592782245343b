"""The explanation of a URL: where it was found, what let it in, what came of it, what it awaits."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from gossamer.config import CrawlOptions, HostTable
from gossamer.config.host_rules import HOST_KEYS, WHOLE_HOST
from gossamer.coordinator.plan import SCOPE_NOTE, scope_of
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.crawl_views import CrawlCounts, HostTiming, State, Step, state_of
from gossamer.stores.url_record import Attempt, PageRecord, UrlRecord, UrlState
from gossamer.urls import Scope, host_key
from gossamer.views.crawls import CrawlState, RepeatedPage, StoredCrawl, fields_of, repeated_page
from gossamer.worker.link_filter import LinkFilter
from gossamer.worker.sitemaps import sitemap_key

Obstacle = Literal["no-process", "max-pages", "max-bytes", "score", "queue", "worker", "host"]

_OF_THE_RECORD = (
    *("host", "depth", "score", "queue", "outcome", "detail", "found_at", "finished_at"),
)
_UNKNOWN_HOST = HostTiming(delay_s=0.0, ready_in_s=0.0, failures=0)


class ScopeVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the scope of the crawl says about a URL."""

    accepted: bool
    rule: str
    words: str


class HostRuleView(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule for single hosts says about the URL's host."""

    key: str
    value: str
    pattern: str


class Waits(msgspec.Struct, frozen=True, kw_only=True):
    """What a URL waits for, and how long at least."""

    obstacles: list[Obstacle]
    """What is in its way: no process works on the crawl, a budget is used up, it has no score yet,
    others come first in its queue or at its worker, its host must not be asked yet."""
    ahead: int
    """How many URLs surely come before it: of its host, or of all while it has no score."""
    host_ready_in_s: float
    """How long until its host may be asked again; 0: now."""
    host_delay_s: float
    host_failures: int
    """How many requests to its host have failed in a row."""
    at_least_s: float
    """How long until its turn comes, if nothing else comes first."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known about a URL, and what follows from it."""

    url: Url
    """The URL that was asked about, in normal form."""
    state: State | Literal["never_seen"]
    crawl: CrawlState
    urls_left: int
    """How many URLs of the crawl are not finished."""
    max_depth: int | None
    """How far from a seed the URLs of its host may be."""
    host_rules: list[HostRuleView] = []
    """The limits and the scope of its host, where rules for single hosts set them."""
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
    duplicate_of: RepeatedPage | None = None
    """The page of which it is a duplicate, or to which it is similar."""
    found_at: float | None = None
    finished_at: float | None = None
    path: list[Step] = []
    """The shortest path from a seed."""
    over_host_urls: int = 0
    """How many links of the crawl were left out, because their hosts have too many URLs."""
    relaxing: bool = False
    """Whether depths may still decrease: a shorter path was found, and is being followed."""
    attempts: list[Attempt] = []
    waits: Waits | None = None


async def explain(crawl: StoredCrawl, url: Url, now: float) -> Explanation:
    """Return what the crawl knows about a URL, however it is spelt."""
    reader, options = crawl.reader, crawl.options
    scope = scope_of(options, await reader.metadata(SCOPE_NOTE)) if options else None
    known = await reader.url(LinkFilter(scope or Scope.for_seeds("any", []), str).file(url).key)
    known = known or await reader.url(sitemap_key(url))
    counts = await reader.counts()
    explanation = Explanation(
        url=url,
        state="never_seen",
        crawl=crawl.state(counts),
        urls_left=counts.unfinished,
        max_depth=_max_depth(options, url) if options else None,
        host_rules=_host_rules(options, url) if options else [],
        scope=_judge(scope, known.url if known else url, known) if scope else None,
        relaxing=counts.relaxing,
        over_host_urls=counts.over_host_urls,
    )
    if known is None:
        return explanation
    state = state_of(known.state)
    original = await reader.page(known.duplicate_of or 0)
    return msgspec.structs.replace(
        explanation,
        state=state,
        known_as=known.url,
        url_state=known.state.name.lower(),
        **fields_of(known, _OF_THE_RECORD),
        page=await reader.page(known.page_id or 0),
        duplicate_of=repeated_page(known, original.url if original else None),
        path=await reader.path(known.id),
        attempts=await reader.attempts(known.id),
        waits=await _waits(crawl, counts, known, now) if state == "waiting" else None,
    )


def _max_depth(options: CrawlOptions, url: Url) -> int | None:
    ruled = HostTable.of(options.host).rules_for(host_key(url)).depth
    return options.depth if ruled is None else ruled


def _host_rules(options: CrawlOptions, url: Url) -> list[HostRuleView]:
    applied = HostTable.of(options.host).explain(host_key(url))
    return [
        HostRuleView(
            key=key.name,
            value=key.show(getattr(applied.rules, key.field)),
            pattern=str(applied.patterns[key.field]),
        )
        for key in HOST_KEYS
        if key.field in WHOLE_HOST and key.field in applied.patterns
    ]


def _judge(scope: Scope, url: Url, known: UrlRecord | None) -> ScopeVerdict:
    verdict = scope.judge(url, is_seed=known is not None and known.parent is None)
    return ScopeVerdict(accepted=bool(verdict), rule=verdict.rule, words=verdict.explain(url))


async def _waits(crawl: StoredCrawl, counts: CrawlCounts, url: UrlRecord, now: float) -> Waits:
    host = await crawl.reader.timing(url.host, now) or _UNKNOWN_HOST
    ahead = await crawl.reader.ahead_of(url)
    turns_s = 0.0 if url.state is UrlState.UNSCORED else ahead * host.delay_s
    return Waits(
        obstacles=[*_obstacles(crawl, counts, url, ahead, host.ready_in_s)],
        ahead=ahead,
        host_ready_in_s=host.ready_in_s,
        host_delay_s=host.delay_s,
        host_failures=host.failures,
        at_least_s=host.ready_in_s + turns_s,
    )


def _obstacles(
    crawl: StoredCrawl, counts: CrawlCounts, url: UrlRecord, ahead: int, ready_in_s: float
) -> Iterator[Obstacle]:
    if not counts.running:
        yield "no-process"
    if (budget := crawl.exhausted_by(counts)) is not None:
        yield budget
    match url.state:
        case UrlState.UNSCORED:
            yield "score"
        case UrlState.QUEUED:
            yield "queue"
        case _ if ahead:
            yield "worker"
    if ready_in_s > 0:
        yield "host"
