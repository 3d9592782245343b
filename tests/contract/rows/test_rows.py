"""Whatever is written is there, in any order of changes, also when nothing is left in memory."""

from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.contract.rows.draw_changes import draw_changes
from tests.contract.rows.row_model import RowModel
from tests.contract.rows.setups import RowsSetup

from gossamer.model import HostKey, Url
from gossamer.stores.rows import (
    Changes,
    HostRow,
    ResultRow,
    UrlChange,
    UrlRow,
    pack_links,
    unpack_links,
)
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B1")

MakeSetup = Callable[[], RowsSetup]


def spoil(changes: Changes) -> None:
    """Change rows as their owner does who goes on with them."""
    for row in changes.urls.values():
        row.depth, row.state, row.score, row.queue = 77, UrlState.QUEUED, 77.0, 1
    for host in changes.hosts.values():
        host.urls = 77


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_what_is_written_is_read_by_whoever_opens_the_crawl(
    make_setup: MakeSetup, data: st.DataObject
) -> None:
    setup, model = make_setup(), RowModel()
    rows = setup.open()
    for _ in range(data.draw(st.integers(1, 5))):
        changes = draw_changes(data.draw, model)
        model.check_loaded(rows)
        model.apply(changes)
        make_durable = rows.write(changes)
        spoil(changes)
        if setup.sees_the_uncommitted:
            model.check_read(rows)
        if make_durable is not None:
            make_durable()
        model.check_read(rows)
        with closing(setup.open_to_read()) as reads:
            model.check_loaded(reads)
            model.check_read(reads)
        rows = setup.open()
        model.check_loaded(rows)
        model.check_read(rows)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_many_commits_without_opening_again(make_setup: MakeSetup, data: st.DataObject) -> None:
    setup, model = make_setup(), RowModel()
    rows = setup.open()
    for _ in range(data.draw(st.integers(2, 8))):
        changes = draw_changes(data.draw, model)
        model.apply(changes)
        make_durable = rows.write(changes)
        if make_durable is not None:
            make_durable()
    model.check_read(rows)
    model.check_loaded(rows)


def queued(url_id: int, score: float, queue: int = 0) -> UrlRow:
    url, key = Url(f"http://h/{url_id}"), url_id.to_bytes(16, "big")
    return UrlRow(url_id, url, key, 1, UrlState.QUEUED, 0, 0, None, 1.0, score=score, queue=queue)


def test_a_queue_of_thousands_with_equal_scores(make_setup: MakeSetup) -> None:
    rows, model = make_setup().open(), RowModel()
    changes = Changes()
    changes.hosts[1] = HostRow(id=1, key=HostKey("http://h"), domain="h")
    for one in range(1, 6001):
        changes.urls[one] = queued(one, 50.0 if one % 100 else float(one % 7))
    model.apply(changes)
    write(rows.write(changes))
    changes = Changes()
    for one in range(3000, 3150):  # these are no more in this queue, but may be where it goes on
        changes.urls[one] = queued(one, 50.0, queue=1)
    model.apply(changes)
    write(rows.write(changes))
    items = model.queue(1, 0)
    for after in [(50.0, 2999), (50.0, 3050), (50.0, 3149), (50.0, 0), (50.0, 9999), items[5]]:
        following = [item for item in items if item > after]
        for limit in (1, 100, 7000):
            assert rows.read_queue(1, 0, after, limit) == following[:limit]
    walked, after = [], (float("-inf"), 0)
    while found := rows.read_queue(1, 0, after, 500):
        walked += found
        after = found[-1]
    assert walked == items


def test_a_url_that_is_queued_without_its_row_leaves_its_queue_again(make_setup: MakeSetup) -> None:
    rows, model = make_setup().open(), RowModel()
    for state, is_row in [
        (UrlState.TOO_DEEP, True),
        (UrlState.QUEUED, False),
        (UrlState.DONE, True),
        (UrlState.QUEUED, True),
        (UrlState.UNSCORED, False),
        (UrlState.QUEUED, False),
    ]:
        changes = Changes()
        changes.hosts[1] = HostRow(id=1, key=HostKey("http://h"), domain="h")
        if is_row:
            changes.urls[1] = queued(1, 1.0)
            changes.urls[1].state = state
        else:
            changes.url_changes[1] = UrlChange(1, 0, None, state)
        model.apply(changes)
        write(rows.write(changes))
        model.check_read(rows)


def test_rows_that_are_dropped_before_they_are_there(make_setup: MakeSetup) -> None:
    setup, model = make_setup(), RowModel()
    rows = setup.open()
    for number, dropped in [(1, 0), (2, 9), (3, 0), (4, 3)]:
        changes = Changes()
        changes.results.append(ResultRow(number, 1, None, 1.0, None, b"row"))
        changes.rows_dropped = dropped
        model.apply(changes)
        write(rows.write(changes))
        assert rows.read_results(0, 9) == model.results


def test_a_batch_of_many_large_rows(make_setup: MakeSetup) -> None:
    setup, model = make_setup(), RowModel()
    rows = setup.open()
    changes = Changes()
    changes.hosts[1] = HostRow(id=1, key=HostKey("http://h"), domain="h")
    for one in range(1, 20_001):
        changes.urls[one] = queued(one, 1.0)
        changes.links[one] = pack_links([one, one + 1])
    for number in range(1, 30):
        changes.contents[number] = (1.0, bytes([number]) * 300_000)
    model.apply(changes)
    write(rows.write(changes))
    rows = setup.open()
    assert list(rows.known_urls()) == model.known_urls()
    assert [*unpack_links(rows.read_links([20_000])[0])] == [20_000, 20_001]
    for number in range(1, 30):
        assert rows.read_content(number) == model.contents[number][1]


def write(make_durable: Callable[[], None] | None) -> None:
    if make_durable is not None:
        make_durable()
