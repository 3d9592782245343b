"""The embedded store: the scheduler decides, rows in a database last."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TypeAlias

import msgspec

from gossamer.frontier.atomic import atomic, collecting, interrupted
from gossamer.frontier.claims import Original, Unread
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
    UrlPath,
)
from gossamer.frontier.counters import WorkerRegistry
from gossamer.frontier.link_graph import LINKS_AT_ONCE, LinkChanges, as_settled
from gossamer.frontier.memory import COOKIES_NOTE, CrawlMemory, change_cookies, read_jar
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scheduler import ASK_AGAIN_S
from gossamer.frontier.settling import add_slice, claim_and_settle, settle
from gossamer.frontier.state import FrontierState
from gossamer.model import Candidate, HostKey, Outcome, Snapshot
from gossamer.model.errors import CrawlError
from gossamer.policy.cookies import Cookie, CookieChanges
from gossamer.policy.similarity import Sketch
from gossamer.stores.reading import HostView, Numbering, WorkerReport, WorkerView
from gossamer.stores.rows import Rows
from gossamer.stores.url_record import UrlRecord, UrlState

__all__ = ["Frontier", "FrontierRules"]

Finish: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]

AWAY_CHECK_S = 0.05
EXPIRED_AT_ONCE = 100
"""How many contents are dropped in one step: it takes one or two milliseconds."""


async def in_thread(work: Callable[[], None]) -> None:
    """Do something in a thread; whoever is cancelled meanwhile waits for it all the same."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody else asks for it
        raise


def _tell(waiting: Sequence[Callable[[], None]]) -> None:
    for tell in waiting:
        tell()


