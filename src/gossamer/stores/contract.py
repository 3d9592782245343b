"""What every store promises.

A store holds one crawl: which URLs are known, where each of them stands, what came of it, who works
on what, and when a host may be asked again. Each method is one atomic step: it happens whole or not
at all, also when the process dies in the middle. `now` is given by the caller, in seconds since the
epoch.

A URL stands in exactly one place:

    unscored   in the URL queue, waiting for the prioritiser
    queued    in a priority queue, waiting for the router
    assigned      in the queue of the worker that serves its domain
    in progress    leased by that worker
    finished   with exactly one outcome
    beyond     known, but farther away than the depth limit: not part of the crawl unless a shorter
               path is found

The first three are together what people call waiting.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.model import Candidate, Cause, HostKey, Outcome, Snapshot, Url


class UrlState(IntEnum):
    """Where a URL stands."""

    UNSCORED = 0
    QUEUED = 1
    ASSIGNED = 2
    LEASED = 3
    DONE = 4
    TOO_DEEP = 5


class Link(msgspec.Struct, frozen=True, gc=False):
    """A URL in scope, with everything it is filed under."""

    url: Url
    key: bytes
    """16 bytes: the hash of its fingerprint. URLs with one key are one page."""
    host: HostKey
    domain: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One URL to work on, and the right to do so."""

    url_id: int
    lease: int
    """The number of the lease; it grows, and only the newest of a URL counts."""
    url: Url
    host: HostKey
    depth: int
    attempt: int
    """1 for the first."""
    hops: int
    """How many redirects led here from the last link."""
    hopeless: bool = False
    """The host has failed so often that it is not asked any more."""


class Leased(msgspec.Struct, frozen=True):
    """What a worker got."""

    tasks: list[Task]
    wake_at: float | None
    """When to ask again, if nothing else happens before; None: nobody knows.

    Not later than now: a host is ready, and waits for what others have reserved of the budgets.
    """


class Claim(msgspec.Struct, frozen=True):
    """The answer to a page that wants to be kept."""

    page_id: int | None
    """Its number; None if it may not be kept."""
    duplicate_of: int | None = None
    """The page with the same content, or with one that is similar to it."""
    similarity: float | None = None
    """How much it is similar to that page, from 0 to 1; None: the content is the same."""
    lost: bool = False
    """The lease was no longer ours."""


class HostFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """What a visit tells about how the host wants to be treated."""

    ended: float
    """When the last byte of the last request to the host arrived."""
    took_s: float = 0.0
    """How long the host took to answer."""
    failed: bool = False
    """Whether the host itself failed, and not only this page."""
    answered: bool = True
    """Whether it said anything at all."""
    crawl_delay_s: float | None = None
    retry_after_s: float | None = None


class KeptPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page worth keeping."""

    page_id: int
    size: int
    digest: bytes
    content: bytes
    """The body, compressed."""
    content_type: str = ""
    encoding: str = ""
    title: str = ""
    fetched_at: float


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that came of one task, to be recorded in one step."""

    task: Task
    outcome: Outcome
    """How the URL ended; with `retry` only how this attempt did."""
    retry: bool = False
    """The URL goes back to wait for another attempt."""
    cause: Cause | None = None
    detail: str = ""
    status: int | None = None
    size: int = 0
    """How many bytes of body were downloaded."""
    page: KeptPage | None = None
    links: Sequence[Link] = ()
    redirect: bool = False
    """Whether the one link is the target of a redirect, which costs no depth."""
    feedback: HostFeedback | None = None
    """None when no request was sent."""


class Settled(msgspec.Struct, frozen=True):
    """What became of a settlement."""

    accepted: bool
    """False: the lease was no longer ours, and nothing changed."""
    new_links: Sequence[bytes] = ()
    """The keys of the links that wait now and did not before."""
    nearer: Sequence[tuple[int, int]] = ()
    """Pages, by number, to which a shorter path was found, with their new depth."""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One try at a URL."""

    at: float
    outcome: Outcome
    cause: Cause | None
    detail: str
    status: int | None


class UrlRecord(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one URL."""

    id: int
    url: Url
    host: HostKey
    domain: str
    state: UrlState
    depth: int
    parent: int | None
    """The URL it was found on, on the shortest path."""
    score: float | None
    queue: int | None
    outcome: Outcome | None
    detail: str
    page_id: int | None
    found_at: float
    finished_at: float | None
    attempts: int
    duplicate_of: int | None = None
    """The page that it repeats, if it ended as a duplicate or as similar."""


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
    """One host at one moment, as far as it is worth showing."""

    host: str
    waiting: int
    in_progress: int
    pages: int
    failures: int
    """Requests that failed."""
    next_in_s: float
    """How long until it may be asked again; 0 or less: at once."""
    mean_ms: float
    """The mean duration of its requests."""


class Store(Protocol):
    """One crawl, kept."""

    async def add_seeds(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; moved ones are left alone."""

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Assign URLs to workers: for each draw, from the first of its queues that has any."""

    async def join(self, worker: int, now: float) -> None:
        """Let a worker take part, or say that it still does.

        One that says nothing for the time of a lease, and asks for none, is taken for dead.
        """

    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Hand out URLs whose hosts may be asked now, within the budgets."""

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease was lost."""

    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless its content or one that is similar to it was kept.

        Only what was kept within the TTL counts, and what others have claimed and not settled. The
        same content comes first, then the page that it is similar to most; of several, the first.
        Without a sketch only the same content is recognised.

        Asked again, it answers the same. The number is free again if the page is not kept.
        """

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record everything that came of a task, if its lease is still the newest."""

    async def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages of which the modules know a larger depth, with their depth."""

    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that the modules know the depth of these pages."""

    async def release(self, task: Task, feedback: HostFeedback | None, now: float) -> bool:
        """Give a task back undone; False if the lease was lost.

        Without a pace nobody knows what its host was asked: it gets one full delay.
        """

    async def acquire_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take the host's place for a request without a task; None: now, else when to ask again."""

    async def release_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Give a slot without a task back."""

    async def reap(self, now: float) -> int:
        """Give back what the dead have left, and forget what has expired; to be called often.

        Return how much the router has to look at again.
        """

    async def ended_by(self) -> str | None:
        """Return what ended the crawl: `complete`, `max-pages`, `max-bytes`; None: nothing yet."""

    async def snapshot(self, now: float) -> Snapshot:
        """Count."""

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, and the slowest ones, at most so many of each."""

    async def commit(self) -> None:
        """Make everything so far durable."""

    async def close(self) -> None:
        """Make everything durable and let go."""
