"""Desk, shelf and counters of a crawl, kept in step.

The desk knows how many URLs of which host wait where, the shelf which ones; the ledger moves a URL
on both at once. `EmbeddedStore` makes its steps out of these moves.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from gossamer.frontier import Budget, Desk, DeskRules, Host, Item, QueueTable
from gossamer.frontier.queues import MAX_SCORE
from gossamer.model import Candidate, Outcome
from gossamer.stores.claims import Claims
from gossamer.stores.contract import Attempt, Place, Settlement
from gossamer.stores.credit import CreditBook
from gossamer.stores.host_book import HostBook
from gossamer.stores.links import Growth, LinkKeeper
from gossamer.stores.shelf import Ending, Found, Shelf
from gossamer.stores.twins import Twins

REPEATED = frozenset({Outcome.DUPLICATE, Outcome.SIMILAR})
"""How a URL ends whose page repeats another."""


class StoreRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a crawl is limited to."""

    desk: DeskRules = DeskRules()
    max_depth: int | None = None
    max_pages: int = 10_000
    max_bytes: int = 50_000_000
    max_page_bytes: int = 500_000
    ttl_s: float = 3600.0
    """How long a finished link and a content are remembered."""
    similarity: float | None = 0.9
    """How much like another a page must be not to be kept; None: all are kept, also the same."""


