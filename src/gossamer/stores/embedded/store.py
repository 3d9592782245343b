"""The embedded store: the scheduler decides, a backend stores."""

import math
from collections.abc import Sequence

from gossamer.content.similarity import Sketch
from gossamer.errors import CrawlError
from gossamer.frontier import Lease
from gossamer.frontier.scheduler import ASK_AGAIN_S
from gossamer.model import Candidate, HostKey, Snapshot
from gossamer.policy.rests import is_hopeless
from gossamer.stores.contract import (
    LATE_S,
    MAX_DEATHS,
    Attempt,
    Claim,
    HostFeedback,
    HostView,
    Leased,
    Link,
    Numbering,
    Settled,
    Settlement,
    Task,
    WorkerReport,
    WorkerView,
)
from gossamer.stores.embedded.atomic import atomic, wait_until_ready
from gossamer.stores.embedded.duplicates import Original
from gossamer.stores.embedded.frontier_state import FrontierState
from gossamer.stores.embedded.rows import UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.taken_slots import TakenSlots
from gossamer.stores.embedded.worker_registry import WorkerRegistry
from gossamer.stores.keeping import keep_page
from gossamer.stores.rules import REPEATED, StoreRules

__all__ = ["EmbeddedStore", "StoreRules"]

EXPIRED_AT_ONCE = 200
"""How many contents are dropped in one step, which must not take long."""


