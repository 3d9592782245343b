"""A store inside the crawling process: the desk decides, a shelf keeps."""

import math
from collections.abc import Sequence

from gossamer.content.similarity import Sketch
from gossamer.errors import CrawlError
from gossamer.frontier import Lease
from gossamer.frontier.desk import ASK_AGAIN_S
from gossamer.model import Candidate, HostKey, Snapshot
from gossamer.policy.pace import is_hopeless
from gossamer.stores.contract import (
    Attempt,
    Claim,
    HostView,
    Leased,
    Link,
    Pace,
    Settled,
    Settlement,
    Task,
)
from gossamer.stores.ledger import REPEATED, Ledger, StoreRules
from gossamer.stores.shelf import Shelf
from gossamer.stores.twins import Original
from gossamer.stores.whole import wait_until_ready, whole

__all__ = ["EmbeddedStore", "StoreRules"]

EXPIRED_AT_ONCE = 200
"""How many contents are dropped in one go: few enough not to be noticed."""


class EmbeddedStore:
    """One crawl, kept by the process that runs it.

    Every method is synchronous inside, so it happens whole between two awaits of the caller, and
    `commit` makes whole methods durable. What the desk knows beyond the shelf (leases, the queues
    of workers) dies with the process; those URLs wait again at the next start.
    """

    def __init__(self, shelf: Shelf, rules: StoreRules, now: float) -> None:
        self.shelf = shelf
        self.broken: CrawlError | None = None
        """Why it cannot go on."""
        self._rules = rules
        self._started = now
        self._is_begun = False
        self._borrowed = 0
        try:
            self._ledger = Ledger(shelf, rules, now)
        except shelf.errors as error:
            shelf.close()
            raise CrawlError(shelf.complaint(error)) from error
        self._desk = self._ledger.desk
        self._budget = self._ledger.budget

    def __repr__(self) -> str:
        return f"<EmbeddedStore: {self._ledger.unscored} unscored, {self._desk!r}>"

    # -- the frontier's side ---------------------------------------------------------------------

    @whole
    async def plant(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""
        growth = self._ledger.links.plant(seeds, now)
        self._ledger.grow(growth)
        return growth.new

    @whole
    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""
        credit = self._ledger.credit
        return [
            Candidate(
                id=one.id,
                url=one.url,
                host=one.host,
                domain=one.domain,
                depth=one.depth,
                credit=credit.of(one.domain),
                top_credit=credit.top,
            )
            for one in self.shelf.unscored(limit)
        ]

    @whole
    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; moved ones are left alone."""
        for candidate, score in scores:
            worst = math.isnan(score)
            self._ledger.score(candidate, 100.0 if worst else min(max(score, 0.0), 100.0))

    @whole
    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Deal URLs to workers: for each draw, from the first of its queues that has any."""
        dealt = 0
        for queues in draws:
            pick = self._desk.pick(queues, now)
            if pick is None:
                break
            urls = self.shelf.take(pick.host.key, pick.queue, pick.count)
            assert len(urls) == pick.count, "the shelf holds what the desk has counted"
            self._desk.deal(pick, urls)
            dealt += len(urls)
        return dealt

    # -- the workers' side -----------------------------------------------------------------------

    @whole
    async def join(self, worker: int, now: float) -> None:
        """Let a worker take part, or say that it still does."""
        if not self._is_begun:
            self._ledger.begin()
            self._is_begun = True
        self._desk.join(worker, now)

    @whole
    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Hand out URLs whose hosts may be asked now, within the budgets."""
        self._desk.join(worker, now)
        if self._rules.desk.strict and self._ledger.unscored:
            return Leased([], now + ASK_AGAIN_S)  # a better one may be among those
        tasks = []
        for lease in self._desk.lease(worker, limit, now):
            begun = self.shelf.begin(lease.url_id)
            tasks.append(
                Task(
                    url_id=lease.url_id,
                    lease=lease.number,
                    url=begun.url,
                    host=lease.host.key,
                    depth=begun.depth,
                    attempt=begun.attempts + 1,
                    hops=begun.hops,
                    hopeless=is_hopeless(lease.host.failures, lease.host.unanswered),
                )
            )
        return Leased(tasks, self._desk.wake_at(worker, now))

    @whole
    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease was lost."""
        renew = self._desk.leases.renew
        return [task for task in tasks if not renew(task.url_id, task.lease, now)]

    @whole
    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless its content or one that resembles it was kept."""
        if self._desk.leases.find(task.url_id, task.lease) is None:
            return Claim(None, lost=True)
        if (number := self._ledger.claims.number_of(task.url_id)) is not None:
            return Claim(number)
        given = self._ledger.twins.claim(task.url_id, digest, sketch, now)
        if isinstance(given, Original):
            return Claim(None, twin_of=given.number, similarity=given.similarity)
        return Claim(given)

    @whole
    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record everything that came of a task, if its lease is still the newest."""
        task, pace, ledger = settlement.task, settlement.pace, self._ledger
        lease = self._desk.leases.find(task.url_id, task.lease)
        if lease is None:
            return Settled(accepted=False)
        host = lease.host
        next_start = host.next_start if pace is None else ledger.hosts.rested(host, pace)
        ledger.shelve(host, self._desk.end(lease, next_start=next_start, now=now))
        self._budget.use(page=settlement.page is not None, size=settlement.size)
        self.shelf.count_bytes(settlement.size)
        attempt = _attempt(settlement, now)
        is_repeated = settlement.outcome in REPEATED
        if settlement.retry or (is_repeated and ledger.claims.is_void(task.url_id)):
            ledger.wait_for_retry(task.url_id, host, attempt)
            return Settled(accepted=True)
        growth = ledger.finish(settlement, host, attempt)
        return Settled(True, growth.new_keys, list(growth.nearer.items()))

    @whole
    async def untold(self) -> list[tuple[int, int]]:
        """Return the pages of which the modules know a larger depth, with their depth."""
        return self.shelf.untold()

    @whole
    async def told(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that the modules know the depth of these pages."""
        for page_id, depth in pages:
            self.shelf.set_told_depth(page_id, depth)

    @whole
    async def put_back(self, task: Task, pace: Pace | None, now: float) -> bool:
        """Give a task back undone; False if the lease was lost."""
        lease = self._desk.leases.find(task.url_id, task.lease)
        if lease is not None:
            self._take_back(lease, pace, now)
        return lease is not None

    @whole
    async def borrow(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take the host's place for a request without a task; None: now, else when to ask again."""
        moment = self._desk.borrow(self._ledger.hosts.get(host, domain), now)
        self._borrowed += moment is None
        return moment

    @whole
    async def hand_back(self, host: HostKey, domain: str, pace: Pace, now: float) -> None:
        """Give a borrowed place back."""
        lent = self._ledger.hosts.get(host, domain)
        next_start = self._ledger.hosts.rested(lent, pace)
        self._ledger.shelve(lent, self._desk.hand_back(lent, next_start, now))
        self._borrowed -= 1

    @whole
    async def reap(self, now: float) -> int:
        """Give back what the dead have left, and forget what has expired."""
        overdue = self._desk.leases.overdue(now)
        for lease in overdue:
            self._take_back(lease, None, now)
        dismissed = self._desk.dismiss_silent(now)
        for host, items in dismissed:
            self._ledger.shelve(host, items)
        self._ledger.hosts.save()
        self._ledger.credit.save()
        self._desk.hosts.forget_idle(now)
        self._ledger.twins.forget(
            self.shelf.expire_content(now - self._rules.ttl_s, EXPIRED_AT_ONCE)
        )
        return len(overdue) + len(dismissed) + self._desk.end_rests(now)

    def _take_back(self, lease: Lease, pace: Pace | None, now: float) -> None:
        """Let a URL wait again on which nobody works any more."""
        host, hosts = lease.host, self._ledger.hosts
        rested = hosts.rested_unseen(host, now) if pace is None else hosts.rested(host, pace)
        self._ledger.shelve(host, self._desk.end(lease, next_start=rested, now=now))
        self._budget.give_back()
        self._ledger.wait_again(lease.url_id, host)

    # -- keeping and counting --------------------------------------------------------------------

    async def snapshot(self, now: float) -> Snapshot:
        """Count."""
        ledger, outcomes = self._ledger, self._ledger.outcomes
        return Snapshot(
            waiting=ledger.waiting,
            in_work=len(self._desk.leases),
            finished=outcomes.total(),
            pages=self._budget.pages,
            bytes=self._budget.bytes,
            outcomes={str(one): count for one, count in outcomes.items() if count},
            hosts=self.shelf.host_count(),
            elapsed_s=now - self._started,
            pages_per_s=0.0,
            ended_by=await self.ended_by(),
            max_pages=self._rules.max_pages,
            max_bytes=self._rules.max_bytes,
        )

    async def ended_by(self) -> str | None:
        """Tell what ended the crawl; None while it goes on."""
        if len(self._desk.leases):
            return None
        return self._budget.exhausted_by() if self._ledger.waiting else "complete"

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        return self._ledger.waiting

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, and the slowest ones, at most so many of each."""
        return self._ledger.hosts.views(limit, now)

    @property
    def last_page(self) -> int:
        """The largest number that a page has."""
        return self._ledger.claims.last_page

    @property
    def gaps(self) -> frozenset[int]:
        """The smaller numbers that are still to be given."""
        return self._ledger.claims.gaps

    @whole
    async def commit(self) -> None:
        """Make everything so far durable."""
        self._ledger.save()

    async def close(self) -> None:
        """Make everything durable and let go.

        Where something is still in work, nobody knows what its host was asked: then the next start
        goes by the same rules as after a crash.
        """
        await wait_until_ready(self)
        try:
            if self._is_begun and self.broken is None:
                if not len(self._desk.leases) and not self._borrowed:
                    self.shelf.reshelve()
                    self.shelf.put("closed", b"yes")
                self._ledger.credit.save()
                await self.commit()
        finally:
            self.shelf.close()


def _attempt(settlement: Settlement, now: float) -> Attempt:
    return Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
