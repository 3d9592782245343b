"""Settling a task: what it has used, how its URL has ended, and the links of its page.

A page may have ten thousand links. Its settlement adds the first of them, and the others are added
in slices, between which other steps of the store have their turn. They all belong to the same
transaction, so after a crash there are all of them or none.
"""

from gossamer.frontier.contract import Settlement
from gossamer.frontier.leases import Lease
from gossamer.frontier.link_graph import LINKS_AT_ONCE, Growth
from gossamer.frontier.records import UrlPath, attempt_of
from gossamer.frontier.rules import REPEATED
from gossamer.frontier.state import FrontierState


def settle(state: FrontierState, lease: Lease, settlement: Settlement, now: float) -> Growth:
    """Record the result of a task; of many links only the first are added yet."""
    task, feedback, host = settlement.task, settlement.feedback, lease.host
    next_start = (
        host.next_start if feedback is None else state.hosts.next_start_after(host, feedback)
    )
    state.end_lease(lease, next_start, now)
    has_page = settlement.page is not None
    state.hosts.count_received(host, min(settlement.received, lease.allowed))
    state.budget.use(lease.allowed, settlement.received, page=has_page)
    state.memory.figures.bytes += settlement.size
    state.memory.figures.visits += has_page
    attempt = attempt_of(settlement, now)
    is_repeated = settlement.outcome in REPEATED
    if settlement.retry or (is_repeated and state.claims.is_void(task.url_id)):
        state.wait_for_retry(task.url_id, host, attempt)
        return Growth()
    return state.finish(settlement, host, attempt)


def add_slice(state: FrontierState, whole: Growth) -> None:
    """Add some more links of a page that was settled since the last commit."""
    left = whole.left
    assert left is not None
    links, left.links = left.links[:LINKS_AT_ONCE], left.links[LINKS_AT_ONCE:]
    # It may have come nearer since the first of its links were added.
    depth = state.memory.urls.depths[left.url_id]
    growth = state.links.add(links, UrlPath(depth + 1, 0, left.url_id), left.now)
    state.memory.urls.add_links(left.url_id, growth.ids)
    state.grow(growth)
    state.credit.share(links, left.domain, left.shared_among)
    whole.new_keys += growth.new_keys
    if not left.links:
        whole.left = None
        state.adding -= 1
