"""A store inside the crawling process: the desk decides, a shelf keeps."""

import heapq
from collections import Counter
from collections.abc import Sequence

import msgspec

from gossamer.frontier.budget import Budget
from gossamer.frontier.desk import Desk, DeskRules
from gossamer.frontier.hosts import Host
from gossamer.frontier.queues import MAX_SCORE, QueueTable
from gossamer.model import Candidate, HostKey, Snapshot
from gossamer.policy.pace import is_hopeless, rest_s
from gossamer.stores.contract import (
    Attempt,
    Claim,
    HostView,
    Leased,
    Link,
    Pace,
    Place,
    Settled,
    Settlement,
    Task,
)
from gossamer.stores.credit import Credit
from gossamer.stores.links import Growth, LinkKeeper
from gossamer.stores.numbers import PageNumbers
from gossamer.stores.shelf import Shelf
from gossamer.stores.views import host_record, host_view

EXPIRED_AT_ONCE = 200
"""How many contents are dropped in one go: few enough not to be noticed."""


class StoreRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl is limited to, fixed for its life."""

    desk: DeskRules = DeskRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_page_bytes: int = 500_000
    ttl_s: float = 3600.0
    """How long a finished link and a content are remembered."""
    keep_twins: bool = False
    """Whether pages with the same content are kept all the same."""


class EmbeddedStore:
    """One crawl, kept by the process that runs it.

    Every method is synchronous inside, so it happens whole between two awaits of the caller, and
    `commit` makes whole methods durable. What the desk knows beyond the shelf (leases, the queues
    of workers) dies with the process; those URLs wait again at the next start.
    """

    def __init__(self, shelf: Shelf, rules: StoreRules, now: float) -> None:
        self._shelf = shelf
        self._rules = rules
        self._table = QueueTable(rules.desk.queues)
        self._budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        self._links = LinkKeeper(shelf, rules.max_depth, rules.ttl_s)
        self._touched: dict[HostKey, Host] = {}
        self._credit = Credit()
        self._started = now
        shelf.reshelve()
        counts = shelf.counts()
        self._unscored = counts.unscored
        self._outcomes = Counter(counts.outcomes)
        self._budget.pages = counts.pages
        self._budget.bytes = int(shelf.get("bytes") or b"0")
        self._numbers = PageNumbers(counts.last_page, counts.gaps)
        self._starts = int(shelf.get("starts") or b"0") + 1
        self._is_begun = False
        # Lease numbers grow across restarts: each start has four thousand million of its own.
        self._desk = Desk(rules.desk, self._budget, first_lease=self._starts << 32)
        self._take_hosts_over(now, clean=shelf.get("closed") == b"yes")

    def __repr__(self) -> str:
        return f"<EmbeddedStore: {self._unscored} unscored, {self._desk!r}>"

    def _take_hosts_over(self, now: float, *, clean: bool) -> None:
        """Bring the hosts and their waiting URLs to the desk.

        After a crash nobody knows when a host was last asked: it gets one full delay.
        """
        for saved in self._shelf.hosts():
            host = self._desk.host(saved.key, saved.domain)
            host.delay_s = max(saved.delay_s, self._rules.desk.delay_s)
            host.next_start, host.failures = saved.next_start, saved.failures
        for key, domain, queue, count in self._shelf.shelved_counts():
            self._desk.shelve(self._desk.host(key, domain), queue, count)
        if not clean:
            for host in self._desk.hosts():
                host.next_start = max(host.next_start, now + host.delay_s)
                self._touched[host.key] = host

    def _begin(self) -> None:
        """Note, before the first request, that the crawl goes on; until then nothing changes."""
        self._shelf.put("starts", str(self._starts).encode())
        self._shelf.put("closed", b"no")
        self._shelf.commit()
        self._is_begun = True

    # -- the frontier's side ---------------------------------------------------------------------

    async def plant(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""
        _, growth = self._links.add(seeds, depth=0, parent=None, hops=0, now=now)
        self._grow(growth)
        return growth.new

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""
        return [
            Candidate(
                id=one.id,
                url=one.url,
                host=one.host,
                domain=one.domain,
                depth=one.depth,
                credit=self._credit.of(one.domain),
                top_credit=self._credit.top,
            )
            for one in self._shelf.unscored(limit)
        ]

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; moved ones are left alone."""
        for candidate, score in scores:
            queue = self._table.queue_of(score)
            if self._shelf.set_score(candidate.id, score, queue):
                self._unscored -= 1
                self._count_shelved(self._desk.host(candidate.host, candidate.domain), queue)

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Deal URLs to workers: for each draw, from the first of its queues that has any."""
        dealt = 0
        for queues in draws:
            pick = self._desk.pick(queues, now)
            if pick is None:
                break
            urls = self._shelf.take(pick.host, pick.queue, pick.count)
            self._desk.deal(pick, urls)
            dealt += len(urls)
        return dealt

    # -- the workers' side -----------------------------------------------------------------------

    async def join(self, worker: int, now: float) -> None:
        """Let a worker take part."""
        if not self._is_begun:
            self._begin()
        self._desk.join(worker)

    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Hand out URLs whose hosts may be asked now, within the budgets."""
        if self._rules.desk.strict and self._unscored:
            return Leased([], None)  # a better one may be among those
        tasks = []
        for lease, host in self._desk.lease(worker, limit, now):
            begun = self._shelf.begin(lease.url_id)
            tasks.append(
                Task(
                    url_id=lease.url_id,
                    lease=lease.number,
                    url=begun.url,
                    host=host.key,
                    depth=begun.depth,
                    attempt=begun.attempts + 1,
                    hops=begun.hops,
                    hopeless=is_hopeless(host.failures, host.unanswered),
                )
            )
        return Leased(tasks, self._desk.wake_at(worker))

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease was lost."""
        return [task for task in tasks if not self._desk.renew(task.url_id, task.lease, now)]

    async def claim(self, task: Task, digest: bytes, now: float) -> Claim:
        """Give a page its number, unless the same content was kept within the TTL."""
        if self._desk.holder(task.url_id, task.lease) is None:
            return Claim(None, lost=True)
        if not self._rules.keep_twins:
            since = now - self._rules.ttl_s
            twin = self._numbers.holder_of(digest) or self._shelf.twin(digest, since)
            if twin is not None:
                return Claim(None, twin_of=twin)
        return Claim(self._numbers.give(task.url_id, digest))

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record everything that came of a task, if its lease is still the newest."""
        task = settlement.task
        held = self._desk.holder(task.url_id, task.lease)
        if held is None:
            return Settled(accepted=False)
        _, host = held
        self._desk.end(task.url_id, next_start=self._rested(host, settlement.pace), now=now)
        self._shelf.add_attempt(task.url_id, _attempt(settlement, now))
        if settlement.retry:
            self._wait_again(task.url_id, host, last=True)
            return Settled(accepted=True)
        if settlement.page:
            self._numbers.keep(task.url_id)
        else:
            self._numbers.take_back(task.url_id)
        self._budget.use(settlement.page is not None, settlement.size)
        page_id = settlement.page.page_id if settlement.page else None
        self._shelf.finish(task.url_id, settlement.outcome, settlement.detail, page_id, now)
        if settlement.page:
            self._shelf.add_page(task.url_id, settlement.page, task.depth)
        host.pages += settlement.page is not None
        self._outcomes[settlement.outcome] += 1
        growth = self._add_targets(settlement, host, now)
        return Settled(True, growth.new_keys, growth.nearer)

    async def untold(self) -> list[tuple[int, int]]:
        """Return the pages of which the modules know a larger depth, with their depth."""
        return self._shelf.untold()

    async def told(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that the modules know the depth of these pages."""
        for page_id, depth in pages:
            self._shelf.set_told_depth(page_id, depth)

    async def put_back(self, task: Task, pace: Pace | None, now: float) -> bool:
        """Give a task back undone; False if the lease was lost."""
        held = self._desk.holder(task.url_id, task.lease)
        if held is None:
            return False
        _, host = held
        self._desk.end(task.url_id, next_start=self._rested(host, pace), now=now)
        self._wait_again(task.url_id, host)
        return True

    async def borrow(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take the host's place for a request without a task; None: now, else when to ask again."""
        return self._desk.borrow(self._desk.host(host, domain), now)

    async def hand_back(self, host: HostKey, domain: str, pace: Pace, now: float) -> None:
        """Give a borrowed place back."""
        borrowed = self._desk.host(host, domain)
        self._desk.hand_back(borrowed, self._rested(borrowed, pace))

    async def reap(self, now: float) -> int:
        """Give back the leases that were not renewed in time, and forget what has expired."""
        overdue = self._desk.overdue(now)
        for lease, host in overdue:
            self._desk.end(lease.url_id, next_start=now + host.delay_s, now=now)
            self._wait_again(lease.url_id, host)
        self._desk.forget_idle(now)
        self._shelf.expire_content(now - self._rules.ttl_s, EXPIRED_AT_ONCE)
        return len(overdue)

    # -- keeping and counting --------------------------------------------------------------------

    async def snapshot(self, now: float) -> Snapshot:
        """Count."""
        return Snapshot(
            waiting=self.waiting,
            in_work=self._desk.in_work,
            finished=self._outcomes.total(),
            pages=self._budget.pages,
            bytes=self._budget.bytes,
            outcomes={str(one): count for one, count in self._outcomes.items() if count},
            hosts=self._desk.host_count,
            elapsed_s=now - self._started,
            pages_per_s=0.0,
            ended_by=await self.ended_by(),
            max_pages=self._rules.max_pages,
            max_bytes=self._rules.max_bytes,
        )

    @property
    def last_page(self) -> int:
        """The largest number that a page has."""
        return self._numbers.last

    @property
    def gaps(self) -> frozenset[int]:
        """The smaller numbers that are still to be given."""
        return self._numbers.gaps

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        return self._unscored + self._desk.shelved + self._desk.dealt

    async def ended_by(self) -> str | None:
        """Tell what ended the crawl; None while it goes on."""
        if self._desk.in_work:
            return None
        return self._budget.exhausted_by() if self.waiting else "complete"

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, and the slowest ones, at most so many of each."""
        all_hosts = list(self._desk.hosts())
        busiest = heapq.nlargest(limit, all_hosts, key=lambda host: (host.in_work, host.waiting))
        slowest = heapq.nlargest(limit, all_hosts, key=lambda host: host.mean_s)
        return [host_view(host, now) for host in dict.fromkeys([*busiest, *slowest])]

    async def commit(self) -> None:
        """Make everything so far durable."""
        self._shelf.save_hosts([host_record(host) for host in self._touched.values()])
        self._touched.clear()
        self._shelf.put("bytes", str(self._budget.bytes).encode())
        self._shelf.commit()

    async def close(self) -> None:
        """Put back what is in work, make everything durable and let go."""
        try:
            for lease, host in self._desk.leases():
                self._desk.end(lease.url_id, next_start=host.next_start, now=0.0)
                self._wait_again(lease.url_id, host)
            if self._is_begun:
                self._shelf.reshelve()
                self._shelf.put("closed", b"yes")
                await self.commit()
        finally:
            self._shelf.close()

    # -- inside ----------------------------------------------------------------------------------

    def _grow(self, growth: Growth) -> None:
        self._unscored += growth.new
        self._outcomes.subtract(growth.forgotten)

    def _count_shelved(self, host: Host, queue: int) -> None:
        """Tell the desk of a URL in a priority queue; shelve again what it recalls for that."""
        for _, recalled in self._desk.shelve(host, queue):
            self._shelf.move(recalled, Place.SHELVED)
            self._desk.shelve(host, self._shelf.queue_of(recalled))

    def _add_targets(self, settlement: Settlement, host: Host, now: float) -> Growth:
        """Add the links of a finished URL and remember where they lead."""
        task = settlement.task
        depth = self._shelf.by_id(task.url_id).depth
        ids, growth = self._links.add(
            settlement.links,
            depth=depth if settlement.redirect else depth + 1,
            parent=task.url_id,
            hops=task.hops + 1 if settlement.redirect else 0,
            now=now,
        )
        self._shelf.set_targets(task.url_id, ids, settlement.redirect)
        if settlement.page and depth < task.depth:  # a shorter path turned up while it was in work
            growth.nearer.append((settlement.page.page_id, depth))
        self._grow(growth)
        self._credit.give(host.domain.name, (link.domain for link in settlement.links))
        return growth

    def _rested(self, host: Host, pace: Pace | None) -> float:
        """Return the host's next moment after a visit."""
        if pace is None:
            return host.next_start
        self._touched[host.key] = host
        host.note_request(pace.ended, pace.took_s, failed=pace.failed, answered=pace.answered)
        if pace.crawl_delay_s is not None:
            host.delay_s = max(self._rules.desk.delay_s, pace.crawl_delay_s)
        return pace.ended + rest_s(
            host.delay_s,
            took_s=pace.took_s,
            failures=host.failures,
            retry_after_s=pace.retry_after_s,
        )

    def _wait_again(self, url_id: int, host: Host, *, last: bool = False) -> None:
        """Put a URL back into its priority queue, or behind all others of its host.

        Those then tell whether the host or only the page is to blame.
        """
        self._numbers.take_back(url_id)
        self._budget.give_back()
        if last:
            queue = self._table.queue_of(MAX_SCORE)
            self._shelf.move(url_id, Place.UNSCORED)
            self._shelf.set_score(url_id, MAX_SCORE, queue)
        else:
            queue = self._shelf.queue_of(url_id)
            self._shelf.move(url_id, Place.SHELVED)
        self._count_shelved(host, queue)


def _attempt(settlement: Settlement, now: float) -> Attempt:
    return Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
