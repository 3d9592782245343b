"""Draws changes that a frontier could make, given what there is."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from tests.contract.rows.row_model import RowModel

from gossamer.model import Cause, HostKey, Outcome, Url
from gossamer.stores.rows import (
    Changes,
    DomainRow,
    HostRow,
    LeaseRow,
    PageRow,
    RelaxingUrl,
    ResultRow,
    SketchRow,
    UrlChange,
    UrlRow,
    pack_links,
)
from gossamer.stores.url_record import Attempt, UrlState

Draw = Callable[[st.SearchStrategy[Any]], Any]
Thing = TypeVar("Thing")

COUNTS = st.integers(0, 3)
MOMENTS = st.sampled_from([0.5, 1.0, 1.5, 2.5, 3.25])
SCORES = st.sampled_from([-1.0, 0.0, 0.1, 1.0, 50.0, 1e300])
DEPTHS = st.integers(0, 4)
DIGESTS = st.binary(min_size=16, max_size=16)
BLOCKS = st.dictionaries(st.just(0), st.binary(max_size=40), max_size=1)
BYTES = st.binary(max_size=20)
STATES = st.sampled_from(
    [UrlState.QUEUED, UrlState.QUEUED, UrlState.UNSCORED, UrlState.DONE, UrlState.TOO_DEEP]
)
MAYBE = st.booleans()


def draw_changes(draw: Draw, model: RowModel) -> Changes:
    """Draw what one commit writes."""
    changes = Changes()
    _draw_hosts(draw, model, changes)
    if model.hosts or changes.hosts:
        _draw_urls(draw, model, changes)
    if model.urls or changes.urls:
        _draw_pages(draw, model, changes)
    for name in _some(draw, ["a", "b", "ä:1"]):
        changes.metadata[name] = draw(st.none() | BYTES)
        changes.domains[name] = DomainRow(name, draw(SCORES), draw(st.none() | DEPTHS), 1.5)
    return changes


def _draw_hosts(draw: Draw, model: RowModel, changes: Changes) -> None:
    first = len(model.hosts) + 1
    for one in range(first, first + min(draw(COUNTS), 3 - len(model.hosts))):
        changes.hosts[one] = HostRow(id=one, key=HostKey(f"http://h{one}"), domain=f"h{one}")
    for one in _some(draw, model.hosts):
        if draw(MAYBE):
            failed_at = draw(st.none() | MOMENTS)
            changes.hosts[one] = msgspec.structs.replace(
                model.hosts[one], urls=draw(COUNTS), delay_s=draw(MOMENTS), failed_at=failed_at
            )
        else:
            changes.host_urls[one] = draw(COUNTS)


def _draw_urls(draw: Draw, model: RowModel, changes: Changes) -> None:
    hosts = sorted({*model.hosts, *changes.hosts})
    first = len(model.urls) + 1
    for one in range(first, first + draw(COUNTS)):
        host = draw(st.sampled_from(hosts))
        row = UrlRow(
            one,
            Url(f"http://h{host}/{one}"),
            one.to_bytes(16, "big"),
            host,
            UrlState.UNSCORED,
            draw(DEPTHS),
            draw(COUNTS),
            draw(st.none() | DEPTHS),
            draw(MOMENTS),
            sitemap_of=draw(st.none() | st.just("d")),
        )
        changes.urls[one] = _settled(draw, row)
    for one in _some(draw, model.urls):
        if draw(MAYBE):
            changes.urls[one] = _settled(draw, msgspec.structs.replace(model.urls[one]))
        else:
            _draw_path(draw, model.urls[one], changes)
    changes.url_blocks = draw(BLOCKS)
    for one, row in changes.urls.items():
        attempts = [_attempt(draw) for _ in range(draw(st.sampled_from([0, 0, 1, 2])))]
        if attempts:
            row.attempts += len(attempts)
            changes.attempts[one] = attempts
    for one in _some(draw, {*model.urls, *changes.urls}):
        changes.links[one] = pack_links(draw(st.lists(st.integers(1, 9), max_size=3)))
    for one in _some(draw, {*model.urls, *changes.urls}):
        relaxing = RelaxingUrl(draw(DEPTHS), draw(COUNTS), one, draw(COUNTS))
        changes.relaxing[one] = draw(st.sampled_from([None, relaxing]))
        lease = LeaseRow(one, 3, 0, draw(MOMENTS), 5, True, False, draw(st.none() | BYTES))
        changes.leases[one] = draw(st.sampled_from([None, lease]))


def _settled(draw: Draw, row: UrlRow) -> UrlRow:
    """Return a row in whatever state."""
    row.state = draw(STATES)
    if row.state == UrlState.QUEUED or draw(MAYBE):
        row.score, row.queue = draw(SCORES), draw(st.integers(0, 2))
    else:
        row.score = row.queue = None
    is_done = row.state == UrlState.DONE
    row.finished_at = draw(MOMENTS) if is_done else None
    row.outcome = Outcome.FETCHED.value if is_done else None
    row.redirect = is_done and draw(MAYBE)
    row.depth, row.page = draw(DEPTHS), row.page or draw(st.none() | COUNTS)
    return row


def _draw_path(draw: Draw, row: UrlRow, changes: Changes) -> None:
    states = [None, UrlState.UNSCORED, UrlState.DONE, UrlState.TOO_DEEP]
    if row.queue is not None:
        states.append(UrlState.QUEUED)
    path = draw(DEPTHS), draw(COUNTS), draw(st.none() | DEPTHS)
    changes.url_changes[row.id] = UrlChange(*path, draw(st.sampled_from(states)))


def _attempt(draw: Draw) -> Attempt:
    return Attempt(
        at=draw(MOMENTS),
        outcome=draw(st.sampled_from([*Outcome])),
        cause=draw(st.none() | st.sampled_from([*Cause])),
        detail=draw(st.text(max_size=5)),
        status=draw(st.none() | st.just(503)),
    )


def _draw_pages(draw: Draw, model: RowModel, changes: Changes) -> None:
    urls = sorted({*model.urls, *changes.urls})
    first = len(model.pages) + 1
    new = [*range(first, first + draw(COUNTS))]
    for number in [*new, *_some(draw, model.pages)]:
        url, at = draw(st.sampled_from(urls)), draw(MOMENTS)
        page = PageRow(number, url, 1, draw(DIGESTS), draw(BYTES), at, draw(DEPTHS))
        changes.pages[number] = page
        if draw(MAYBE):
            changes.contents[number] = (at, draw(BYTES))
        if draw(MAYBE):
            own = draw(st.none() | BYTES)
            changes.sketches[number] = SketchRow(number, at, draw(BYTES), draw(BYTES), own)
    changes.page_blocks = draw(BLOCKS)
    changes.dropped.update(_some(draw, {*model.pages, *changes.pages}))
    for number in _some(draw, {*model.pages, *changes.pages}):
        changes.reported[number] = draw(DEPTHS)
    _draw_results(draw, model, changes, urls)


def _draw_results(draw: Draw, model: RowModel, changes: Changes, urls: list[int]) -> None:
    first = len(model.results) + 1
    for number in range(first, first + draw(COUNTS)):
        url = draw(st.sampled_from(urls))
        contents = draw(st.none() | BYTES), draw(st.none() | BYTES)
        changes.results.append(
            ResultRow(number, url, draw(st.none() | COUNTS), draw(MOMENTS), *contents)
        )
    if draw(MAYBE):
        changes.rows_dropped = draw(st.integers(0, first + len(changes.results)))
    if draw(MAYBE):
        changes.rows_expired = draw(MOMENTS)


def _some(draw: Draw, things: Iterable[Thing]) -> list[Thing]:
    every = sorted(things)  # type: ignore[type-var]
    chosen: list[Thing] = (
        draw(st.lists(st.sampled_from(every), unique=True, max_size=3)) if every else []
    )
    return chosen
