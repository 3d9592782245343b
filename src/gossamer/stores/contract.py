"""The contract of a store, and the records that go in and out of one.

A store holds one crawl: the known URLs with their states and outcomes, the leases, and when each
host may be fetched from again. Each method is one atomic step: it happens completely or not at all,
even if the process dies in the middle. The caller gives `now`, in seconds since the epoch.

A URL is in exactly one state:

    unscored   in the URL queue, waiting for the prioritiser
    queued     in a priority queue, waiting for the router
    assigned   in the queue of the worker that serves its domain, or of all workers together if its
               host is shared, that is, may have several requests at once
    leased     in progress at a worker
    done       finished, with exactly one outcome
    too deep   known, but deeper than the depth limit: not part of the crawl unless a shorter path
               is found

To people the first three are shown as waiting.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.model import Candidate, Cause, HostKey, Outcome, Snapshot, Url

MAX_DEATHS = 3
"""A URL that has crashed so many workers is given up."""
POISON_WORDS = "it crashed three workers"
"""The detail of its outcome."""
LATE_S = 0.1
"""A host that could have been asked this long ago waits for a worker with time for it."""


class UrlState(IntEnum):
    """The state of a URL."""

    UNSCORED = 0
    QUEUED = 1
    ASSIGNED = 2
    LEASED = 3
    DONE = 4
    TOO_DEEP = 5


class Link(msgspec.Struct, frozen=True, gc=False):
    """A URL in scope, with its keys."""

    url: Url
    key: bytes
    """16 bytes: the hash of its fingerprint. URLs with the same key count as one."""
    host: HostKey
    domain: str


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
    hopeless: bool = False
    """The host has failed so often that it is given up."""
    deaths: int = 0
    """How many workers died while they had its page in hand."""


class Leased(msgspec.Struct, frozen=True):
    """The answer to a request for leases."""

    tasks: list[Task]
    wake_at: float | None
    """When to ask again, unless something happens before; None: unknown.

    If it is not later than now, a host is ready and only waits for budget that others reserved.
    """


class Claim(msgspec.Struct, frozen=True):
    """The answer to the claim of a page number."""

    page_id: int | None = None
    """The number of the page; None if it may not be kept."""
    duplicate_of: int | None = None
    """The page with identical or similar content."""
    similarity: float | None = None
    """The similarity to that page, from 0 to 1; None: the content is identical."""
    lost: bool = False
    """The lease was not valid any more."""


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
    crawl_delay_s: float | None = None
    retry_after_s: float | None = None


class KeptPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to keep."""

    page_id: int
    """The number that it has claimed; 0 if that is still to be done."""
    size: int
    digest: bytes
    content: bytes
    """The body, compressed."""
    content_type: str = ""
    encoding: str = ""
    title: str = ""
    fetched_at: float


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
    """The size of the downloaded body."""
    page: KeptPage | None = None
    links: Sequence[Link] = ()
    redirect: bool = False
    """Whether the only link is the target of a redirect, which does not add to the depth."""
    feedback: HostFeedback | None = None
    """None if no request was sent."""


class Settled(msgspec.Struct, frozen=True):
    """The answer to a settlement."""

    accepted: bool
    """False: the lease was not valid any more, and nothing changed."""
    new_links: Sequence[bytes] = ()
    """The keys of the links that are waiting now and were not before."""
    nearer: Sequence[tuple[int, int]] = ()
    """The numbers of pages to which a shorter path was found, with their new depth."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to fetch a URL."""

    at: float
    outcome: Outcome
    cause: Cause | None
    detail: str
    status: int | None


class UrlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one URL."""

    id: int
    url: Url
    host: HostKey
    domain: str
    state: UrlState
    depth: int
    parent: int | None
    """The URL before it on the shortest path."""
    score: float | None
    queue: int | None
    outcome: Outcome | None
    detail: str
    page_id: int | None
    found_at: float
    finished_at: float | None
    attempts: int
    duplicate_of: int | None = None
    """The page that it repeats, if its outcome is DUPLICATE or SIMILAR."""


class PageRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A kept page, without its body."""

    id: int
    url: Url
    depth: int
    outcome: Outcome
    bytes: int
    content_type: str
    encoding: str
    title: str
    fetched_at: float


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one host, for display."""

    host: str
    waiting: int
    in_progress: int
    pages: int
    failures: int
    """How many requests failed."""
    next_in_s: float
    """How long until its next request; 0 or less: now."""
    mean_ms: float
    """The mean duration of its requests."""


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker tells about its process."""

    pid: int
    machine: str
    """The name of the machine that it runs on."""
    memory: int
    """Its resident memory in bytes."""
    busy: float
    """The share of one core that it used lately, from 0 to 1."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that takes part, for display."""

    number: int
    hosts: int
    """How many hosts it serves: those with URLs assigned to it or in progress there."""
    in_progress: int
    """How many URLs it works on."""
    silent_s: float
    """How long ago it last gave a sign of life."""
    report: WorkerReport | None = None
    """What it told last; None if it has told nothing yet."""


class Numbering(msgspec.Struct, frozen=True):
    """Which numbers of pages are taken for good."""

    last_page: int
    """The largest number of a page."""
    gaps: frozenset[int]
    """The smaller numbers that are still free."""


class Store(Protocol):
    """The store of one crawl."""

    async def add_seeds(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; skip those already moved."""

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Assign URLs to workers: for each draw, from the first of its queues that has any."""

    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Register a worker, or note that it is still alive.

        A worker that neither does this nor asks for leases for the time of a lease counts as dead.
        """

    async def dismiss(self, worker: int, in_hand: Sequence[int], now: float) -> None:
        """Take back everything from a worker whose process is known to have ended.

        Its URLs wait again at once; its hosts get a full delay, since nobody knows when their last
        requests ended. `in_hand` are the URLs whose pages it had in hand when it died, of which one
        may be to blame: one with `MAX_DEATHS` deaths is given up. What is no lease of this worker
        is left alone, so the call may be repeated.
        """

    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Lease URLs of hosts that are due now, within the budgets."""

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease is lost."""

    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless identical or similar content is kept already.

        It is compared with pages that were kept within the TTL or are claimed by others. Identical
        content wins, then the most similar page; of several, the first. Without a sketch only
        identical content is recognised.

        A repeated claim gets the same answer. If the page is not kept, its number is free again.
        """

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid."""

    async def keep(self, settlement: Settlement, sketch: Sketch | None, now: float) -> Settled:
        """Claim a number for the page of a settlement, and settle it: two steps in one call.

        If the page repeats another, that is its outcome, and its links are not added.
        """

    async def numbering(self) -> Numbering:
        """Return which numbers of pages are taken for good."""

    async def note(self, name: str) -> bytes | None:
        """Return a note that is stored with the crawl."""

    async def put_note(self, name: str, value: bytes) -> None:
        """Store a note with the crawl."""

    async def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages whose new depth was not reported to the modules yet, with that depth."""

    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that these depths were reported to the modules."""

    async def release(self, task: Task, feedback: HostFeedback | None, now: float) -> bool:
        """Give a task back unfinished; False if the lease is lost.

        Without feedback it is unknown when the last request ended: the host gets a full delay.
        """

    async def acquire_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take a slot of the host without a task; None: it is taken, else when to ask again.

        One that is not released within the time of a lease is taken back: who had it is dead.
        """

    async def release_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Free a slot that was taken without a task."""

    async def reap(self, now: float) -> int:
        """Release the URLs of dead workers, and forget what has expired; to be called often.

        Return how many changes the router has to consider.
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
        """Make everything durable and release the store."""


class LocalStore(Store, Protocol):
    """A store inside this process, which other processes reach through it."""

    def has_ready(self, worker: int, now: float) -> bool:
        """Tell whether a host is due of which the worker may lease a URL."""
