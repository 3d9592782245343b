"""The state of the frontier: scheduler, memory and counters of a crawl, kept consistent.

The scheduler knows how many URLs of each host wait in which queue, the memory which ones; this
moves a URL in both at once. `Frontier` builds its steps from these moves.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat

import msgspec

from gossamer.frontier.claims import Claims, DuplicateIndex
from gossamer.frontier.contract import Link, RetryRequest, Task
from gossamer.frontier.counters import StoredCounters
from gossamer.frontier.depths import LinkChanges, LinkGraph, is_sitemap
from gossamer.frontier.hosts import Host
from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.politeness import HostRegistry
from gossamer.frontier.router import MAX_SCORE, QueueTable
from gossamer.frontier.rules import Budget, FrontierRules
from gossamer.frontier.scheduler import Lease, Scheduler
from gossamer.frontier.url_memory import UrlPath
from gossamer.model import Candidate, Snapshot, Url
from gossamer.policy.backoff import is_hopeless
from gossamer.stores.counting import cause_counts, outcome_sums
from gossamer.stores.rows import Item, LeaseRow, UrlRow
from gossamer.stores.url_record import Attempt, UrlState


class FrontierState:
    """The state of the frontier of one crawl, as the last process left it."""

    def __init__(
        self,
        memory: CrawlMemory,
        rules: FrontierRules,
        now: float,
        *,
        lives: Callable[[int], bool] | None = None,
    ) -> None:
        """Go on; those workers of the last process that may live keep their leases; None: none."""
        self.memory = memory
        self.rules = rules
        self._table = QueueTable(rules.scheduler.queues)
        counters, pages = memory.counters, memory.pages
        self.budget = Budget(rules.max_pages, rules.max_bytes, rules.max_task_bytes)
        self.budget.pages = counters.visits
        self.budget.received, self.budget.short_at = counters.received, counters.short_at
        self.adding = 0
        """How many settled pages have links that are still to be added."""
        self.claims = Claims(pages.last_number, pages.gaps())
        for stored in memory.leases.values():
            if stored.claim is not None:
                self.claims.resume(stored.url, stored.claim)
        self.claims.changed.clear()
        self.duplicates = DuplicateIndex(memory, self.claims, rules.similarity, rules.keep_s, now)
        self.links = LinkGraph(memory, rules)
        # Lease numbers grow across restarts: each start has 2**32 of its own.
        self._starts = int(memory.get("starts") or b"0") + 1
        self.scheduler = Scheduler(rules.scheduler, self.budget, first_lease=self._starts << 32)
        self.stored_counters = StoredCounters(memory, self.scheduler)
        self.outcomes = self.stored_counters.outcomes
        noted = float(memory.get("unsure_since") or b"-inf")
        is_closed = memory.get("closed") != b"no"
        self._unsure_since = noted if is_closed or lives is not None else now
        self.hosts = HostRegistry(
            memory.hosts, self.scheduler, now, self._unsure_since, keeps_domains=lives is not None
        )
        self.changed_leases: set[int] = set()
        """The URLs of which a lease was granted, renewed or ended since the last commit."""
        self._stored_leases = set(memory.leases)
        """The URLs of which a lease is among the rows."""
        self._rebuild_queues()
        for stored in memory.leases.values():
            if lives is not None and lives(stored.worker):  # or it will be found dead
                memory.urls.hold([stored.url])
                self.budget.resume(stored.allowed)
                host = self._host(memory.urls.hosts[stored.url])
                self.scheduler.resume(Lease(stored, host), now)
            else:
                self._take_back_stored(stored.url, now)
        for row in memory.hosts.with_robots_slots:
            host = self.hosts.get(row.key, row.domain)
            if lives is not None:
                host.in_progress += row.robots_slots
                host.row.robots_slots, host.row.robots_until = row.robots_slots, row.robots_until
                self.hosts.with_robots_slots[host] = None
            else:
                self.hosts.touched[host.key] = host  # nobody has them any more

    def _rebuild_queues(self) -> None:
        """Count what waits in which queue; in another number of queues it is where it belongs."""
        memory, queues = self.memory, _text(self.rules.scheduler.queues)
        if memory.get("queues") not in {None, queues}:
            memory.sort_again(self._table.queue_of)
        for host_id, queue, count in memory.waiting.counts():
            self.scheduler.enqueue(self._host(host_id), queue, count)
            self.stored_counters.queues[queue] += count

    def _host(self, host_id: int) -> Host:
        hosts = self.memory.hosts
        return self.hosts.get(hosts.keys[host_id], hosts.domain_of[host_id])

    def _take_back_stored(self, url_id: int, now: float) -> None:
        """Let a URL wait again whose worker is gone."""
        self.memory.urls.hold([url_id])
        self.changed_leases.add(url_id)
        host = self._host(self.memory.urls.hosts[url_id])
        host.next_start = max(host.next_start, self.hosts.next_start_unknown(host, now))
        self.wait_again(url_id, host)

    @property
    def is_held_up(self) -> bool:
        """Whether URLs must get their scores before any is leased.

        The URL queue is full, or in strict order one of them may be better.
        """
        rules = self.rules.scheduler
        return len(self.memory.waiting.unscored) >= (1 if rules.strict else rules.url_queue)

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        unscored = len(self.memory.waiting.unscored)
        return unscored + self.scheduler.queued + self.scheduler.assigned

    @property
    def is_following_up(self) -> bool:
        """Whether links or shorter paths are still to be followed up."""
        return self.links.relaxing or self.adding > 0

    def snapshot(self, *, elapsed_s: float, ended_by: str | None, resting_s: float) -> Snapshot:
        """Return a snapshot of the counters."""
        counters, outcomes = self.memory.counters, self.outcomes
        return Snapshot(
            waiting=self.waiting,
            in_progress=len(self.scheduler.leases),
            finished=outcomes.total(),
            pages=self.memory.pages.count,
            visits=self.budget.pages,
            bytes=counters.bytes,
            received=self.budget.received,
            listed=counters.listed,
            over_host_urls=counters.over_host_urls,
            outcomes=outcome_sums(outcomes.items()),
            causes=cause_counts(outcomes.items()),
            hosts=len(self.memory.hosts.ids),
            elapsed_s=elapsed_s,
            pages_per_s=0.0,
            ended_by=ended_by,
            relaxing=self.links.relaxing,
            max_pages=self.rules.max_pages,
            max_bytes=self.rules.max_bytes,
            resting_s=resting_s,
        )

    # -- opening and closing ---------------------------------------------------------------------

    def begin(self) -> None:
        """Note, before the first request, that the crawl runs; until then nothing changes."""
        self.memory.put("starts", _text(self._starts))
        self.memory.put("queues", _text(self.rules.scheduler.queues))
        self.memory.put("unsure_since", _text(self._unsure_since))
        self.memory.put("closed", b"no")

    def write(self) -> Callable[[], None] | None:
        """Begin to make everything so far durable; None: it is already."""
        leases = self.memory.pending.now.leases
        for url_id in self.changed_leases | self.claims.changed:
            row = self._lease_row(url_id)
            if row is not None:
                self._stored_leases.add(url_id)
            elif url_id not in self._stored_leases:
                continue  # it was granted and has ended since the last commit
            else:
                self._stored_leases.discard(url_id)
            leases[url_id] = row
        self.changed_leases.clear()
        self.claims.changed.clear()
        self.hosts.save()
        counters = self.memory.counters
        counters.received, counters.short_at = self.budget.received, self.budget.short_at
        self.stored_counters.store(relaxing=self.links.relaxing)
        return self.memory.write()

    def _lease_row(self, url_id: int) -> LeaseRow | None:
        lease = self.scheduler.leases.of_url.get(url_id)
        if lease is None:
            return None
        return msgspec.structs.replace(lease.row, claim=self.claims.pack(url_id))

    # -- moving URLs -----------------------------------------------------------------------------

    def add_links(self, links: Sequence[Link], path: UrlPath, now: float) -> int:
        """Add URLs that were found over a path; return how many of them are waiting only now."""
        changes = self.links.add(links, path, now)
        self.follow_up(changes)
        return len(changes.new_keys)

    def follow_up(self, changes: LinkChanges, *, may_read: bool = False) -> int:
        """Count what has changed by adding links, and follow up shorter paths.

        That goes as far as one step may; return how many links were followed.
        """
        followed = self.links.relax(changes, may_read=may_read)
        if changes.forgotten:
            self.outcomes.subtract(changes.forgotten)
        counters, unscored = self.memory.counters, len(self.memory.waiting.unscored)
        counters.url_queue_peak = max(counters.url_queue_peak, unscored)
        if self.rules.scheduler.strict:
            for url_id in changes.rescore:
                self._score_again(url_id)
        return followed

    def _score_again(self, url_id: int) -> None:
        """Make a queued URL unscored: with its new depth it may go before others."""
        memory = self.memory
        row = memory.urls.change(url_id)
        queue = row.queue
        host = self.scheduler.hosts.by_key[memory.hosts.keys[row.host]]
        assert queue is not None
        self.stored_counters.queues[queue] -= 1
        memory.waiting.remove(row)
        memory.urls.unscore(url_id)
        memory.waiting.add_unscored(url_id)
        self.scheduler.dequeue(host, queue)
        self.scheduler.hosts.note_idle(host)

    def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue."""
        hosts, rows = self.memory.hosts, self.memory.waiting.first_unscored(limit)
        wanted = {hosts.keys[row.host] for row in rows}
        hosts.fetch(key for key in wanted if self.scheduler.hosts.by_key.get(key) is None)
        return [
            Candidate(
                id=row.id,
                url=row.url,
                host=hosts.keys[row.host],
                domain=hosts.domain_of[row.host],
                depth=row.depth,
                credit=hosts.credit_of(hosts.domain_of[row.host]),
                top_credit=hosts.top_credit,
                score=row.given_score,
                lastmod=row.lastmod,
                priority=row.priority,
            )
            for row in rows
        ]

    def score(self, candidate: Candidate, score: float) -> None:
        """Move a URL from the URL queue into a priority queue, if it is still unscored."""
        unscored, url_id = self.memory.waiting.unscored, candidate.id
        if url_id in unscored:
            del unscored[url_id]
            row = self.memory.urls.set_score(url_id, score, self._table.queue_of(score))
            self._wait(row, self.hosts.get(candidate.host, candidate.domain))

    def _wait(self, row: UrlRow, host: Host) -> None:
        """Let a URL with a score wait: in its priority queue, or at once in that of a worker."""
        assert row.score is not None
        assert row.queue is not None
        self.stored_counters.queues[row.queue] += 1
        item = row.score, row.id
        if not self.scheduler.goes_before(host, item):
            self._queue(row, host)
            return
        self.memory.urls.states[row.id] = UrlState.ASSIGNED
        replaced = self.scheduler.assign_at_once(host, item)
        if replaced is not None:
            self.enqueue(host, [replaced])

    def _queue(self, row: UrlRow, host: Host) -> None:
        assert row.queue is not None
        self.memory.waiting.push(row)
        self.scheduler.enqueue(host, row.queue)

    def enqueue(self, host: Host, items: Iterable[Item]) -> None:
        """Put assigned URLs that the scheduler recalled back into their priority queues."""
        for _, url_id in items:
            self._queue(self.memory.urls.at_hand[url_id], host)

    def wait_again(self, url_id: int, host: Host) -> None:
        """Let a URL wait again as if it had not been leased."""
        self.drop_claim(url_id)
        self._wait(self.memory.urls.at_hand[url_id], host)

    def wait_for_retry(self, url_id: int, host: Host, attempt: Attempt) -> None:
        """Queue a URL for another attempt, behind all others of its host.

        Those then show whether the host failed or only the page.
        """
        self.drop_claim(url_id)
        row = self.memory.urls.set_score(url_id, MAX_SCORE, self._table.queue_of(MAX_SCORE))
        self.memory.urls.add_attempt(row, attempt)
        assert row.queue is not None
        self.stored_counters.queues[row.queue] += 1
        self._queue(row, host)

    def reopen(self, url_id: int) -> None:
        """Let a finished URL wait again, to be revisited."""
        self.outcomes[self.memory.urls.reopen(url_id)] -= 1
        self.memory.waiting.add_unscored(url_id)

    def retry_failed(self, request: RetryRequest, ids: range) -> int:
        """Let those of the URLs wait again that have failed in a certain way; return how many."""
        memory, retried = self.memory, 0
        done = [url_id for url_id in ids if memory.urls.states[url_id] == UrlState.DONE]
        for row in memory.urls.read(done):
            key = memory.hosts.keys[row.host]
            if row.outcome in request.outcomes and (not request.hosts or key in request.hosts):
                self.reopen(row.id)
                self.hosts.forgive(self._host(row.host))
                retried += 1
        return retried

    # -- leases ----------------------------------------------------------------------------------

    def begin_tasks(self, leases: Sequence[Lease], *, with_referrers: bool = False) -> list[Task]:
        """Return the tasks of URLs that were leased."""
        urls = self.memory.urls
        chains: Iterable[tuple[str, ...]] = repeat(())
        if with_referrers:
            chains = urls.referrers(
                (lease.row.url, urls.hops[lease.row.url] + 1) for lease in leases
            )
        tasks = []
        for lease, referrers in zip(leases, chains, strict=False):
            row, host = urls.at_hand[lease.row.url], lease.host
            assert row.queue is not None
            self.stored_counters.queues[row.queue] -= 1
            urls.states[row.id] = UrlState.LEASED
            self.changed_leases.add(row.id)
            tasks.append(
                Task(
                    url_id=row.id,
                    lease=lease.row.number,
                    url=row.url,
                    host=host.key,
                    depth=urls.depths[row.id],
                    attempt=row.attempts + 1,
                    hops=urls.hops[row.id],
                    host_given_up=is_hopeless(host.row.failures, host.row.unanswered),
                    deaths=row.deaths,
                    max_bytes=lease.row.allowed,
                    is_last_of_budget=lease.row.allowed < self.rules.max_task_bytes,
                    delay_s=host.delay_s,
                    exhausted_budget=host.exhausted_budget,
                    sitemap_of=row.sitemap_of or "",
                    referrer_chain=tuple(map(Url, referrers)),
                )
            )
        return tasks

    def end_lease(self, lease: Lease, next_start: float, now: float) -> None:
        """End a lease, and let its host rest."""
        self.changed_leases.add(lease.row.url)
        self.enqueue(lease.host, self.scheduler.end(lease, next_start=next_start, now=now))
        if not lease.row.shared:
            self.memory.hosts.bind_domain(lease.host.domain)

    def add_listed(self, url_id: int, links: Sequence[Link], now: float) -> int:
        """Add URLs that a sitemap lists: pages, or other sitemaps; return how many are new."""
        urls = self.memory.urls
        depth, hops = urls.depths[url_id], urls.hops[url_id]
        if is_sitemap(links[0]):
            path = UrlPath(depth, hops + 1, url_id)
            return self.add_links(self.links.within_limit(links), path, now)
        new = self.add_links(links, UrlPath(depth + 1, 0, url_id), now)
        self.memory.counters.listed += new
        return new

    def drop_claim(self, url_id: int) -> None:
        """Free the number of a page that is not kept; let its duplicates be visited again."""
        if (claim := self.claims.of_url.get(url_id)) is not None and not claim.again:
            self.duplicates.drop(claim)
        for duplicate in self.claims.drop(url_id):
            self.reopen(duplicate)


def _text(value: float) -> bytes:
    return str(value).encode()
