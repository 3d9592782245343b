"""How long a host is left alone, in every embedded store, also across restarts."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
import xxhash

from gossamer.frontier.desk import DeskRules
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Link, Pace, Settlement, Task
from gossamer.stores.embedded import EmbeddedStore, StoreRules
from gossamer.stores.memory import MemoryShelf
from gossamer.stores.shelf import Shelf
from gossamer.stores.sqlite import SqliteShelf

Result = TypeVar("Result")
START = 1_000_000.0
RULES = StoreRules(desk=DeskRules(delay_s=10.0))


def now_or_never(step: Coroutine[Any, Any, Result]) -> Result:
    """Run a method of an embedded store: it never waits."""
    try:
        step.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("an embedded store waited")


@pytest.fixture(params=["memory", "sqlite"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Shelf]:
    """Open the one shelf of the test, again and again."""
    kept = MemoryShelf()
    path = tmp_path / "crawl.sqlite"
    return lambda: kept if request.param == "memory" else SqliteShelf(path)


def opened(shelf: Shelf, now: float) -> EmbeddedStore:
    store = EmbeddedStore(shelf, RULES, now)
    now_or_never(store.join(0, now))
    return store


def planted(shelf: Shelf) -> EmbeddedStore:
    store = opened(shelf, START)
    urls = [Url(f"http://a.test/{number}") for number in range(4)]
    links = [
        Link(url, xxhash.xxh3_128_digest(url.encode()), HostKey("a.test"), "a.test") for url in urls
    ]
    now_or_never(store.plant(links, START))
    return store


def leased(store: EmbeddedStore, now: float) -> Task | None:
    candidates = now_or_never(store.candidates(10))
    now_or_never(store.prioritise([(one, 50.0) for one in candidates]))
    now_or_never(store.route([range(10)], now))
    tasks = now_or_never(store.lease(0, 5, now)).tasks
    assert len(tasks) <= 1, "one request at a time"
    return tasks[0] if tasks else None


def settled(store: EmbeddedStore, pace: Pace) -> None:
    """Take the next task and settle it at the end of its request."""
    task = leased(store, START)
    assert task is not None
    assert leased(store, START + 1000) is None, "the host is in work"
    settlement = Settlement(task=task, outcome=Outcome.NOT_FOUND, pace=pace)
    assert now_or_never(store.settle(settlement, pace.ended)).accepted


def first_moment(store: EmbeddedStore, *moments: float) -> float:
    """Return the first of the moments at which the host may be asked."""
    return next(moment for moment in moments if leased(store, moment))


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("pace", "rest_s"),
    [
        (Pace(ended=START + 3), 10.0),
        (Pace(ended=START + 3, took_s=2.0), 10.0),
        (Pace(ended=START + 3, took_s=25.0), 25.0),
        (Pace(ended=START + 3, crawl_delay_s=30.0), 30.0),
        (Pace(ended=START + 3, crawl_delay_s=1.0), 10.0),
        (Pace(ended=START + 3, retry_after_s=120.0), 120.0),
        (Pace(ended=START + 3, retry_after_s=10 * 365 * 86400.0), 3600.0),
        (Pace(ended=START + 3, retry_after_s=0.0), 10.0),
    ],
)
def test_the_rest_counts_from_the_end_of_the_request(
    shelf: Callable[[], Shelf], pace: Pace, rest_s: float
) -> None:
    store = planted(shelf())
    settled(store, pace)
    moment = pace.ended + rest_s
    assert first_moment(store, moment - 0.001, moment) == moment


@pytest.mark.req("B3")
def test_a_clean_restart_knows_the_moment(shelf: Callable[[], Shelf]) -> None:
    store = planted(shelf())
    settled(store, Pace(ended=START + 3, retry_after_s=500.0))
    now_or_never(store.close())
    again = opened(shelf(), START + 100)
    assert first_moment(again, START + 502.9, START + 503.0) == START + 503.0
    now_or_never(again.close())
    late = opened(shelf(), START + 9000)
    assert leased(late, START + 9000) is not None, "a rest that is over is not taken again"


@pytest.mark.req("B3")
def test_after_a_crash_a_host_gets_one_full_delay(shelf: Callable[[], Shelf]) -> None:
    store = planted(shelf())
    now_or_never(store.commit())
    settled(store, Pace(ended=START + 3))
    if isinstance(store._shelf, SqliteShelf):
        store._shelf._db.close()  # as a killed process does: without a commit
    again = opened(shelf(), START + 4)
    assert first_moment(again, START + 13.9, START + 14.0) == START + 14.0
