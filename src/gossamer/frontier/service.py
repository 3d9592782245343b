"""The frontier as a service: every step that workers and the coordinator ask of it."""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

import msgspec

from gossamer.frontier.commits import Commits, Finish, atomic, in_thread
from gossamer.frontier.contract import (
    LATE_S,
    RETRIED_AT_ONCE,
    Claim,
    HostFeedback,
    Leased,
    Link,
    Retried,
    RetryRequest,
    ReturnedTask,
    Settled,
    Settlement,
    StoredBody,
    Task,
    as_claimed,
)
from gossamer.frontier.counters import WorkerRegistry
from gossamer.frontier.depths import LINKS_AT_ONCE, LinkChanges
from gossamer.frontier.due_hosts import ASK_AGAIN_S
from gossamer.frontier.memory import COOKIES_NOTE, CrawlMemory, change_cookies, read_jar
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.settling import add_slice, settle, take_back
from gossamer.frontier.state import FrontierState
from gossamer.frontier.url_memory import UrlPath
from gossamer.model import Candidate, HostKey, Snapshot
from gossamer.model.errors import CrawlError
from gossamer.model.names import Sketch
from gossamer.policy.cookies import Cookie, CookieChanges
from gossamer.stores.crawl_views import WORKERS_NAME, HostView, Numbering, WorkerReport, WorkerView
from gossamer.stores.rows import Rows
from gossamer.stores.url_record import UrlRecord

__all__ = ["Frontier", "FrontierRules"]

EXPIRED_AT_ONCE = 100
"""How many contents are dropped in one step: it takes one or two milliseconds."""


