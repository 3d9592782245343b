"""The contract of the frontier, and the records that go in and out of it.

It has one crawl: the known URLs with their states and outcomes, the leases, and when each
host may be fetched from again. Each method is one atomic step: it happens completely or not at all,
even if the process dies in the middle. The caller gives `now`, in seconds since the epoch.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from gossamer.channel.contract import Contract
from gossamer.model import Candidate, Cause, HostKey, Outcome, Snapshot, Url
from gossamer.model.names import Sketch
from gossamer.model.page import NO_ATTRIBUTES
from gossamer.policy.cookies import Cookie, CookieChanges
from gossamer.stores.crawl_views import HostView, Numbering, WorkerReport, WorkerView
from gossamer.stores.url_record import Record


class HostFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """What a request showed about its host: its duration, its failure, the pause it asks for."""

    ended: float
    """When the last byte of the last request to the host arrived."""
    took_s: float = 0.0
    """The duration of the request."""
    failed: bool = False
    """Whether the host failed, and not only this page."""
    answered: bool = True
    """Whether the host answered at all."""
    overloaded: bool = False
    """Whether it showed that it has too much to do."""
    crawl_delay_s: float | None = None
    retry_after_s: float | None = None


THIS_PAGE = 0
"""In place of a number: the page that is being claimed, which has none yet."""


class Claim(msgspec.Struct, frozen=True):
    """The answer to the claim of a page number."""

    page_id: int | None = None
    """The number of the page; None if it may not be kept."""
    duplicate_of: int | None = None
    """The page with identical or similar content."""
    similarity: float | None = None
    """The similarity to that page, from 0 to 1; None: the content is identical."""
    own_similarity: float | None = None
    """The similarity of the own contents, if the page is similar."""
    unread: tuple[int, ...] = ()
    """Nothing is decided: the page looks similar, and these own contents are not known. They are to
    be read, and the page to be claimed again; `THIS_PAGE` stands for itself."""
    again: bool = False
    """The URL has had that number since an earlier visit."""
    lost: bool = False
    """The lease was not valid any more."""


class StoredBody(msgspec.Struct, frozen=True):
    """The body of a kept page, to be compared with another."""

    content: bytes | None = None
    """Packed (`gossamer.codings`); None: there is no such page, or its body has expired."""
    attributes: bytes = NO_ATTRIBUTES
    """Those of the page (`model/page.py`)."""
    claimed: bool = False
    """The page is claimed and not settled: its body may be there soon."""


class KeptPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to keep."""

    page_id: int
    """The number that it has claimed; 0 if that is still to be done."""
    size: int
    digest: bytes
    content: bytes
    """Body and exchange, packed (`stores/bodies.py`), or a reference to where they are."""
    attributes: bytes = NO_ATTRIBUTES
    """What is only carried, packed (`model/page.py`)."""
    fetched_at: float


RETRIED_AT_ONCE = 250
"""How many URLs `retry_failed` looks at in one step, which must not take long."""


class RetryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which failed URLs are to be tried again."""

    outcomes: frozenset[Outcome]
    """None of those of a URL that has a page, repeats one or leads to one."""
    hosts: frozenset[HostKey] = frozenset()
    """Only URLs of these hosts; empty: of any."""


class Retried(msgspec.Struct, frozen=True):
    """The answer to a request to try failed URLs again."""

    urls: int
    """How many wait now."""
    next_id: int | None
    """From which URL on to ask again; None: that was all."""


ANY_DOMAIN = "*"
"""In place of a domain: a sitemap that was named may list URLs of any."""
MAX_SITEMAPS = 1000
"""How many sitemaps are read for one registered domain."""


class Listing(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a sitemap says of a URL; or that a URL is a sitemap."""

    lastmod: float | None = None
    """When it was changed last, in seconds since the epoch."""
    priority: float | None = None
    """0 to 1."""
    sitemap_of: str | None = None
    """It is a sitemap, and lists URLs of this registered domain, or of `ANY_DOMAIN`; None: it is a
    page."""


