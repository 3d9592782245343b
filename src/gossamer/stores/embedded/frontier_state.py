"""The state of the frontier: scheduler, backend and counters of a crawl, kept consistent.

The scheduler knows how many URLs of each host wait in which queue, the backend which ones; this
moves a URL in both at once. `EmbeddedStore` builds its steps from these moves.
"""

from collections import Counter
from collections.abc import Iterable

from gossamer.frontier import Budget, Host, Item, QueueTable, Scheduler
from gossamer.frontier.queues import MAX_SCORE
from gossamer.model import Candidate, Outcome
from gossamer.stores.contract import POISON_WORDS, Attempt, Settlement, UrlState
from gossamer.stores.embedded.claims import Claims
from gossamer.stores.embedded.domain_credit import DomainCredit
from gossamer.stores.embedded.duplicates import DuplicateIndex
from gossamer.stores.embedded.host_registry import HostRegistry
from gossamer.stores.embedded.link_graph import Growth, LinkGraph
from gossamer.stores.embedded.rows import UrlPath
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.rules import REPEATED, StoreRules


class FrontierState:
    """The state of the frontier of one crawl, as the last process left it."""

    def __init__(self, backend: SqliteBackend, rules: StoreRules, now: float) -> None:
        self.backend = backend
        self.rules = rules
        self._table = QueueTable(rules.scheduler.queues)
        backend.requeue_all()
        counts = backend.counts()
        if backend.get("queues") not in {None, _text(rules.scheduler.queues)}:
            backend.rebuild_queues(self._table.queue_of)
        self.unscored = counts.unscored
        """How many URLs are in the URL queue."""
        self.outcomes = Counter(counts.outcomes)
        """The outcomes of the finished URLs."""
        self.budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        self.budget.pages, self.budget.bytes = counts.pages, counts.bytes
        self.claims = Claims(counts.last_page, counts.gaps)
        self.duplicates = DuplicateIndex(backend, self.claims, rules.similarity, rules.ttl_s, now)
        self.credit = DomainCredit(backend)
        self.links = LinkGraph(backend, rules.max_depth, rules.ttl_s)
        # Lease numbers grow across restarts: each start has 2**32 of its own.
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
        """Note, before the first request, that the crawl runs; until then nothing changes."""
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
        """Count what has changed by adding links."""
        self.unscored += growth.new
        self.outcomes.subtract(growth.forgotten)
        if self.rules.scheduler.strict:
            for url_id in growth.overtaking:
                self._score_again(url_id)

    def _score_again(self, url_id: int) -> None:
        """Make a queued URL unscored: with its new depth it may go before others."""
        key, _, queue = self.backend.queue_position(url_id)
        host = self.scheduler.hosts.find(key)
        assert host is not None
        self.backend.move(url_id, UrlState.UNSCORED)
        self.scheduler.dequeue(host, queue)
        self.scheduler.hosts.note_idle(host)
        self.unscored += 1

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
        growth = self.links.add(settlement.links, step, attempt.at)
        is_repeated = attempt.outcome in REPEATED
        duplicate_of = self.claims.duplicate_of(task.url_id) if is_repeated else None
        page_id = page.page_id if page else None
        self.backend.finish(
            task.url_id, attempt, growth.ids, page_id, duplicate_of, redirect=settlement.redirect
        )
        self.outcomes[attempt.outcome] += 1
        if page is not None:
            claim = self.claims.keep(task.url_id)
            assert claim is not None
            assert page.page_id == claim.number, "a page has claimed its number"
            self.backend.add_page(task.url_id, page, task.depth, claim.sketch)
            self.hosts.count_page(host)
            if depth < task.depth:  # a shorter path was found while it was in progress
                growth.nearer[page.page_id] = depth
        elif duplicate_of is not None:
            self.claims.end_refusal(task.url_id)
        else:
            self.drop_claim(task.url_id)
        self.grow(growth)
        self.credit.share(settlement.links, host.domain.name)
        return growth

    def give_up(self, url_id: int, now: float) -> None:
        """End a URL that has crashed several workers: it is not tried again."""
        self.drop_claim(url_id)
        attempt = Attempt(
            at=now, outcome=Outcome.GAVE_UP, cause=None, detail=POISON_WORDS, status=None
        )
        self.backend.finish(url_id, attempt, (), None, None, redirect=False)
        self.outcomes[Outcome.GAVE_UP] += 1

    def drop_claim(self, url_id: int) -> None:
        """Free the number of a page that is not kept; let its duplicates be visited again."""
        if (claim := self.claims.held(url_id)) is not None:
            self.duplicates.drop(claim)
        for duplicate in self.claims.drop(url_id):
            self.outcomes[self.backend.reopen(duplicate)] -= 1
            self.unscored += 1


def _text(value: float) -> bytes:
    return str(value).encode()
