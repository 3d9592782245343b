"""Scheduler, backend and counters of a crawl, kept in step.

The scheduler knows how many URLs of which host wait where, the backend which ones; the frontier
state moves a URL on both at once. `EmbeddedStore` makes its steps out of these moves.
"""

from collections import Counter
from collections.abc import Iterable

from gossamer.frontier import Budget, Host, Item, QueueTable, Scheduler
from gossamer.frontier.queues import MAX_SCORE
from gossamer.model import Candidate
from gossamer.stores.contract import Attempt, Settlement, UrlState
from gossamer.stores.embedded.backend import Backend, Ending, Found
from gossamer.stores.embedded.claims import Claims
from gossamer.stores.embedded.domain_credit import DomainCredit
from gossamer.stores.embedded.duplicates import DuplicateIndex
from gossamer.stores.embedded.host_registry import HostRegistry
from gossamer.stores.embedded.link_graph import Growth, LinkGraph
from gossamer.stores.rules import REPEATED, StoreRules


class FrontierState:
    """The books of one crawl, opened where the last process has left them."""

    def __init__(self, backend: Backend, rules: StoreRules, now: float) -> None:
        self.backend = backend
        self.rules = rules
        self._table = QueueTable(rules.scheduler.queues)
        backend.requeue_all()
        counts = backend.counts()
        if backend.get("queues") not in {None, _text(rules.scheduler.queues)}:
            backend.refile(self._table.queue_of)
        self.unscored = counts.unscored
        """How many URLs are in the URL queue."""
        self.outcomes = Counter(counts.outcomes)
        """How the finished URLs have ended."""
        self.budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        self.budget.pages, self.budget.bytes = counts.pages, counts.bytes
        self.claims = Claims(counts.last_page, counts.gaps)
        self.duplicates = DuplicateIndex(backend, self.claims, rules.similarity, rules.ttl_s, now)
        self.credit = DomainCredit(backend)
        self.links = LinkGraph(backend, rules.max_depth, rules.ttl_s)
        # Lease numbers grow across restarts: each start has four thousand million of its own.
        self._starts = int(backend.get("starts") or b"0") + 1
        self.scheduler = Scheduler(rules.scheduler, self.budget, first_lease=self._starts << 32)
        if backend.get("closed") == b"no":
            self._unsure_since = now
        else:
            self._unsure_since = float(backend.get("unsure_since") or b"-inf")
        self.hosts = HostRegistry(backend, self.scheduler, now, self._unsure_since)
        for key, domain, queue, count in backend.queued_counts():
            self.scheduler.enqueue(self.hosts.get(key, domain), queue, count)

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        return self.unscored + self.scheduler.queued + self.scheduler.assigned

    # -- opening and closing ---------------------------------------------------------------------

    def begin(self) -> None:
        """Note, before the first request, that the crawl goes on; until then nothing changes."""
        self.backend.put("starts", _text(self._starts))
        self.backend.put("queues", _text(self.rules.scheduler.queues))
        self.backend.put("unsure_since", _text(self._unsure_since))
        self.backend.put("closed", b"no")
        self.backend.commit()

    def save(self) -> None:
        """Make everything so far durable."""
        self.hosts.save()
        self.backend.commit()

    # -- moving URLs -----------------------------------------------------------------------------

    def grow(self, growth: Growth) -> None:
        """Count what adding links has changed."""
        self.unscored += growth.new
        self.outcomes.subtract(growth.forgotten)
        if self.rules.scheduler.strict:
            for url_id in growth.overtaking:
                self._score_again(url_id)

    def _score_again(self, url_id: int) -> None:
        """Take a URL out of its priority queue: with its new depth it may go before others."""
        key, _, queue = self.backend.filed(url_id)
        host = self.scheduler.hosts.find(key)
        assert host is not None
        self.backend.move(url_id, UrlState.UNSCORED)
        self.scheduler.dequeue(host, queue)
        self.scheduler.hosts.note_idle(host)
        self.unscored += 1

    def score(self, candidate: Candidate, score: float) -> None:
        """Move a URL from the URL queue into a priority queue, if it is still there."""
        host = self.hosts.get(candidate.host, candidate.domain)
        item, queue = (score, candidate.id), self._table.queue_of(score)
        state = self._place_for(host, item)
        if self.backend.set_score(candidate.id, score, queue, state):
            self.unscored -= 1
            self._count(host, item, queue, state)

    def enqueue(self, host: Host, items: Iterable[Item]) -> None:
        """Put assigned URLs that the scheduler has called back into their priority queues again."""
        for item in items:
            self.backend.move(item[1], UrlState.QUEUED)
            self.scheduler.enqueue(host, self._table.queue_of(item[0]))

    def wait_again(self, url_id: int, host: Host) -> None:
        """Let a URL wait again as if it had not been in progress."""
        self.drop_claim(url_id)
        _, score, queue = self.backend.filed(url_id)
        state = self._place_for(host, (score, url_id))
        self.backend.move(url_id, state)
        self._count(host, (score, url_id), queue, state)

    def wait_for_retry(self, url_id: int, host: Host, attempt: Attempt) -> None:
        """Let a URL wait for another attempt, behind all others of its host.

        Those then tell whether the host or only the page is to blame.
        """
        self.drop_claim(url_id)
        queue = self._table.queue_of(MAX_SCORE)
        self.backend.retry(url_id, attempt, MAX_SCORE, queue)
        self.scheduler.enqueue(host, queue)

    def _place_for(self, host: Host, item: Item) -> UrlState:
        return UrlState.ASSIGNED if self.scheduler.goes_before(host, item) else UrlState.QUEUED

    def _count(self, host: Host, item: Item, queue: int, state: UrlState) -> None:
        """Tell the scheduler where a URL stands that was put there on the backend."""
        if state is UrlState.QUEUED:
            self.scheduler.enqueue(host, queue)
        elif (ousted := self.scheduler.assign_at_once(host, item)) is not None:
            self.enqueue(host, [ousted])

    # -- settling --------------------------------------------------------------------------------

    def finish(self, settlement: Settlement, host: Host, attempt: Attempt) -> Growth:
        """Write down how a URL has ended, with its page and its links."""
        task, page = settlement.task, settlement.page
        known = self.backend.by_id(task.url_id)  # it may have come nearer since it was leased
        depth = known.depth
        if settlement.redirect:
            step = Found(depth, known.hops + 1, task.url_id)
        else:
            step = Found(depth + 1, 0, task.url_id)
        growth = self.links.add(settlement.links, step, attempt.at)
        ending = Ending(
            attempt=attempt,
            page_id=page.page_id if page else None,
            duplicate_of=self.claims.duplicate_of(task.url_id)
            if attempt.outcome in REPEATED
            else None,
            targets=growth.ids,
            redirect=settlement.redirect,
        )
        self.backend.finish(task.url_id, ending)
        self.outcomes[attempt.outcome] += 1
        if page is not None:
            claim = self.claims.held(task.url_id)
            assert claim is not None
            assert page.page_id == claim.number, "a page has claimed its number"
            self.claims.keep(task.url_id)
            self.backend.add_page(task.url_id, page, task.depth, claim.sketch)
            self.hosts.count_page(host)
            if depth < task.depth:  # a shorter path turned up while it was in progress
                growth.nearer[page.page_id] = depth
        elif ending.duplicate_of is not None:
            self.claims.end_refusal(task.url_id)
        else:
            self.drop_claim(task.url_id)
        self.grow(growth)
        self.credit.share(settlement.links, host.domain.name)
        return growth

    def drop_claim(self, url_id: int) -> None:
        """Free the number of a page that is not kept; visit its duplicates again."""
        if (claim := self.claims.held(url_id)) is not None:
            self.duplicates.drop(claim)
        for duplicate in self.claims.drop(url_id):
            self.outcomes[self.backend.reopen(duplicate)] -= 1
            self.unscored += 1


def _text(value: float) -> bytes:
    return str(value).encode()