MAX_DEATHS = 3
"""A URL that has crashed this many workers is given up."""
MAX_ATTEMPTS = 5000
"""A URL that was tried so often is not visited again, so that its history stays bounded."""
POISON_WORDS = "it crashed three workers"
"""The detail of its outcome."""
HOST_FAILED = "its host has failed too often"
"""How the detail begins of a URL that was given up with its host."""
LATE_S = 0.1
"""A host that could have been asked this long ago waits for a worker with time for it."""


class Link(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A URL in scope, with its keys."""

    url: Url
    key: bytes
    """16 bytes: the hash of its fingerprint. URLs with the same key count as one."""
    host: HostKey
    domain: str
    score: float | None = None
    """0 (first) to 100 (last): counts instead of the scorer's, if the URL is new; None: the scorer
    decides."""
    listing: Listing | None = None
    """What is kept of it, if the URL is new."""


class Task(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One URL to work on, with its lease."""

    url_id: int
    lease: int
    """The number of the lease; numbers grow, and only the newest of a URL is valid."""
    url: Url
    host: HostKey
    depth: int
    attempt: int
    """1 for the first."""
    hops: int
    """How many redirects led here from the last link."""
    host_given_up: bool = False
    """The host has failed so often that it is given up."""
    deaths: int = 0
    """How many workers died while they had its page in hand."""
    max_bytes: int = 10**15
    """How many bytes of bodies may be received for it, over all of its requests."""
    is_last_of_budget: bool = False
    """Whether that is all that is left of the budget, and perhaps less than it needs."""
    delay_s: float = 0.0
    """The pause between two requests to its host, as far as the frontier knows."""
    exhausted_budget: str = ""
    """Which budget of its host is used up, so that it is not asked; empty: none is."""
    sitemap_of: str = ""
    """It is a sitemap, and lists URLs of this registered domain, or of `ANY_DOMAIN`; empty: it is
    a page."""
    referrer_chain: tuple[Url, ...] = ()
    """The page with the last link to it, or the sitemap that lists it, and what redirected since;
    empty if nobody asked."""


class ReturnedTask(msgspec.Struct, frozen=True):
    """What was received for a task that is given back."""

    received: int = 0
    """How many bytes of bodies."""
    short: bool = False
    """Whether it was broken off because what is left of the budget is too little for it."""


class Leased(msgspec.Struct, frozen=True):
    """The answer to a request for leases."""

    tasks: list[Task]
    wake_at: float | None
    """When to ask again, unless something happens before; None: unknown.

    If it is not later than now, a host is ready and only waits for budget that others reserved.
    """


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one task, to be recorded in one step."""

    task: Task
    outcome: Outcome
    """The outcome of the URL; with `retry`, of this attempt only."""
    retry: bool = False
    """The URL is queued again for another attempt."""
    cause: Cause | None = None
    detail: str = ""
    status: int | None = None
    size: int = 0
    """The size of the page, decoded."""
    received: int = 0
    """How many bytes of bodies were received for the task, over all of its requests."""
    page: KeptPage | None = None
    links: Sequence[Link] = ()
    redirect: bool = False
    """Whether the only link is the target of a redirect, which does not add to the depth."""
    similarity: float | None = None
    """How similar the page is to the one that it repeats; None: its outcome is not SIMILAR."""
    own_similarity: float | None = None
    """How similar their own contents are."""
    again: bool = False
    """Whether the target of the redirect is visited again, once, if it had only redirected."""
    feedback: HostFeedback | None = None
    """None if no request was sent."""
    records: Sequence[Record] | None = None
    """What modules have extracted: it is in the log of results if this is how the URL ends. None:
    they gave nothing; empty: what they gave was refused."""
    row: bytes | None = None
    """What outputs of the crawl want of the page (`outputs/rows.py`)."""


class Settled(msgspec.Struct, frozen=True):
    """The answer to a settlement."""

    accepted: bool
    """False: the lease was not valid any more, and nothing changed."""
    new_links: Sequence[bytes] = ()
    """The keys of the links that are waiting now and were not before."""
    unread: tuple[int, ...] = ()
    """Nothing was recorded, because the page has to be compared first: see `Claim.unread`."""
    repeats: int | None = None
    """The number of the page that the one to be kept repeats, so it was not; None: it is kept."""


SHARE_DIGITS = 4
"""How exactly similarities are stored."""
SAME_CONTENT = "the same content as page "
"""The detail of a duplicate's outcome, before the number of the page that it repeats."""
NOTHING_KEPT: Final[dict[str, Any]] = {"cause": None, "page": None, "records": None, "row": None}
"""What a settlement says of a page that repeats another."""


def as_claimed(settlement: Settlement, claim: Claim, *, similar_links: bool = True) -> Settlement:
    """Return the settlement of a page with the number that it claimed, or as a repetition.

    The links of the same content are those of the page that it repeats. A similar page may have
    others: they are followed, unless `similar_links` says no.
    """
    if claim.page_id is not None and settlement.page is not None:
        page = msgspec.structs.replace(settlement.page, page_id=claim.page_id)
        return msgspec.structs.replace(settlement, page=page)
    if claim.similarity is None or claim.own_similarity is None:
        return msgspec.structs.replace(
            settlement,
            **NOTHING_KEPT,
            outcome=Outcome.DUPLICATE,
            detail=f"{SAME_CONTENT}{claim.duplicate_of}",
            links=(),
        )
    whole, own = _percent(claim.similarity), _percent(claim.own_similarity)
    return msgspec.structs.replace(
        settlement,
        **NOTHING_KEPT,
        outcome=Outcome.SIMILAR,
        detail=f"{whole} % like page {claim.duplicate_of}, {own} % in its own content",
        links=settlement.links if similar_links else (),
        similarity=round(claim.similarity, SHARE_DIGITS),
        own_similarity=round(claim.own_similarity, SHARE_DIGITS),
    )


def _percent(share: float) -> int:
    """Return a share in per cent, rounded down: 100 is what is alike throughout."""
    return math.floor(100 * share)


class FrontierClient(Protocol):
    """The frontier of one crawl, as workers and the coordinator call it."""

    async def add_seeds(self, seeds: Sequence[Link], now: float, depth: int = 0) -> int:
        """Add seeds, or sitemaps, at that depth; return how many are new."""

    async def set_seeds_pending(self, pending: bool) -> None:
        """Note whether seeds are still to be added: until then the crawl is not complete."""

    async def has_room(self) -> bool:
        """Return whether the URL queue has room for more seeds, or URLs of a sitemap."""

    async def add_listed(self, task: Task, links: Sequence[Link], now: float) -> int | None:
        """Add URLs that a sitemap lists, while its lease is valid; None: it is not any more.

        Pages lie one link behind it. What is a sitemap itself lies where it does, one redirect
        farther, and is left out where its domain has `MAX_SITEMAPS`. All are of one kind.
        Return how many are new.
        """

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised.

        In strict order none while depths may still decrease, see `route`.
        """

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; skip those already moved."""

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Assign URLs to workers: for each draw, from the first of its queues that has any.

        And follow up shorter paths that were found to pages visited before: over at most
        `FrontierRules.relaxed_at_once` links, as every step. While any are left, depths are those
        of paths that exist and not always the shortest; the crawl is not over, and in strict order
        nothing is scored, assigned or leased.

        Return how many URLs were assigned and links followed.
        """

    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Register a worker, or note that it is still alive.

        A worker that neither does this nor asks for leases for the time of a lease counts as dead.
        """

    async def dismiss(
        self, worker: int, in_hand: Sequence[int], now: float, received: int = 0
    ) -> None:
        """Take back everything from a worker whose process is known to have ended.

        Its URLs wait again at once; its hosts get a full delay, since nobody knows when their last
        requests ended. `in_hand` are the URLs whose pages it had in hand when it died, of which one
        may be to blame: one with `MAX_DEATHS` deaths is given up. `received` is how many bytes it
        had received for all of its tasks. What is no lease of this worker is left alone, so the
        call may be repeated.
        """

    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        """Lease URLs of hosts that are due now, within the budgets.

        There are none while the URL queue is full. Each task says how many bytes it may receive:
        what is reserved plus received never exceeds the budget. `referrers`: with their
        `Task.referrer_chain`.
        """

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease is lost."""

    async def claim(
        self,
        task: Task,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: dict[int, bytes] | None = None,
    ) -> Claim:
        """Give a page its number, unless identical or similar content is kept already.

        It is compared with pages that were kept within `keep_s` or are claimed by others. Identical
        content wins, then the most similar page; of several, the first. Without a sketch only
        identical content is recognised. A page that is visited again is not compared: it keeps its
        number.

        Similar pages are alike in their whole text and in their own content. A page whose text is
        like another's, by its sketch, must be claimed again with `own`: the samples of the own
        contents that the first answer names (`unread`), this page's under `THIS_PAGE`. They are
        kept. The sample of a content that is too short to be compared is empty: its page is similar
        to no other, and neither is a page whose own content is still unknown by then.

        A repeated claim gets the same answer. If the page is not kept, its number is free again.
        """

    async def stored_body(self, page_id: int) -> StoredBody:
        """Return the body of a kept page."""

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid.

        If the URL has ended with it and there is a page, or records, or a row, a `Result` is
        appended to the log of results, in the same step. Thousands of links may be added over
        several steps, the first of which keeps all of them; until the last the crawl is not over.
        """

    async def claim_and_settle(
        self, settlement: Settlement, sketch: Sketch | None, now: float
    ) -> Settled:
        """Claim a number for the page of a settlement, and settle it: two steps in one call.

        If it has the same content as another, that is its outcome, and neither its links are added
        nor its records and its row. If it may be similar to another, nothing happens
        (`Settled.unread`).
        """

    async def drop_rows(self, upto: int) -> None:
        """Forget the rows of the results up to a number: the outputs have them."""

    async def retry_failed(self, request: RetryRequest, first_id: int, now: float) -> Retried:
        """Let failed URLs wait again, of at most `RETRIED_AT_ONCE` from an id on.

        Their hosts count as hosts that have not failed lately: a host that has failed too often is
        not asked any more. When they may be asked again stays as it is.
        """

    async def numbering(self) -> Numbering:
        """Return which numbers of pages are taken for good."""

    async def metadata(self, name: str) -> bytes | None:
        """Return what is stored with the crawl under a name."""

    async def put_metadata(self, name: str, value: bytes) -> None:
        """Store something with the crawl under a name."""

    async def cookies(self, domain: str) -> list[Cookie]:
        """Return the cookies of a registered domain, those that were set last at the end."""

    async def put_cookies(self, domain: str, changes: CookieChanges) -> None:
        """Change the cookies of a registered domain, within `MAX_COOKIES`.

        Only what has changed is given, because several workers may do this at the same time.
        """

    async def pending_depth_changes(self, limit: int) -> list[tuple[int, int]]:
        """Return pages whose new depth was not reported to the modules yet, with that depth."""

    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that these depths were reported to the modules."""

    async def release(
        self,
        task: Task,
        feedback: HostFeedback | None,
        now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        """Give a task back unfinished; False if the lease is lost.

        Without feedback it is unknown when the last request ended: the host gets a full delay. If
        the rest of the budget was too little for the task, the budget is used up.
        """

    async def acquire_robots_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take a slot of the host for robots.txt; None: it is taken, else when to ask again.

        One that is not released within the time of a lease is taken back: who had it is dead.
        """

    async def release_robots_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Free a slot that was taken for robots.txt."""

    async def reap(self, now: float) -> int:
        """Release the URLs of dead workers; to be called often.

        Return how many changes the router has to consider.
        """

    async def expire(self, now: float) -> int:
        """Drop some of the contents whose time is over; return how many, 0 when none is left.

        A step takes a few milliseconds at most: to be called until nothing is left.
        """

    async def ended_by(self) -> str | None:
        """Return what ended the crawl: `complete`, `max-pages`, `max-bytes`; None: nothing yet."""

    async def snapshot(self, now: float) -> Snapshot:
        """Return a snapshot of the counters."""

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the busiest hosts and the slowest ones, at most `limit` of each."""

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""

    async def ready_hosts(self, now: float) -> int:
        """Return how many hosts wait for a worker that has time for them.

        Those are the hosts that could have been asked `LATE_S` ago or earlier and have URLs
        assigned, and the hosts of which several workers may take URLs, while any of those wait.
        """

    async def commit(self) -> None:
        """Make everything so far durable."""

    async def close(self) -> None:
        """Make everything durable and close the rows."""


FRONTIER: Contract[FrontierClient] = Contract(FrontierClient)
"""Both ends of a channel know the frontier by this."""