class EmbeddedStore:
    """The store of one crawl, inside the process that runs it.

    Every method is synchronous inside, so it is atomic between two awaits of the caller, and
    `commit` makes completed methods durable. What only the scheduler knows (leases, the queues of
    workers) is lost with the process; those URLs are queued again at the next start.
    """

    def __init__(self, backend: SqliteBackend, rules: StoreRules, now: float) -> None:
        self.backend = backend
        self.broken: CrawlError | None = None
        """Why it cannot be used any more."""
        self._rules = rules
        self._started = now
        self._is_begun = False
        self._taken_slots = TakenSlots(rules.scheduler.lease_s)
        try:
            self._state = FrontierState(backend, rules, now)
        except backend.errors as error:
            backend.close()
            raise CrawlError(backend.complaint(error)) from error
        self._scheduler = self._state.scheduler
        self._budget = self._state.budget
        self._workers = WorkerRegistry(backend, self._scheduler)

    def __repr__(self) -> str:
        return f"<EmbeddedStore: {self._state.unscored} unscored, {self._scheduler!r}>"

    # -- for the frontier ------------------------------------------------------------------------

    @atomic
    async def add_seeds(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""
        growth = self._state.links.add(seeds, UrlPath(0, 0, None), now)
        self._state.grow(growth)
        return growth.new

    @atomic
    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""
        if not self._state.unscored:
            return []
        credit = self._state.credit
        return [
            Candidate(url_id, url, host, domain, depth, credit.of(domain), credit.top)
            for url_id, url, host, domain, depth in self.backend.unscored(limit)
        ]

    @atomic
    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; skip those already moved."""
        for candidate, score in scores:
            worst = math.isnan(score)
            self._state.score(candidate, 100.0 if worst else min(max(score, 0.0), 100.0))

    @atomic
    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Assign URLs to workers: for each draw, from the first of its queues that has any."""
        assigned = 0
        for queues in draws:
            assignment = self._scheduler.next_assignment(queues, now)
            if assignment is None:
                break
            urls = self.backend.take(assignment.host.key, assignment.queue, assignment.count)
            assert len(urls) == assignment.count, "backend and scheduler disagree on a count"
            self._scheduler.assign(assignment, urls)
            assigned += len(urls)
        return assigned

    # -- for the workers -------------------------------------------------------------------------

    @atomic
    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Register a worker, or note that it is still alive."""
        if not self._is_begun:
            self._state.begin()
            self._is_begun = True
        self._scheduler.join(worker, now)
        if report is not None:
            self._workers.note_report(worker, report, now)

    @atomic
    async def dismiss(self, worker: int, in_hand: Sequence[int], now: float) -> None:
        """Take back everything from a worker whose process is known to have ended."""
        for lease in self._scheduler.leases.of(worker):
            self._take_back(lease, None, now, died=lease.url_id in in_hand)
        for host, items in self._scheduler.dismiss(worker):
            self._state.enqueue(host, items)
        self._workers.forget_gone(now)

    @atomic
    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Lease URLs of hosts that are due now, within the budgets."""
        self._scheduler.join(worker, now)
        if self._rules.scheduler.strict and self._state.unscored:
            return Leased([], now + ASK_AGAIN_S)  # one of those may be better
        tasks = []
        for lease in self._scheduler.lease(worker, limit, now):
            url, attempts, deaths, known = self.backend.begin(lease.url_id)
            tasks.append(
                Task(
                    url_id=lease.url_id,
                    lease=lease.number,
                    url=url,
                    host=lease.host.key,
                    depth=known.depth,
                    attempt=attempts + 1,
                    hops=known.hops,
                    hopeless=is_hopeless(lease.host.failures, lease.host.unanswered),
                    deaths=deaths,
                )
            )
        return Leased(tasks, self._scheduler.wake_at(worker, now))

    def has_ready(self, worker: int, now: float) -> bool:
        """Tell whether a host is due of which the worker may lease a URL."""
        return self._scheduler.has_ready(worker, now)

    @atomic
    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease is lost."""
        renew = self._scheduler.leases.renew
        return [task for task in tasks if not renew(task.url_id, task.lease, now)]

    @atomic
    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless identical or similar content is kept already."""
        if self._scheduler.leases.find(task.url_id, task.lease) is None:
            return Claim(None, lost=True)
        if (held := self._state.claims.held(task.url_id)) is not None:
            return Claim(held.number)
        given = self._state.duplicates.claim(task.url_id, digest, sketch, now)
        if isinstance(given, Original):
            return Claim(None, duplicate_of=given.number, similarity=given.similarity)
        return Claim(given)

    @atomic
    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid."""
        task, feedback, state = settlement.task, settlement.feedback, self._state
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        if lease is None:
            return Settled(accepted=False)
        host = lease.host
        next_start = (
            host.next_start if feedback is None else state.hosts.next_start_after(host, feedback)
        )
        state.enqueue(host, self._scheduler.end(lease, next_start=next_start, now=now))
        self._budget.use(page=settlement.page is not None, size=settlement.size)
        self.backend.downloaded += settlement.size
        attempt = _attempt(settlement, now)
        is_repeated = settlement.outcome in REPEATED
        if settlement.retry or (is_repeated and state.claims.is_void(task.url_id)):
            state.wait_for_retry(task.url_id, host, attempt)
            return Settled(accepted=True)
        growth = state.finish(settlement, host, attempt)
        return Settled(True, growth.new_keys, list(growth.nearer.items()))

    async def keep(self, settlement: Settlement, sketch: Sketch | None, now: float) -> Settled:
        """Claim a number for the page of a settlement, and settle it."""
        return await keep_page(self, settlement, sketch, now)

    @atomic
    async def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages whose new depth was not reported to the modules yet, with that depth."""
        return self.backend.pending_depth_changes()

    @atomic
    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that these depths were reported to the modules."""
        self.backend.confirm_depth_changes(pages)

    @atomic
    async def release(self, task: Task, feedback: HostFeedback | None, now: float) -> bool:
        """Give a task back unfinished; False if the lease is lost."""
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        if lease is not None:
            self._take_back(lease, feedback, now)
        return lease is not None

    @atomic
    async def acquire_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take a slot of the host without a task; None: it is taken, else when to ask again."""
        owner = self._state.hosts.get(host, domain)
        moment = self._scheduler.acquire_slot(owner, now)
        if moment is None:
            self._taken_slots.take(owner, now)
        return moment

    @atomic
    async def release_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Free a slot that was taken without a task."""
        owner = self._state.hosts.get(host, domain)
        next_start = self._state.hosts.next_start_after(owner, feedback)
        slots = int(self._taken_slots.release(owner))  # 0: it was taken back
        self._state.enqueue(owner, self._scheduler.release_slot(owner, next_start, now, slots))

    @atomic
    async def reap(self, now: float) -> int:
        """Release the URLs of dead workers, and forget what has expired."""
        overdue = self._scheduler.leases.overdue(now)
        for lease in overdue:
            died = self._scheduler.is_silent(lease.worker, now)
            self._take_back(lease, None, now, died=died)
        for host, slots in self._taken_slots.end_overdue(now):
            next_start = self._state.hosts.next_start_unknown(host, now)
            self._state.enqueue(host, self._scheduler.release_slot(host, next_start, now, slots))
        dismissed = self._scheduler.dismiss_silent(now)
        for host, items in dismissed:
            self._state.enqueue(host, items)
        self._workers.forget_gone(now)
        self._state.hosts.save()
        self._state.credit.save()
        self._scheduler.hosts.forget_idle(now)
        self._state.duplicates.forget(
            self.backend.expire_content(now - self._rules.ttl_s, EXPIRED_AT_ONCE)
        )
        return len(overdue) + len(dismissed) + self._scheduler.end_rests(now)

    def _take_back(
        self, lease: Lease, feedback: HostFeedback | None, now: float, *, died: bool = False
    ) -> None:
        """End a lease without a result, and let its URL wait again.

        If its worker died of it, the URL may be given up instead.
        """
        host, hosts = lease.host, self._state.hosts
        if feedback is None:
            next_start = hosts.next_start_unknown(host, now)
        else:
            next_start = hosts.next_start_after(host, feedback)
        self._state.enqueue(host, self._scheduler.end(lease, next_start=next_start, now=now))
        self._budget.give_back()
        if died and self.backend.add_death(lease.url_id) >= MAX_DEATHS:
            self._state.give_up(lease.url_id, now)
        else:
            self._state.wait_again(lease.url_id, host)

    # -- counters and notes ----------------------------------------------------------------------

    async def snapshot(self, now: float) -> Snapshot:
        """Return a snapshot of the counters."""
        state, outcomes = self._state, self._state.outcomes
        return Snapshot(
            waiting=state.waiting,
            in_progress=len(self._scheduler.leases),
            finished=outcomes.total(),
            pages=self._budget.pages,
            bytes=self._budget.bytes,
            outcomes={str(one): count for one, count in outcomes.items() if count},
            hosts=self.backend.host_count,
            elapsed_s=now - self._started,
            pages_per_s=0.0,
            ended_by=await self.ended_by(),
            max_pages=self._rules.max_pages,
            max_bytes=self._rules.max_bytes,
        )

    async def ended_by(self) -> str | None:
        """Return what ended the crawl; None while it runs."""
        if len(self._scheduler.leases):
            return None
        return self._budget.exhausted_by() if self._state.waiting else "complete"

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the busiest hosts and the slowest ones, at most `limit` of each."""
        return self._state.hosts.views(limit, now)

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        return self._workers.views(now)

    async def ready_hosts(self, now: float) -> int:
        """Return how many hosts wait for a worker that has time for them."""
        return self._scheduler.agendas.ready_hosts(now - LATE_S)

    async def numbering(self) -> Numbering:
        """Return which numbers of pages are taken for good."""
        return Numbering(self._state.claims.last_page, self._state.claims.gaps)

    @atomic
    async def note(self, name: str) -> bytes | None:
        """Return a note that is stored with the crawl."""
        return self.backend.get(name)

    @atomic
    async def put_note(self, name: str, value: bytes) -> None:
        """Store a note with the crawl."""
        self.backend.put(name, value)

    @atomic
    async def commit(self) -> None:
        """Make everything so far durable."""
        self._state.save()

    async def close(self) -> None:
        """Make everything durable and close the backend.

        If something is still in progress, the times of the last requests are unknown: then the
        next start follows the same rules as after a crash.
        """
        await wait_until_ready(self)
        try:
            if self._is_begun and self.broken is None:
                self._workers.close()
                if not len(self._scheduler.leases) and not len(self._taken_slots):
                    self.backend.requeue_all()
                    self.backend.put("closed", b"yes")
                self._state.credit.save()
                await self.commit()
        finally:
            self.backend.close()


def _attempt(settlement: Settlement, now: float) -> Attempt:
    return Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