class Ledger:
    """The books of one crawl, opened where the last process has left them."""

    def __init__(self, shelf: Shelf, rules: StoreRules, now: float) -> None:
        self.shelf = shelf
        self.rules = rules
        self._table = QueueTable(rules.desk.queues)
        shelf.reshelve()
        counts = shelf.counts()
        if shelf.get("queues") not in {None, _text(rules.desk.queues)}:
            shelf.refile(self._table.queue_of)
        self.unscored = counts.unscored
        """How many URLs are in the URL queue."""
        self.outcomes = Counter(counts.outcomes)
        """How the finished URLs have ended."""
        self.budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        self.budget.pages, self.budget.bytes = counts.pages, counts.bytes
        self.claims = Claims(counts.last_page, counts.gaps)
        self.twins = Twins(shelf, self.claims, rules.similarity, rules.ttl_s, now)
        self.credit = CreditBook(shelf)
        self.links = LinkKeeper(shelf, rules.max_depth, rules.ttl_s)
        # Lease numbers grow across restarts: each start has four thousand million of its own.
        self._starts = int(shelf.get("starts") or b"0") + 1
        self.desk = Desk(rules.desk, self.budget, first_lease=self._starts << 32)
        if shelf.get("closed") == b"no":
            self._unsure_since = now
        else:
            self._unsure_since = float(shelf.get("unsure_since") or b"-inf")
        self.hosts = HostBook(shelf, self.desk, now, self._unsure_since)
        for key, domain, queue, count in shelf.shelved_counts():
            self.desk.shelve(self.hosts.get(key, domain), queue, count)

    @property
    def waiting(self) -> int:
        """How many URLs wait."""
        return self.unscored + self.desk.shelved + self.desk.dealt

    # -- opening and closing ---------------------------------------------------------------------

    def begin(self) -> None:
        """Note, before the first request, that the crawl goes on; until then nothing changes."""
        self.shelf.put("starts", _text(self._starts))
        self.shelf.put("queues", _text(self.rules.desk.queues))
        self.shelf.put("unsure_since", _text(self._unsure_since))
        self.shelf.put("closed", b"no")
        self.shelf.commit()

    def save(self) -> None:
        """Make everything so far durable."""
        self.hosts.save()
        self.shelf.commit()

    # -- moving URLs -----------------------------------------------------------------------------

    def grow(self, growth: Growth) -> None:
        """Count what adding links has changed."""
        self.unscored += growth.new
        self.outcomes.subtract(growth.forgotten)
        if self.rules.desk.strict:
            for url_id in growth.overtaking:
                self._score_again(url_id)

    def _score_again(self, url_id: int) -> None:
        """Take a URL out of its priority queue: with its new depth it may go before others."""
        key, _, queue = self.shelf.filed(url_id)
        host = self.desk.hosts.find(key)
        assert host is not None
        self.shelf.move(url_id, Place.UNSCORED)
        self.desk.unshelve(host, queue)
        self.desk.hosts.note_idle(host)
        self.unscored += 1

    def score(self, candidate: Candidate, score: float) -> None:
        """Move a URL from the URL queue into a priority queue, if it is still there."""
        host = self.hosts.get(candidate.host, candidate.domain)
        item, queue = (score, candidate.id), self._table.queue_of(score)
        place = self._place_for(host, item)
        if self.shelf.set_score(candidate.id, score, queue, place):
            self.unscored -= 1
            self._count(host, item, queue, place)

    def shelve(self, host: Host, items: Iterable[Item]) -> None:
        """Put dealt URLs that the desk has called back into their priority queues again."""
        for item in items:
            self.shelf.move(item[1], Place.SHELVED)
            self.desk.shelve(host, self._table.queue_of(item[0]))

    def wait_again(self, url_id: int, host: Host) -> None:
        """Let a URL wait again as if it had not been in work."""
        self.drop_claim(url_id)
        _, score, queue = self.shelf.filed(url_id)
        place = self._place_for(host, (score, url_id))
        self.shelf.move(url_id, place)
        self._count(host, (score, url_id), queue, place)

    def wait_for_retry(self, url_id: int, host: Host, attempt: Attempt) -> None:
        """Let a URL wait for another attempt, behind all others of its host.

        Those then tell whether the host or only the page is to blame.
        """
        self.drop_claim(url_id)
        queue = self._table.queue_of(MAX_SCORE)
        self.shelf.retry(url_id, attempt, MAX_SCORE, queue)
        self.desk.shelve(host, queue)

    def _place_for(self, host: Host, item: Item) -> Place:
        return Place.DEALT if self.desk.goes_before(host, item) else Place.SHELVED

    def _count(self, host: Host, item: Item, queue: int, place: Place) -> None:
        """Tell the desk where a URL stands that was put there on the shelf."""
        if place is Place.SHELVED:
            self.desk.shelve(host, queue)
        elif (ousted := self.desk.deal_at_once(host, item)) is not None:
            self.shelve(host, [ousted])

    # -- settling --------------------------------------------------------------------------------

    def finish(self, settlement: Settlement, host: Host, attempt: Attempt) -> Growth:
        """Write down how a URL has ended, with its page and its links."""
        task, page = settlement.task, settlement.page
        known = self.shelf.by_id(task.url_id)  # it may have come nearer since it was leased
        depth = known.depth
        if settlement.redirect:
            step = Found(depth, known.hops + 1, task.url_id)
        else:
            step = Found(depth + 1, 0, task.url_id)
        growth = self.links.add(settlement.links, step, attempt.at)
        ending = Ending(
            attempt=attempt,
            page_id=page.page_id if page else None,
            twin_of=self.claims.twin_of(task.url_id) if attempt.outcome in REPEATED else None,
            targets=growth.ids,
            redirect=settlement.redirect,
        )
        self.shelf.finish(task.url_id, ending)
        self.outcomes[attempt.outcome] += 1
        if page is not None:
            claim = self.claims.held(task.url_id)
            assert claim is not None
            assert page.page_id == claim.number, "a page has claimed its number"
            self.claims.keep(task.url_id)
            self.shelf.add_page(task.url_id, page, task.depth, claim.sketch)
            self.hosts.count_page(host)
            if depth < task.depth:  # a shorter path turned up while it was in work
                growth.nearer[page.page_id] = depth
        elif ending.twin_of is not None:
            self.claims.end_refusal(task.url_id)
        else:
            self.drop_claim(task.url_id)
        self.grow(growth)
        self.credit.share(settlement.links, host.domain.name)
        return growth

    def drop_claim(self, url_id: int) -> None:
        """Free the number of a page that is not kept; visit its duplicates again."""
        if (claim := self.claims.held(url_id)) is not None:
            self.twins.drop(claim)
        for duplicate in self.claims.drop(url_id):
            self.outcomes[self.shelf.reopen(duplicate)] -= 1
            self.unscored += 1


def _text(value: float) -> bytes:
    return str(value).encode()
