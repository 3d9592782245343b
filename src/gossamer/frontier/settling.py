"""How a task ends: it is settled, its URL waits again, or the URL is given up.

A page may have ten thousand links. Its settlement adds the first of them, and the others are added
in slices, between which other steps of the frontier have their turn. They all belong to the same
commit, so after a crash there are all of them or none.
"""

import math

from gossamer.frontier.contract import (
    MAX_DEATHS,
    POISON_WORDS,
    HostFeedback,
    KeptPage,
    ReturnedTask,
    Settlement,
    Task,
)
from gossamer.frontier.depths import LINKS_AT_ONCE, LinkChanges, RemainingLinks
from gossamer.frontier.hosts import Host
from gossamer.frontier.rules import REPEATED
from gossamer.frontier.scheduler import Lease
from gossamer.frontier.state import FrontierState
from gossamer.frontier.url_memory import Repetition, UrlPath
from gossamer.model import Outcome
from gossamer.stores.counting import Reason
from gossamer.stores.url_record import Attempt


def settle(
    state: FrontierState, lease: Lease, settlement: Settlement, now: float
) -> LinkChanges | None:
    """Record the result of a task; of many links only the first are added yet.

    None: the body of its page got lost, and its URL waits again.
    """
    task, feedback, host, page = settlement.task, settlement.feedback, lease.host, settlement.page
    if page is not None and state.memory.rows.has_lost(page.content):
        take_back(state, lease, feedback, now, ReturnedTask(settlement.received))
        return None
    next_start = (
        host.next_start if feedback is None else state.hosts.next_start_after(host, feedback)
    )
    state.end_lease(lease, next_start, now)
    has_page = page is not None
    state.hosts.count_received(host, min(settlement.received, lease.row.allowed))
    state.budget.use(lease.row.allowed, settlement.received, page=has_page)
    state.memory.counters.bytes += settlement.size
    state.memory.counters.visits += has_page
    attempt = Attempt(
        at=now,
        outcome=settlement.outcome,
        cause=settlement.cause,
        detail=settlement.detail,
        status=settlement.status,
    )
    is_repeated = settlement.outcome in REPEATED
    if settlement.retry or (is_repeated and state.claims.is_void(task.url_id)):
        state.wait_for_retry(task.url_id, host, attempt)
        return LinkChanges()
    return _finish(state, settlement, host, attempt)


def _finish(
    state: FrontierState, settlement: Settlement, host: Host, attempt: Attempt
) -> LinkChanges:
    """Record how a URL has ended, with its page and its links."""
    task, page = settlement.task, settlement.page
    memory, url_id = state.memory, task.url_id
    depth = memory.urls.depths[url_id]  # it may have decreased since the URL was leased
    if settlement.redirect:
        path = UrlPath(depth, memory.urls.hops[url_id] + 1, url_id)
    else:
        path = UrlPath(depth + 1, 0, url_id)
    links = settlement.links[:LINKS_AT_ONCE]
    changes = state.links.add(links, path, attempt.at, again=settlement.again)
    is_repeated = attempt.outcome in REPEATED
    duplicate_of = state.claims.duplicate_of(url_id) if is_repeated else None
    page_id = page.page_id if page else None
    repeats = Repetition(duplicate_of, settlement.similarity, settlement.own_similarity)
    memory.urls.finish(url_id, attempt, changes.ids, page_id, repeats, redirect=settlement.redirect)
    state.outcomes[Reason.of(attempt.outcome, attempt.cause, attempt.status)] += 1
    records, row = settlement.records, settlement.row
    if page is not None or records is not None or row is not None:
        memory.pages.add_result(url_id, page_id, attempt.at, records, row)
    if page is not None:
        _keep(state, page, task, host)
        if host.limits.max_pages is not None:  # fewer requests at once may be allowed now
            recalled = state.scheduler.release_slots(host, host.next_start, attempt.at, slots=0)
            state.enqueue(host, recalled)
    elif duplicate_of is not None:
        state.claims.end_refusal(url_id)
    else:
        state.drop_claim(url_id)
    state.follow_up(changes)
    domain, among = host.domain.name, None
    if rest := settlement.links[LINKS_AT_ONCE:]:
        among = sum(link.domain != domain for link in settlement.links)
        changes.remaining = RemainingLinks(url_id, rest, domain, among, attempt.at)
        state.adding += 1
    memory.hosts.share_credit(links, domain, among)
    return changes


def _keep(state: FrontierState, page: KeptPage, task: Task, host: Host) -> None:
    """Store a new page, or a new version of one that is visited again."""
    claim, pages = state.claims.fulfil(task.url_id), state.memory.pages
    assert claim is not None
    assert page.page_id == claim.number, "a page has claimed its number"
    if claim.again:
        sketches = pages.sketches([claim.number], -math.inf)
        bands = sketches[claim.number].bands if sketches else b""
        state.duplicates.replace(claim.number, bands, claim.sketch)
        pages.replace(task.url_id, page, task.depth, claim.sketch)
    else:
        pages.add(task.url_id, page, task.depth, claim.sketch, claim.own)
        state.hosts.count_page(host)


def add_slice(state: FrontierState, whole: LinkChanges) -> None:
    """Add some more links of a page that was settled since the last commit."""
    remaining = whole.remaining
    assert remaining is not None
    links, remaining.links = remaining.links[:LINKS_AT_ONCE], remaining.links[LINKS_AT_ONCE:]
    # Its depth may have decreased since the first of its links were added.
    depth = state.memory.urls.depths[remaining.url_id]
    changes = state.links.add(links, UrlPath(depth + 1, 0, remaining.url_id), remaining.now)
    state.memory.urls.add_links(remaining.url_id, changes.ids)
    state.follow_up(changes)
    state.memory.hosts.share_credit(links, remaining.domain, remaining.shared_among)
    whole.new_keys += changes.new_keys
    if not remaining.links:
        whole.remaining = None
        state.adding -= 1


def take_back(
    state: FrontierState,
    lease: Lease,
    feedback: HostFeedback | None,
    now: float,
    returned: ReturnedTask | None = None,
    *,
    died: bool = False,
) -> None:
    """End a lease without a result, and let its URL wait again.

    If it has crashed its worker, the URL may be given up instead.
    """
    host, returned = lease.host, returned or ReturnedTask()
    if feedback is None:
        next_start = state.hosts.next_start_unknown(host, now)
    else:
        next_start = state.hosts.next_start_after(host, feedback)
    state.end_lease(lease, next_start, now)
    state.hosts.count_received(host, min(returned.received, lease.row.allowed))
    state.budget.use(lease.row.allowed, returned.received, short=returned.short)
    if died:
        row = state.memory.urls.change(lease.row.url)
        row.deaths += 1
        if row.deaths >= MAX_DEATHS:
            _give_up(state, lease.row.url, now)
            return
    state.wait_again(lease.row.url, host)


def _give_up(state: FrontierState, url_id: int, now: float) -> None:
    """End a URL that has crashed several workers: it is not tried again."""
    state.drop_claim(url_id)
    urls = state.memory.urls
    # The links of an earlier visit are forgotten: a shorter path is followed over them first.
    changes = state.links.add((), UrlPath(urls.depths[url_id] + 1, 0, url_id), now)
    attempt = Attempt(at=now, outcome=Outcome.GAVE_UP, cause=None, detail=POISON_WORDS, status=None)
    urls.finish(url_id, attempt, (), None, Repetition(), redirect=False)
    state.outcomes[Reason(Outcome.GAVE_UP)] += 1
    state.follow_up(changes)