class Frontier:
    """The store of one crawl, inside the process that runs it.

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
        self.rows = rows
        self.broken: CrawlError | None = None
        """Why it cannot be used any more."""
        self._rules = rules
        self._started = now
        self._rests_until = rests_until
        self._finish = finish
        self._is_begun = False
        self._beginning = asyncio.Lock()
        """Held while it becomes durable that the crawl runs."""
        self._uncommitted = asyncio.Lock()
        """Held while a page is settled of which a part must not become durable alone."""
        self._committing = asyncio.Lock()
        self._waiting_for_commit: list[Callable[[], None]] = []
        """Who is to be told when what is collected is durable."""
        self._wanted = asyncio.Event()
        try:
            memory = CrawlMemory(rows, with_times=not math.isinf(rules.revisit_s))
            self._state = FrontierState(memory, rules, now, lives=lives)
        except rows.errors as error:
            rows.close()
            raise CrawlError(rows.complaint(error)) from error
        self._memory = memory
        self.is_lost: Callable[[], bool] = rows.is_lost
        """Tells whether steps have to wait, as the server of the rows is away."""
        self._away = asyncio.Lock()
        self._scheduler = self._state.scheduler
        self._budget = self._state.budget
        self._workers = WorkerRegistry(memory, self._scheduler)

    def __repr__(self) -> str:
        return f"<Frontier: {self._state.unscored} unscored, {self._scheduler!r}>"

    # -- for the frontier ------------------------------------------------------------------------

    @atomic
    async def add_seeds(self, seeds: Sequence[Link], now: float, depth: int = 0) -> int:
        """Add seeds, or sitemaps, at that depth; return how many are new."""
        changes = self._state.links.add(seeds, UrlPath(depth, 0, None), now)
        self._state.follow_up(changes)
        return len(changes.new_keys)

    @atomic
    async def set_seeds_pending(self, pending: bool) -> None:
        """Note whether seeds are still to be added: until then the crawl is not complete."""
        self._memory.counters.seeds_pending = int(pending)

    async def has_room(self) -> bool:
        """Return whether the URL queue has room for more seeds, or URLs of a sitemap."""
        return self._state.unscored < self._rules.scheduler.url_queue

    @atomic
    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""
        is_ready = self._state.unscored and not self._must_wait_for_order()
        return self._state.candidates(limit) if is_ready else []

    @atomic
    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; skip those already moved."""
        for candidate, score in scores:
            worst = math.isnan(score)
            self._state.score(candidate, 100.0 if worst else min(max(score, 0.0), 100.0))

    @atomic
    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Follow up shorter paths, and assign URLs to workers."""
        self._state.counters.store_busy_hosts(now)
        followed = self._state.follow_up(LinkChanges(), may_read=True)
        if self._must_wait_for_order():
            return followed
        assigned = 0
        for queues in draws:
            assignment = self._scheduler.next_assignment(queues, now)
            if assignment is None:
                break
            host = self._memory.hosts.find(assignment.host.key)
            assert host is not None
            urls = self._memory.waiting.take(host, assignment.queue, assignment.count)
            self._scheduler.assign(assignment, urls)
            assigned += len(urls)
        return assigned + followed

    def _must_wait_for_order(self) -> bool:
        """Tell whether a URL may still get ahead of others, where those must wait for it."""
        return self._rules.scheduler.strict and self._is_following_up

    @property
    def _is_following_up(self) -> bool:
        """Whether links or shorter paths are still to be followed up."""
        return self._state.links.relaxing or self._state.adding > 0

    # -- for the workers -------------------------------------------------------------------------

    @atomic
    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Register a worker, or note that it is still alive.

        That the crawl runs is durable before the first one counts: it would get all domains while
        the others wait for that.
        """
        await self._begin()
        self._scheduler.join(worker, now)
        self._state.counters.store_busy_hosts(now)
        if report is not None:
            self._workers.keep_report(worker, report)

    async def _begin(self) -> None:
        async with self._beginning:
            if not self._is_begun:
                self._is_begun = True
                self._state.begin()
                await self.commit()

    @atomic
    async def note_workers(self, now: float) -> None:
        """Let other processes know of the workers: to be called every second."""
        self._workers.note(now)

    @atomic
    async def dismiss(
        self, worker: int, in_hand: Sequence[int], now: float, received: int = 0
    ) -> None:
        """Take back everything from a worker whose process is known to have ended."""
        for lease in self._scheduler.leases.of(worker):
            part = min(received, lease.allowed)
            received -= part
            self._state.take_back(
                lease, None, now, ReturnedTask(part), died=lease.url_id in in_hand
            )
        for host, items in self._scheduler.dismiss(worker):
            self._state.enqueue(host, items)
        self._workers.forget_gone(now)

    @atomic
    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        """Lease URLs of hosts that are due now, within the budgets."""
        self._scheduler.join(worker, now)
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
        """Extend leases; return the tasks whose lease is lost."""
        lost = []
        for task in tasks:
            lease = self._scheduler.leases.renew(task.url_id, task.lease, now)
            if lease is None:
                lost.append(task)
            else:
                self._state.note_lease(lease)
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
        """Give a page its number, unless identical or similar content is kept already."""
        if self._scheduler.leases.find(task.url_id, task.lease) is None:
            return Claim(None, lost=True)
        if (held := self._state.claims.held(task.url_id)) is not None:
            return Claim(held.number, again=held.again)
        if (page := self._own_page(task.url_id)) is not None:
            self._state.claims.give_again(task.url_id, page, digest, sketch)
            return Claim(page, again=True)
        match self._state.duplicates.claim(task.url_id, digest, sketch, now, own):
            case Original(number, _, similarity, own_similarity):
                return Claim(None, number, similarity, own_similarity)
            case Unread(pages):
                return Claim(None, unread=pages)
            case number:
                return Claim(number)

    @atomic
    async def stored_body(self, page_id: int) -> StoredBody:
        """Return the body of a kept page."""
        if self._state.claims.holder_of_number(page_id) is not None:
            return StoredBody(claimed=True)
        return StoredBody(*self._memory.pages.content(page_id))

    def _own_page(self, url_id: int) -> int | None:
        """Return the page of a URL that is visited again; None if it has none."""
        return self._memory.urls.pages[url_id] or None

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record the result of a task, if its lease is still valid; very many links in slices."""
        if len(settlement.links) <= LINKS_AT_ONCE:
            return as_settled(await self._settle(settlement, now))
        async with self._uncommitted:
            changes = await self._settle(settlement, now)
            if changes is not None:
                await self._add_rest(changes)
        return as_settled(changes)

    @atomic
    async def _settle(self, settlement: Settlement, now: float) -> LinkChanges | None:
        """Record the result of a task; None: its lease is lost."""
        task = settlement.task
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        return None if lease is None else settle(self._state, lease, settlement, now)

    async def _add_rest(self, changes: LinkChanges) -> None:
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
        """Claim a number for the page of a settlement, and settle it."""
        return await claim_and_settle(self, settlement, sketch, now)

    @atomic
    async def add_listed(self, task: Task, links: Sequence[Link], now: float) -> int | None:
        """Add URLs that a sitemap lists, while its lease is valid; None: it is not any more."""
        if self._scheduler.leases.find(task.url_id, task.lease) is None:
            return None
        return self._state.add_listed(task.url_id, links, now)

    @atomic
    async def drop_rows(self, upto: int) -> None:
        """Forget the rows of the results up to a number."""
        self._memory.pages.drop_rows(upto)

    @atomic
    async def retry_failed(self, request: RetryRequest, first_id: int, now: float) -> Retried:
        """Let failed URLs wait again, of at most `RETRIED_AT_ONCE` from an id on."""
        last_id = self._memory.urls.last_id
        next_id = min(first_id + RETRIED_AT_ONCE, last_id + 1)
        retried = self._state.retry_failed(request, range(first_id, next_id))
        return Retried(retried, next_id if next_id <= last_id else None)

    @atomic
    async def cookies(self, domain: str) -> list[Cookie]:
        """Return the cookies of a registered domain, those that were set last at the end."""
        return read_jar(self._memory.get(COOKIES_NOTE + domain))

    @atomic
    async def put_cookies(self, domain: str, changes: CookieChanges) -> None:
        """Change the cookies of a registered domain."""
        change_cookies(self._memory, domain, changes)

    @atomic
    async def pending_depth_changes(self, limit: int) -> list[tuple[int, int]]:
        """Return pages whose new depth was not reported to the modules yet, with that depth."""
        return [*islice(self._memory.pages.too_deep(self._memory.urls.depths), limit)]

    @atomic
    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that these depths were reported to the modules."""
        for page, depth in pages:
            self._memory.pages.report(page, depth)

    @atomic
    async def release(
        self,
        task: Task,
        feedback: HostFeedback | None,
        now: float,
        returned: ReturnedTask | None = None,
    ) -> bool:
        """Give a task back unfinished; False if the lease is lost."""
        lease = self._scheduler.leases.find(task.url_id, task.lease)
        if lease is not None:
            self._state.take_back(lease, feedback, now, returned)
        return lease is not None

    @atomic
    async def acquire_robots_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take a slot of the host for robots.txt; None: it is taken, else when to ask again."""
        if now < self._rests_until:
            return self._rests_until
        owner = self._state.hosts.get(host, domain)
        moment = self._scheduler.acquire_robots_slot(owner, now)
        if moment is None:
            self._state.robots_slots.take(owner, now)
        return moment

    @atomic
    async def release_robots_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Free a slot that was taken for robots.txt."""
        owner = self._state.hosts.get(host, domain)
        next_start = self._state.hosts.next_start_after(owner, feedback)
        slots = int(self._state.robots_slots.release(owner))  # 0: it was taken back
        self._state.enqueue(owner, self._scheduler.release_slots(owner, next_start, now, slots))

    @atomic
    async def reap(self, now: float) -> int:
        """Release the URLs of dead workers."""
        overdue = self._scheduler.leases.overdue(now)
        for lease in overdue:
            died = self._scheduler.is_silent(lease.worker, now)
            self._state.take_back(lease, None, now, died=died)
        for host, slots in self._state.robots_slots.end_overdue(now):
            next_start = self._state.hosts.next_start_unknown(host, now)
            self._state.enqueue(host, self._scheduler.release_slots(host, next_start, now, slots))
        dismissed = self._scheduler.dismiss_silent(now)
        for host, items in dismissed:
            self._state.enqueue(host, items)
        self._workers.forget_gone(now)
        self._state.hosts.save()
        self._state.credit.save()
        self._scheduler.hosts.forget_idle(now)
        return len(overdue) + len(dismissed) + self._scheduler.end_rests(now)

    async def expire(self, now: float) -> int:
        """Drop some of the contents whose time is over; return how many, 0 when none is left."""
        if math.isinf(self._rules.keep_s):
            return 0
        await self.commit()  # they are found where they are stored
        return await self._expire(now)

    @atomic
    async def _expire(self, now: float) -> int:
        before = now - self._rules.keep_s
        expired = self._memory.pages.expired(before, EXPIRED_AT_ONCE)
        if expired:
            self._memory.note_expired(before)
            self._state.duplicates.forget(expired)
        return len(expired)

    # -- who has joined --------------------------------------------------------------------------

    @atomic
    async def new_worker(self, now: float) -> int:
        """Register a worker under the smallest number that no other has; return the number."""
        await self._begin()
        number = next(one for one in count() if one not in self._scheduler.due_hosts)
        self._scheduler.join(number, now)
        return number

    def has_worker(self, number: int) -> bool:
        """Tell whether a worker takes part."""
        return number in self._scheduler.due_hosts

    @property
    def rules(self) -> FrontierRules:
        """The rules of the crawl."""
        return self._rules

    def post_metadata(self, name: str, value: bytes) -> None:
        """Store something with the crawl in the next commit."""
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

    # -- counters and notes ----------------------------------------------------------------------

    async def snapshot(self, now: float) -> Snapshot:
        """Return a snapshot of the counters."""
        snapshot = self._state.snapshot(now - self._started, await self.ended_by())
        return msgspec.structs.replace(snapshot, resting_s=max(0.0, self._rests_until - now))

    async def ended_by(self) -> str | None:
        """Return what ended the crawl; None while it runs."""
        if len(self._scheduler.leases) or self._is_following_up:
            return None
        if self._state.waiting or self._memory.counters.seeds_pending:
            return self._budget.exhausted_by()
        return "complete"

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the busiest hosts and the slowest ones, at most `limit` of each."""
        return self._state.hosts.views(limit, now)

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        return self._workers.views(now)

    async def ready_hosts(self, now: float) -> int:
        """Return how many hosts wait for a worker that has time for them."""
        return self._scheduler.due_hosts.ready_hosts(now - LATE_S)

    async def numbering(self) -> Numbering:
        """Return which numbers of pages are taken for good."""
        return Numbering(self._state.claims.last_page, self._state.claims.gaps)

    @atomic
    async def metadata(self, name: str) -> bytes | None:
        """Return what is stored with the crawl under a name."""
        return self._memory.get(name)

    @atomic
    async def put_metadata(self, name: str, value: bytes) -> None:
        """Store something with the crawl under a name."""
        self._memory.put(name, value)

    def when_durable(self, tell: Callable[[], None]) -> None:
        """Call something as soon as everything so far is durable."""
        self._waiting_for_commit.append(tell)
        self._wanted.set()

    def give_up(self) -> None:
        """Wait no more for a server that is away: whoever works with it quits."""
        self.rows.give_up()

    async def commit_wanted(self) -> None:
        """Wait until somebody waits for a commit."""
        await self._wanted.wait()

    async def commit(self) -> None:
        """Make everything so far durable; wait for pages whose links are being added."""
        async with self._committing:
            async with self._uncommitted:
                finish = await self._write()
            waiting, self._waiting_for_commit = self._waiting_for_commit, []
            self._wanted.clear()
            try:
                if finish is not None:
                    await self._make_durable(finish)
            except asyncio.CancelledError:
                if self.broken is None:  # it is durable all the same
                    _tell(waiting)
                raise
            _tell(waiting)

    async def _make_durable(self, finish: Callable[[], None], *, is_commit: bool = True) -> None:
        is_durable = False

        def work() -> None:
            nonlocal is_durable
            finish()
            is_durable = True

        try:
            await self._finish(work)
        except CrawlError as error:
            self.broken = self.broken or error
            raise
        except self.rows.errors as error:
            self.broken = self.broken or CrawlError(self.rows.complaint(error))
            raise self.broken from error
        except BaseException as error:
            if not is_durable:  # else whoever waited for it was cancelled
                self.broken = self.broken or interrupted(error)
            raise
        finally:
            if is_durable and is_commit:
                self._memory.end_write()

    @collecting
    async def _write(self) -> Callable[[], None] | None:
        return self._state.write()

    async def await_rows(self) -> None:
        """Wait for a server that is away, as everybody does; a CrawlError after a while.

        So no step waits for it in the middle, when nothing else could be done, not even be stopped.
        """
        async with self._away:
            while self.is_lost():
                if self.broken is not None:
                    raise self.broken
                await asyncio.sleep(AWAY_CHECK_S)
                if not self._committing.locked():
                    await self.between_commits(self.rows.reconnect)

    async def between_commits(self, work: Callable[[], None]) -> None:
        """Do something that may take long with the rows, while nothing is being written."""
        async with self._committing:
            await self._make_durable(work, is_commit=False)

    async def close(self) -> None:
        """Make everything durable and close the rows.

        If something is still in progress, the times of the last requests are unknown: then the
        next start follows the same rules as after a crash.
        """
        try:
            if self._is_begun and self.broken is None:
                self._workers.close()
                self._state.counters.store_busy_hosts()
                if not len(self._scheduler.leases) and not len(self._state.robots_slots):
                    self._memory.put("closed", b"yes")
                self._state.credit.save()
                await self.commit()
        finally:
            self.rows.close()

    async def written(self) -> None:
        """Make everything durable that is to be read in the rows."""
        if self.broken is None:
            self._state.counters.store_busy_hosts()
            await self.commit()

    def records(self) -> Iterator[UrlRecord]:
        """Yield everything known about every URL, in the order of discovery."""
        hosts, states = self._memory.hosts, self._memory.urls.states
        for row in self._memory.urls.all():
            yield UrlRecord(
                id=row.id,
                url=row.url,
                host=hosts.keys[row.host],
                domain=hosts.domain_of(row.host),
                state=UrlState(states[row.id]),
                depth=row.depth,
                parent=row.parent,
                score=row.score,
                queue=row.queue,
                outcome=None if row.outcome is None else Outcome(row.outcome),
                detail=row.detail or "",
                page_id=row.page,
                found_at=row.found_at,
                finished_at=row.finished_at,
                attempts=row.attempts,
                duplicate_of=row.duplicate_of,
                similarity=row.similarity,
                own_similarity=row.own_similarity,
            )
