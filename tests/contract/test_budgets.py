"""Pages and bytes in progress plus finished never exceed the budgets."""

import msgspec
import pytest
from tests.contract.driver import WAITING, OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, ReturnedTask
from gossamer.model import Outcome

pytestmark = pytest.mark.req("D14")


def add_many_seeds(driver: StoreDriver) -> None:
    driver.add_seeds(*[f"h{number}/" for number in range(30)])


def test_a_lease_reserves_a_page(open_store: OpenStore) -> None:
    driver = open_store(workers=2, max_pages=3)
    add_many_seeds(driver)
    driver.score()
    driver.route()
    tasks = driver.lease(0) + driver.lease(1)
    assert len(tasks) == 3
    driver.keep(tasks[0])
    assert driver.lease(0) + driver.lease(1) == []
    driver.miss(tasks[1])
    (task,) = driver.lease(0) + driver.lease(1)
    driver.keep(task)
    assert driver.ended_by() is None, "one is still in progress"
    driver.keep(tasks[2])
    assert driver.ended_by() == "max-pages"
    assert driver.snapshot().pages == 3
    assert driver.snapshot().waiting == 26


@pytest.mark.parametrize("end", ["missing", "retry", "released", "reaped", "duplicate"])
def test_what_was_not_used_is_returned(open_store: OpenStore, end: str) -> None:
    driver = open_store(max_pages=1, lease_s=60.0, delay_s=0.0)
    add_many_seeds(driver)
    (task,) = driver.take()
    match end:
        case "missing":
            driver.miss(task)
        case "retry":
            driver.retry(task)
        case "released":
            driver.release(task)
        case "reaped":
            driver.now += 60
            driver.reap()
        case _:
            driver.settle(task, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    assert driver.ended_by() is None
    assert len(driver.take()) == 1


def test_a_lease_reserves_what_a_task_may_receive(open_store: OpenStore) -> None:
    driver = open_store(max_bytes=1000, max_task_bytes=400)
    add_many_seeds(driver)
    first, second = driver.take()
    assert [(task.max_bytes, task.is_last_of_budget) for task in (first, second)] == [
        (400, False)
    ] * 2
    driver.keep(first, received=100)
    (third,) = driver.take()
    driver.keep(second, received=400)
    assert driver.take() == [], "100 bytes are left, and the third may return 400"
    driver.keep(third, received=50)
    assert driver.snapshot().received == 550
    (fourth,) = driver.take()
    assert (fourth.max_bytes, fourth.is_last_of_budget) == (400, False)
    driver.keep(fourth, received=200)
    (last,) = driver.take()
    assert (last.max_bytes, last.is_last_of_budget) == (250, True), "all that is left"
    assert driver.take() == []
    driver.keep(last, received=250)
    assert driver.ended_by() == "max-bytes"
    assert driver.snapshot().received == 1000


def test_whatever_is_received_counts(open_store: OpenStore) -> None:
    driver = open_store(max_bytes=1000, max_task_bytes=400, delay_s=0.0)
    add_many_seeds(driver)
    told = HostFeedback(ended=driver.now)
    first, second = driver.take()
    driver.settle(first, Outcome.UNWANTED_TYPE, received=300, feedback=told)
    driver.settle(second, Outcome.TIMED_OUT, received=350, retry=True, feedback=told)
    (third,) = driver.take()
    driver.release(third, told, ReturnedTask(250))
    (fourth,) = driver.take()
    assert driver.ended_by() is None
    driver.settle(fourth, Outcome.NOT_FOUND, received=100, feedback=told)
    assert (driver.snapshot().received, driver.snapshot().pages) == (1000, 0)
    assert driver.ended_by() == "max-bytes"
    assert driver.take() == []


def test_a_budget_smaller_than_a_task_is_used_by_one_at_a_time(open_store: OpenStore) -> None:
    driver = open_store(workers=2, max_bytes=1000, max_task_bytes=500_000)
    add_many_seeds(driver)
    (task,) = driver.take()
    assert driver.take(0) + driver.take(1) == []
    assert driver.wake_at(1) == driver.now, "it only waits for the other one"
    driver.miss(task)
    (task,) = driver.take()
    driver.keep(task, received=990)
    (task,) = driver.take()
    assert (task.max_bytes, task.is_last_of_budget) == (10, True)
    driver.keep(task, received=10)
    assert driver.ended_by() == "max-bytes"
    assert driver.snapshot().received == 1000


@pytest.mark.parametrize("clean", [True, False])
def test_when_the_rest_is_too_little_the_budget_is_used_up(
    open_store: OpenStore, clean: bool
) -> None:
    driver = open_store(max_bytes=1000, max_task_bytes=600, delay_s=0.0)
    add_many_seeds(driver)
    (task,) = driver.take()
    driver.keep(task, received=600)
    (last,) = driver.take()
    assert driver.release(last, HostFeedback(ended=driver.now), ReturnedTask(30, short=True))
    assert driver.ended_by() == "max-bytes", "and nobody tries again and again"
    assert driver.take() == []
    assert (driver.snapshot().received, driver.snapshot().waiting) == (630, 29)
    driver.commit()
    (driver.reopen if clean else driver.crash)()
    assert driver.ended_by() == "max-bytes"
    driver.rules = msgspec.structs.replace(driver.rules, max_bytes=2000)
    driver.reopen()
    assert driver.ended_by() is None, "with a higher limit it goes on"
    assert driver.state(driver.name(last)) in WAITING, "nothing was lost"
    driver.now += 1
    assert [(task.max_bytes, task.attempt) for task in driver.take()] == [(600, 1), (600, 1)]


@pytest.mark.parametrize(
    ("rule", "ended_by"), [("max_pages", "max-pages"), ("max_bytes", "max-bytes")]
)
def test_no_budget_is_no_crawl(open_store: OpenStore, rule: str, ended_by: str) -> None:
    driver = open_store(**{rule: 0})
    add_many_seeds(driver)
    assert driver.take() == []
    assert driver.ended_by() == ended_by


def test_who_waits_for_a_reservation_asks_again_at_once(open_store: OpenStore) -> None:
    """Its hosts are ready: not they, others say when."""
    driver = open_store(max_pages=1)
    add_many_seeds(driver)
    (task,) = driver.take()
    assert driver.wake_at() == driver.now
    driver.keep(task)
    assert driver.ended_by() == "max-pages"


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_goes_on_counting(open_store: OpenStore, clean: bool) -> None:
    driver = open_store(max_pages=3, max_bytes=1000, max_task_bytes=300, delay_s=0.0)
    add_many_seeds(driver)
    first, second, _ = driver.take()
    driver.keep(first, size=120, received=60)
    told = HostFeedback(ended=driver.now)
    driver.settle(second, Outcome.UNWANTED_TYPE, size=80, received=90, feedback=told)
    driver.commit()
    (driver.reopen if clean else driver.crash)()
    snapshot = driver.snapshot()
    assert (snapshot.pages, snapshot.bytes, snapshot.received) == (1, 200, 150)
    tasks = driver.take()
    assert len(tasks) == 2, "two pages are left, and none is reserved by the dead"
    for task in tasks:
        driver.keep(task, size=300, received=300)
    assert driver.ended_by() == "max-pages"
    assert (driver.snapshot().bytes, driver.snapshot().received) == (800, 750)


def test_a_crawl_that_is_complete_says_so_even_if_a_budget_is_used_up(
    open_store: OpenStore,
) -> None:
    driver = open_store(max_pages=1)
    driver.add_seeds("a/")
    (task,) = driver.take()
    driver.keep(task)
    assert driver.ended_by() == "complete"