class Frontier(Commits):
    """The frontier of one crawl, inside the process that runs it: see `FrontierClient`.

    Every step is synchronous inside, so it is atomic between two awaits of the caller, and
    `commit` makes completed steps durable. While it waits for a disk or a server, further steps are
    taken, for the next one.
    """

    def __init__(
        self,
        rows: Rows,
        rules: FrontierRules,
        now: float,
        *,
        lives: Callable[[int], bool] | None = None,
        rests_until: float = -math.inf,
        finish: Finish = in_thread,
    ) -> None:
        """Load a crawl; `lives` tells which workers of the last process may live; None: none.

        Until `rests_until` no host is asked: a worker may hold a lease that was lost with the
        memory of a server. `finish` carries out what makes changes durable, and may take long.
        """
        self.rules = rules
        self._started = now
        self._rests_until = rests_until
        self._is_begun = False
        self._beginning = asyncio.Lock()
        """Held while it becomes durable that the crawl runs."""
        try:
            memory = CrawlMemory(rows, with_times=not math.isinf(rules.revisit_s))
            self._state = FrontierState(memory, rules, now, lives=lives)
        except rows.errors as error:
            rows.close()
            raise CrawlError(rows.describe_error(error)) from error
        super().__init__(rows, write=self._state.write, end_write=memory.end_write, finish=finish)
        self._memory = memory
        self._scheduler = self._state.scheduler
        self._workers = WorkerRegistry(memory, self._scheduler)

    def __repr__(self) -> str:
        return f"<Frontier: {len(self._memory.waiting.unscored)} unscored, {self._scheduler!r}>"

    # -- the URL queue and the router ------------------------------------------------------------

    @atomic
    async def add_seeds(self, seeds: Sequence[Link], now: float, depth: int = 0) -> int:
        return self._state.add_links(seeds, UrlPath(depth, 0, None), now)

    @atomic
    async def set_seeds_pending(self, pending: bool) -> None:
        self._memory.counters.seeds_pending = int(pending)

    async def has_room(self) -> bool:
        return len(self._memory.waiting.unscored) < self.rules.scheduler.url_queue

    @atomic
    async def candidates(self, limit: int) -> list[Candidate]:
        is_ready = self._memory.waiting.unscored and not self._must_wait_for_order()
        return self._state.candidates(limit) if is_ready else []

    @atomic
    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        for candidate, score in scores:
            worst = math.isnan(score)
            self._state.score(candidate, 100.0 if worst else min(max(score, 0.0), 100.0))

    @atomic
    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        self._state.stored_counters.store_busy_hosts(now)
        followed = self._state.follow_up(LinkChanges(), may_read=True)
        if self._must_wait_for_order():
            return followed
        assigned = 0
        for queues in draws:
            assignment = self._scheduler.next_assignment(queues, now)
            if assignment is None:
                break
            host = self._memory.hosts.ids[assignment.host.key]
            urls = self._memory.waiting.take(host, assignment.queue, assignment.count)
            self._scheduler.assign(assignment, urls)
            assigned += len(urls)
        return assigned + followed

    def _must_wait_for_order(self) -> bool:
        """Tell whether a URL may still get ahead of others, where those must wait for it."""
        return self.rules.scheduler.strict and self._state.is_following_up

    # -- tasks -----------------------------------------------------------------------------------

    @atomic
    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        self._scheduler.due_hosts.join(worker, now)
        if now < self._rests_until:
            return Leased([], self._rests_until)
        if self._must_wait_for_order() or self._state.is_held_up:
            return Leased([], now + ASK_AGAIN_S)
        leases = self._scheduler.lease(worker, limit, now)
        tasks = self._state.begin_tasks(leases, with_referrers=referrers)
        return Leased(tasks, self._scheduler.wake_at(worker, now))

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when a host is due of which the worker may lease a URL; None: unknown."""
        if self._state.is_held_up or worker not in self._scheduler.due_hosts:
            return None
        return self._scheduler.wake_at(worker, now)

    @atomic
    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        lost = []
        for task in tasks:
            lease = self._scheduler.leases.renew(task.url_id, task.lease, now)
            if lease is None:
                lost.append(task)
            else:
                self._state.changed_leases.add(task.url_id)
        return lost

    @atomic
    async def claim(
        self,
        task: Task,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: dict[int, bytes] | None = None,
    ) -> Claim:
        return self._claim(task, digest, sketch, now, own)

    def _claim(
        self,
        task: Task,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: dict[int, bytes] | None = None,
    ) -> Claim:
        claims = self._state.claims
        if self._scheduler.leases.find(task.url_id, task.lease) is None:
            return Claim(None, lost=True)
        if (held := claims.of_url.get(task.url_id)) is not None:
            return Claim(held.number, again=held.again)
        if page := self._memory.urls.pages[task.url_id]:  # it is visited again
            claims.give_again(task.url_id, page, digest, sketch)
            return Claim(page, again=True)
        return self._state.duplicates.claim(task.url_id, digest, sketch, now, own)

    @atomic
    async def stored_body(self, page_id: int) -> StoredBody:
        if page_id in self._state.claims.url_of_number:
            return StoredBody(claimed=True)
        return StoredBody(*(self._memory.pages.content(page_id) or ()))

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid; very many links in slices."""
        if len(settlement.links) <= LINKS_AT_ONCE:
            return _settled(await self._settle(settlement, now))
        async with self._uncommitted:
            changes = await self._settle(settlement, now)
            if changes is not None:
                await self._add_remaining(changes)
        return _settled(changes)

    @atomic
    async def _settle(self, settlement: Settlement, now: float) -> LinkChanges | None:
        return self._record(settlement, now)

    def _record(self, settlement: Settlement, now: float) -> LinkChanges | None:
        """Record the result of a task; None: its lease is lost."""
        task = settlement.task
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        return None if lease is None else settle(self._state, lease, settlement, now)

    async def _add_remaining(self, changes: LinkChanges) -> None:
        try:
            while changes.remaining is not None:
                await asyncio.sleep(0)
                await self._add_slice(changes)
        finally:  # whoever settles may be cancelled, and a settlement is recorded completely
            while changes.remaining is not None and self.broken is None:
                await self._add_slice(changes)

    @atomic
    async def _add_slice(self, changes: LinkChanges) -> None:
        add_slice(self._state, changes)

    async def claim_and_settle(
        self, settlement: Settlement, sketch: Sketch | None, now: float
    ) -> Settled:
        assert settlement.page is not None
        if len(settlement.links) <= LINKS_AT_ONCE:
            return await self._claim_and_settle(settlement, settlement.page.digest, sketch, now)
        claim = await self.claim(settlement.task, settlement.page.digest, sketch, now)
        if claim.lost or claim.unread:
            return Settled(accepted=False, unread=claim.unread)
        settled = await self.settle(as_claimed(settlement, claim), now)
        return msgspec.structs.replace(settled, repeats=claim.duplicate_of)

    @atomic
    async def _claim_and_settle(
        self, settlement: Settlement, digest: bytes, sketch: Sketch | None, now: float
    ) -> Settled:
        """Do both in one step, as is done with nearly every page."""
        claim = self._claim(settlement.task, digest, sketch, now)
        if claim.lost or claim.unread:
            return Settled(accepted=False, unread=claim.unread)
        return _settled(self._record(as_claimed(settlement, claim), now), claim.duplicate_of)

    @atomic
    async def add_listed(self, task: Task, links: Sequence[Link], now: float) -> int | None:
        if self._scheduler.leases.find(task.url_id, task.lease) is None:
            return None
        return self._state.add_listed(task.url_id, links, now)

    @atomic
    async def release(
        self,
        task: Task,
        feedback: HostFeedback | None,
        now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        if lease is not None:
            take_back(self._state, lease, feedback, now, returned)
        return lease is not None

    @atomic
    async def acquire_robots_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        if now < self._rests_until:
            return self._rests_until
        owner = self._state.hosts.get(host, domain)
        moment = self._scheduler.acquire_robots_slot(owner, now)
        if moment is None:
            self._state.hosts.take_robots_slot(owner, now + self.rules.scheduler.lease_s)
        return moment

    @atomic
    async def release_robots_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        owner = self._state.hosts.get(host, domain)
        next_start = self._state.hosts.next_start_after(owner, feedback)
        slots = self._state.hosts.release_robots_slot(owner)  # 0: it was taken back
        self._state.enqueue(owner, self._scheduler.release_slots(owner, next_start, now, slots))

    # -- who takes part --------------------------------------------------------------------------

    @atomic
    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Register a worker, or note that it is still alive.

        That the crawl runs is durable before the first one counts: it would get all domains while
        the others wait for that.
        """
        await self._begin()
        self._scheduler.due_hosts.join(worker, now)
        self._state.stored_counters.store_busy_hosts(now)
        if report is not None:
            self._workers.reports[worker] = report

    @atomic
    async def new_worker(self, now: float) -> int:
        """Register a worker under the smallest number that no other has; return the number."""
        await self._begin()
        number = next(worker for worker in count() if not self.has_worker(worker))
        self._scheduler.due_hosts.join(number, now)
        return number

    async def _begin(self) -> None:
        async with self._beginning:
            if not self._is_begun:
                self._is_begun = True
                self._state.begin()
                await self.commit()

    def has_worker(self, number: int) -> bool:
        """Tell whether a worker takes part."""
        return number in self._scheduler.due_hosts

    @atomic
    async def note_workers(self, now: float) -> None:
        """Let other processes know of the workers: to be called every second."""
        self._workers.store(now)

    @atomic
    async def dismiss(
        self, worker: int, in_hand: Sequence[int], now: float, received: int = 0
    ) -> None:
        for lease in self._scheduler.leases.of(worker):
            share = min(received, lease.row.allowed)
            received -= share
            died = lease.row.url in in_hand
            take_back(self._state, lease, None, now, ReturnedTask(share), died=died)
        for host, items in self._scheduler.dismiss(worker):
            self._state.enqueue(host, items)
        self._workers.forget_gone(now)

    @atomic
    async def reap(self, now: float) -> int:
        scheduler, state, hosts = self._scheduler, self._state, self._state.hosts
        overdue = scheduler.leases.overdue(now)
        for lease in overdue:
            take_back(state, lease, None, now, died=scheduler.is_silent(lease.row.worker, now))
        for host, slots in hosts.end_robots_slots(now):
            next_start = hosts.next_start_unknown(host, now)
            state.enqueue(host, scheduler.release_slots(host, next_start, now, slots))
        dismissed = scheduler.dismiss_silent(now)
        for host, items in dismissed:
            state.enqueue(host, items)
        self._workers.forget_gone(now)
        hosts.save()
        self._memory.hosts.save_credits()
        scheduler.hosts.forget_idle(now)
        return len(overdue) + len(dismissed) + scheduler.end_rests(now)

    # -- pages and URLs that are finished --------------------------------------------------------

    @atomic
    async def drop_rows(self, upto: int) -> None:
        self._memory.pages.drop_rows(upto)

    async def expire(self, now: float) -> int:
        if math.isinf(self.rules.keep_s):
            return 0
        await self.commit()  # they are found where they are stored
        return await self._expire(now - self.rules.keep_s)

    @atomic
    async def _expire(self, before: float) -> int:
        expired = self._memory.pages.expired(before, EXPIRED_AT_ONCE)
        if expired:
            self._memory.note_expired(before)
            self._state.duplicates.forget(expired)
        return len(expired)

    @atomic
    async def retry_failed(self, request: RetryRequest, first_id: int, now: float) -> Retried:
        last_id = self._memory.urls.last_id
        next_id = min(first_id + RETRIED_AT_ONCE, last_id + 1)
        retried = self._state.retry_failed(request, range(first_id, next_id))
        return Retried(retried, next_id if next_id <= last_id else None)

    @atomic
    async def pending_depth_changes(self, limit: int) -> list[tuple[int, int]]:
        return [*islice(self._memory.pages.too_deep(self._memory.urls.depths), limit)]

    @atomic
    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        for page, depth in pages:
            self._memory.pages.report(page, depth)

    # -- what is kept with the crawl, and messages -----------------------------------------------

    @atomic
    async def metadata(self, name: str) -> bytes | None:
        return self._memory.get(name)

    @atomic
    async def put_metadata(self, name: str, value: bytes) -> None:
        self._memory.put(name, value)

    @atomic
    async def cookies(self, domain: str) -> list[Cookie]:
        return read_jar(self._memory.get(COOKIES_NOTE + domain))

    @atomic
    async def put_cookies(self, domain: str, changes: CookieChanges) -> None:
        change_cookies(self._memory, domain, changes)

    def post_metadata(self, name: str, value: bytes) -> None:
        """Store something with the crawl in the next commit, which is wanted soon."""
        self._memory.put(name, value)
        self._wanted.set()

    def post(self, queue: str, message: bytes) -> None:
        """Append a message to a queue in the next commit, which is wanted soon."""
        self._memory.pending.now.sent.setdefault(queue, []).append(message)
        self._wanted.set()

    def take_message(self, queue: str) -> None:
        """Take the first message of a queue away in the next commit: it has its effects."""
        taken = self._memory.pending.now.taken
        taken[queue] = taken.get(queue, 0) + 1
        self._wanted.set()

    def end_queues(self, queues: Iterable[str]) -> None:
        """Remove queues in the next commit."""
        self._memory.pending.now.ended_queues.update(queues)

    # -- counters --------------------------------------------------------------------------------

    async def snapshot(self, now: float) -> Snapshot:
        return self._state.snapshot(
            elapsed_s=now - self._started,
            ended_by=await self.ended_by(),
            resting_s=max(0.0, self._rests_until - now),
        )

    async def ended_by(self) -> str | None:
        if len(self._scheduler.leases) or self._state.is_following_up:
            return None
        if self._state.waiting or self._memory.counters.seeds_pending:
            return self._state.budget.exhausted_by()
        return "complete"

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        return self._state.hosts.views(limit, now)

    async def workers(self, now: float) -> list[WorkerView]:
        return self._workers.views(now)

    async def ready_hosts(self, now: float) -> int:
        return self._scheduler.due_hosts.ready_hosts(now - LATE_S)

    async def numbering(self) -> Numbering:
        return Numbering(self._state.claims.last_page, self._state.claims.gaps)

    # -- the end ---------------------------------------------------------------------------------

    async def close(self) -> None:
        """Make everything durable and close the rows.

        If something is still in progress, the times of the last requests are unknown: then the
        next start follows the same rules as after a crash.
        """
        try:
            if self._is_begun and self.broken is None:
                self._memory.remove(WORKERS_NAME)
                self._state.stored_counters.store_busy_hosts()
                if not len(self._scheduler.leases) and not self._state.hosts.with_robots_slots:
                    self._memory.put("closed", b"yes")
                self._memory.hosts.save_credits()
                await self.commit()
        finally:
            self.rows.close()

    async def written(self) -> None:
        """Make everything durable that is to be read in the rows."""
        if self.broken is None:
            self._state.stored_counters.store_busy_hosts()
            await self.commit()

    def records(self) -> Iterator[UrlRecord]:
        """Yield everything known about every URL, in the order of discovery."""
        hosts, states = self._memory.hosts, self._memory.urls.states
        for row in self._memory.urls.all():
            values = {
                **msgspec.structs.asdict(row),
                "host": hosts.keys[row.host],
                "domain": hosts.domain_of[row.host],
                "state": states[row.id],
                "detail": row.detail or "",
                "page_id": row.page,
            }
            yield msgspec.convert(values, UrlRecord)


def _settled(changes: LinkChanges | None, repeats: int | None = None) -> Settled:
    """Return the answer to a settlement with these changes; None: its lease is lost."""
    if changes is None:
        return Settled(accepted=False, repeats=repeats)
    return Settled(True, changes.new_keys, repeats=repeats)
