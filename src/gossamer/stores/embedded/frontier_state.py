"""The state of the frontier: scheduler, backend and counters of a crawl, kept consistent.

The scheduler knows how many URLs of each host wait in which queue, the backend which ones; this
moves a URL in both at once. `EmbeddedStore` builds its steps from these moves.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from gossamer.frontier import Budget, Host, Item, Lease, QueueTable, Scheduler
from gossamer.frontier.queues import MAX_SCORE
from gossamer.model import Candidate, Outcome, Receipt, Snapshot
from gossamer.policy.rests import is_hopeless
from gossamer.stores.claim import KeptPage
from gossamer.stores.contract import MAX_DEATHS, POISON_WORDS, Link, Settlement, Task
from gossamer.stores.embedded.claims import Claims
from gossamer.stores.embedded.domain_credit import DomainCredit, sharing_links
from gossamer.stores.embedded.duplicates import DuplicateIndex
from gossamer.stores.embedded.host_registry import HostRegistry
from gossamer.stores.embedded.link_graph import (
    LINKS_AT_ONCE,
    Growth,
    LinkGraph,
    LinksLeft,
    is_sitemap,
)
from gossamer.stores.embedded.rows import Repetition, UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.reasons import (
    REASONS_NOTE,
    Reason,
    cause_counts,
    outcome_sums,
    pack_reason_counts,
    read_reason_counts,
)
from gossamer.stores.retrying import RetryRequest
from gossamer.stores.rules import REPEATED, StoreRules
from gossamer.stores.url_record import Attempt, UrlState


class FrontierState:
    """The state of the frontier of one crawl, as the last process left it."""

    def __init__(self, backend: SqliteBackend, rules: StoreRules, now: float) -> None:
        self.backend = backend
        self.rules = rules
        self._table = QueueTable(rules.scheduler.queues)
        is_closed = backend.get("closed") != b"no"
        reopened = [] if is_closed else backend.requeue_all()
        counts, figures = backend.counts(), backend.figures
        if backend.get("queues") not in {None, _text(rules.scheduler.queues)}:
            backend.rebuild_queues(self._table.queue_of)
        self._unscored = 0
        self.unscored = counts.unscored
        self.adding = 0
        """How many settled pages have links that are still to be added."""
        self.outcomes = Counter(read_reason_counts(backend.get(REASONS_NOTE)))
        """How many URLs are finished, by the reason."""
        self.outcomes.subtract(reopened)
        self.budget = Budget(rules.max_pages, rules.max_bytes, rules.max_task_bytes)
        self.budget.pages = figures.visits
        self.budget.received, self.budget.short_at = figures.received, figures.short_at
        self.pages = counts.pages
        """How many URLs have a page."""
        self.claims = Claims(counts.last_page, counts.gaps)
        self.duplicates = DuplicateIndex(backend, self.claims, rules.similarity, rules.keep_s, now)
        self.credit = DomainCredit(backend)
        self.links = LinkGraph(backend, rules)
        # Lease numbers grow across restarts: each start has 2**32 of its own.
        self._starts = int(backend.get("starts") or b"0") + 1
        self.scheduler = Scheduler(rules.scheduler, self.budget, first_lease=self._starts << 32)
        noted = float(backend.get("unsure_since") or b"-inf")
        self._unsure_since = noted if is_closed else now
        self.hosts = HostRegistry(backend, self.scheduler, now, self._unsure_since)
        for key, domain, queue, count in backend.queued_counts():
            self.scheduler.enqueue(self.hosts.get(key, domain), queue, count)

    @property
    def unscored(self) -> int:
        """How many URLs are in the URL queue."""
        return self._unscored

    @unscored.setter
    def unscored(self, count: int) -> None:
        self._unscored = count
        self.backend.figures.url_queue_peak = max(self.backend.figures.url_queue_peak, count)

    @property
    def is_held_up(self) -> bool:
        """Whether URLs must get their scores before any is leased.

        The URL queue is full, or in strict order one of them may be better.
        """
        rules = self.rules.scheduler
        return self.unscored >= (1 if rules.strict else rules.url_queue)

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        return self.unscored + self.scheduler.queued + self.scheduler.assigned

    def snapshot(self, elapsed_s: float, ended_by: str | None) -> Snapshot:
        """Return a snapshot of the counters."""
        ended, figures = self.outcomes, self.backend.figures
        return Snapshot(
            waiting=self.waiting,
            in_progress=len(self.scheduler.leases),
            finished=ended.total(),
            pages=self.pages,
            visits=self.budget.pages,
            bytes=figures.bytes,
            received=self.budget.received,
            listed=figures.listed,
            over_host_urls=figures.over_host_urls,
            outcomes=outcome_sums(ended.items()),
            causes=cause_counts(ended.items()),
            hosts=self.backend.host_count,
            elapsed_s=elapsed_s,
            pages_per_s=0.0,
            ended_by=ended_by,
            relaxing=self.links.relaxing,
            max_pages=self.rules.max_pages,
            max_bytes=self.rules.max_bytes,
        )

    # -- opening and closing ---------------------------------------------------------------------

    def begin(self) -> None:
        """Note, before the first request, that the crawl runs; until then nothing changes."""
        self.backend.put("starts", _text(self._starts))
        self.backend.put("queues", _text(self.rules.scheduler.queues))
        self.backend.put("unsure_since", _text(self._unsure_since))
        self.backend.put("closed", b"no")
        self.save()

    def save(self) -> None:
        """Make everything so far durable."""
        self.hosts.save()
        figures = self.backend.figures
        figures.received, figures.short_at = self.budget.received, self.budget.short_at
        self.backend.put(REASONS_NOTE, pack_reason_counts(self.outcomes))
        self.backend.commit()

    # -- moving URLs -----------------------------------------------------------------------------

    def grow(self, growth: Growth) -> int:
        """Count what has changed by adding links, and follow up shorter paths.

        That goes as far as one step may; return how many links were followed.
        """
        followed = self.links.relax(growth)
        self.unscored += growth.new
        self.outcomes.subtract(growth.forgotten)
        if growth.nearer:
            self.backend.note_depth_changes(growth.nearer)
        if self.rules.scheduler.strict:
            for url_id in growth.overtaking:
                self._score_again(url_id)
        return followed

    def _score_again(self, url_id: int) -> None:
        """Make a queued URL unscored: with its new depth it may go before others."""
        key, _, queue = self.backend.queue_position(url_id)
        host = self.scheduler.hosts.find(key)
        assert host is not None
        self.backend.move(url_id, UrlState.UNSCORED)
        self.scheduler.dequeue(host, queue)
        self.scheduler.hosts.note_idle(host)
        self.unscored += 1

    def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue."""
        credit = self.credit
        return [
            Candidate(*one[:5], credit.of(one.domain), credit.top, *one[5:])
            for one in self.backend.unscored(limit)
        ]

    def score(self, candidate: Candidate, score: float) -> None:
        """Move a URL from the URL queue into a priority queue, if it is still unscored."""
        host = self.hosts.get(candidate.host, candidate.domain)
        item, queue = (score, candidate.id), self._table.queue_of(score)
        state = self._state_for(host, item)
        if self.backend.set_score(candidate.id, score, queue, state):
            self.unscored -= 1
            self._count(host, item, queue, state)

    def enqueue(self, host: Host, items: Iterable[Item]) -> None:
        """Put assigned URLs that the scheduler recalled back into their priority queues."""
        for item in items:
            self.backend.move(item[1], UrlState.QUEUED)
            self.scheduler.enqueue(host, self._table.queue_of(item[0]))

    def wait_again(self, url_id: int, host: Host) -> None:
        """Let a URL wait again as if it had not been leased."""
        self.drop_claim(url_id)
        _, score, queue = self.backend.queue_position(url_id)
        state = self._state_for(host, (score, url_id))
        self.backend.move(url_id, state)
        self._count(host, (score, url_id), queue, state)

    def wait_for_retry(self, url_id: int, host: Host, attempt: Attempt) -> None:
        """Queue a URL for another attempt, behind all others of its host.

        Those then show whether the host failed or only the page.
        """
        self.drop_claim(url_id)
        queue = self._table.queue_of(MAX_SCORE)
        self.backend.retry(url_id, attempt, MAX_SCORE, queue)
        self.scheduler.enqueue(host, queue)

    def _state_for(self, host: Host, item: Item) -> UrlState:
        return UrlState.ASSIGNED if self.scheduler.goes_before(host, item) else UrlState.QUEUED

    def _count(self, host: Host, item: Item, queue: int, state: UrlState) -> None:
        """Update the scheduler after the state of a URL has changed in the backend."""
        if state is UrlState.QUEUED:
            self.scheduler.enqueue(host, queue)
        elif (replaced := self.scheduler.assign_at_once(host, item)) is not None:
            self.enqueue(host, [replaced])

    def retry_failed(self, request: RetryRequest, ids: range) -> int:
        """Let those of the URLs wait again that have failed in a certain way; return how many."""
        found = self.backend.ended_as(request.outcomes, ids)
        wanted = [one for one in found if not request.hosts or one[1] in request.hosts]
        for url_id, key, domain in wanted:
            self.outcomes[self.backend.reopen(url_id)] -= 1
            self.hosts.forgive(self.hosts.get(key, domain))
        self.unscored += len(wanted)
        return len(wanted)

    # -- leases ----------------------------------------------------------------------------------

    def begin_task(self, lease: Lease, *, with_before: bool = False) -> Task:
        """Return the task of a URL that was leased."""
        url, attempts, deaths, known = self.backend.begin(lease.url_id)
        return Task(
            url_id=lease.url_id,
            lease=lease.number,
            url=url,
            host=lease.host.key,
            depth=known.depth,
            attempt=attempts + 1,
            hops=known.hops,
            hopeless=is_hopeless(lease.host.failures, lease.host.unanswered),
            deaths=deaths,
            max_bytes=lease.allowed,
            is_last=lease.allowed < self.rules.max_task_bytes,
            delay_s=lease.host.delay_s,
            spent=lease.host.spent,
            sitemap_of=self.backend.sitemap_of(lease.url_id) if self.links.has_sitemaps else "",
            before=self.backend.urls_before(lease.url_id, known.hops + 1) if with_before else (),
        )

    def take_back(
        self,
        lease: Lease,
        feedback: HostFeedback | None,
        now: float,
        receipt: Receipt | None = None,
        *,
        died: bool = False,
    ) -> None:
        """End a lease without a result, and let its URL wait again.

        If it has crashed its worker, the URL may be given up instead.
        """
        host, hosts = lease.host, self.hosts
        if feedback is None:
            next_start = hosts.next_start_unknown(host, now)
        else:
            next_start = hosts.next_start_after(host, feedback)
        self.enqueue(host, self.scheduler.end(lease, next_start=next_start, now=now))
        receipt = receipt or Receipt()
        hosts.count_received(host, min(receipt.received, lease.allowed))
        self.budget.use(lease.allowed, receipt.received, short=receipt.short)
        if died and self.backend.add_death(lease.url_id) >= MAX_DEATHS:
            self.give_up(lease.url_id, now)
        else:
            self.wait_again(lease.url_id, host)

    def add_listed(self, url_id: int, links: Sequence[Link], now: float) -> int:
        """Add URLs that a sitemap lists: pages, or other sitemaps; return how many are new."""
        known = self.backend.by_id(url_id)
        if is_sitemap(links[0]):
            path = UrlPath(known.depth, known.hops + 1, url_id)
            growth = self.links.add(self.links.within_limit(links), path, now)
        else:
            growth = self.links.add(links, UrlPath(known.depth + 1, 0, url_id), now)
            self.backend.figures.listed += len(growth.new_keys)
        self.grow(growth)
        return len(growth.new_keys)

    # -- settling --------------------------------------------------------------------------------

    def finish(self, settlement: Settlement, host: Host, attempt: Attempt) -> Growth:
        """Record how a URL has ended, with its page and its links."""
        task, page = settlement.task, settlement.page
        known = self.backend.by_id(task.url_id)  # its depth may have decreased since it was leased
        depth = known.depth
        if settlement.redirect:
            step = UrlPath(depth, known.hops + 1, task.url_id)
        else:
            step = UrlPath(depth + 1, 0, task.url_id)
        links = settlement.links[:LINKS_AT_ONCE]
        growth = self.links.add(links, step, attempt.at, again=settlement.again)
        is_repeated = attempt.outcome in REPEATED
        duplicate_of = self.claims.duplicate_of(task.url_id) if is_repeated else None
        page_id = page.page_id if page else None
        repeats = Repetition(duplicate_of, settlement.similarity, settlement.own_similarity)
        self.backend.finish(
            task.url_id, attempt, growth.ids, page_id, repeats, redirect=settlement.redirect
        )
        self.outcomes[_reason(attempt)] += 1
        records, row = settlement.records, settlement.row
        if page is not None or records is not None or row is not None:
            self.backend.add_result(task.url_id, page_id, attempt.at, records, row)
        if page is not None:
            self._keep(page, task, host)
            if host.limits.max_pages is not None:  # fewer requests at once may be allowed now
                recalled = self.scheduler.release_slot(host, host.next_start, attempt.at, slots=0)
                self.enqueue(host, recalled)
            if depth < task.depth:  # a shorter path was found while it was in progress
                growth.nearer[page.page_id] = depth
        elif duplicate_of is not None:
            self.claims.end_refusal(task.url_id)
        else:
            self.drop_claim(task.url_id)
        self.grow(growth)
        own, among = host.domain.name, None
        if rest := settlement.links[LINKS_AT_ONCE:]:
            among = sharing_links(settlement.links, own)
            growth.left = LinksLeft(task.url_id, rest, own, among, attempt.at)
            self.adding += 1
        self.credit.share(links, own, among)
        return growth

    def _keep(self, page: KeptPage, task: Task, host: Host) -> None:
        """Store a new page, or a new version of one that is visited again."""
        claim = self.claims.keep(task.url_id)
        assert claim is not None
        assert page.page_id == claim.number, "a page has claimed its number"
        if claim.again:
            bands = self.backend.bands_of(claim.number)
            self.duplicates.replace(claim.number, bands, claim.sketch)
            self.backend.replace_page(task.url_id, page, task.depth, claim.sketch)
        else:
            self.backend.add_page(task.url_id, page, task.depth, claim.sketch, claim.own)
            self.hosts.count_page(host)
            self.pages += 1

    def give_up(self, url_id: int, now: float) -> None:
        """End a URL that has crashed several workers: it is not tried again."""
        self.drop_claim(url_id)
        known = self.backend.by_id(url_id)
        # The links of an earlier visit are forgotten: a shorter path is followed over them first.
        growth = self.links.add((), UrlPath(known.depth + 1, 0, url_id), now)
        attempt = Attempt(
            at=now, outcome=Outcome.GAVE_UP, cause=None, detail=POISON_WORDS, status=None
        )
        self.backend.finish(url_id, attempt, (), None, Repetition(), redirect=False)
        self.outcomes[_reason(attempt)] += 1
        self.grow(growth)

    def drop_claim(self, url_id: int) -> None:
        """Free the number of a page that is not kept; let its duplicates be visited again."""
        if (claim := self.claims.held(url_id)) is not None and not claim.again:
            self.duplicates.drop(claim)
        for duplicate in self.claims.drop(url_id):
            self.outcomes[self.backend.reopen(duplicate)] -= 1
            self.unscored += 1


def _reason(attempt: Attempt) -> Reason:
    return Reason.of(attempt.outcome, attempt.cause, attempt.status)


def _text(value: float) -> bytes:
    return str(value).encode()
