"""Pages and bytes in progress plus finished never exceed the budgets."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.model import Outcome
from gossamer.stores.contract import HostFeedback

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


def test_a_lease_reserves_the_bytes_of_the_largest_page(open_store: OpenStore) -> None:
    driver = open_store(max_bytes=1000, max_page_bytes=400)
    add_many_seeds(driver)
    first, second = driver.take()
    driver.keep(first, size=100)
    (third,) = driver.take()
    driver.keep(second, size=400)
    assert driver.take() == []
    driver.keep(third, size=50)
    assert driver.snapshot().bytes == 550
    (last,) = driver.take()
    driver.keep(last, size=200)
    assert driver.ended_by() == "max-bytes"


def test_what_is_downloaded_and_not_kept_counts(open_store: OpenStore) -> None:
    driver = open_store(max_bytes=1000, max_page_bytes=400, delay_s=0.0)
    add_many_seeds(driver)
    first, second = driver.take()
    driver.settle(first, Outcome.NOT_HTML, size=300, feedback=HostFeedback(ended=driver.now))
    driver.settle(
        second, Outcome.TIMED_OUT, size=350, retry=True, feedback=HostFeedback(ended=driver.now)
    )
    assert driver.snapshot().bytes == 650
    assert driver.snapshot().pages == 0
    assert driver.ended_by() == "max-bytes"


def test_a_budget_smaller_than_a_page_is_one_page(open_store: OpenStore) -> None:
    driver = open_store(max_bytes=1000, max_page_bytes=500_000)
    add_many_seeds(driver)
    (task,) = driver.take()
    assert driver.take() == []
    driver.miss(task)
    (task,) = driver.take()
    driver.keep(task, size=1000)
    assert driver.ended_by() == "max-bytes"
    assert driver.snapshot().bytes == 1000


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
    driver = open_store(max_pages=3, max_bytes=1000, max_page_bytes=300, delay_s=0.0)
    add_many_seeds(driver)
    first, second, _ = driver.take()
    driver.keep(first, size=120)
    driver.settle(second, Outcome.NOT_HTML, size=80, feedback=HostFeedback(ended=driver.now))
    driver.commit()
    (driver.reopen if clean else driver.crash)()
    snapshot = driver.snapshot()
    assert (snapshot.pages, snapshot.bytes) == (1, 200)
    tasks = driver.take()
    assert len(tasks) == 2, "two pages are left, and none is reserved by the dead"
    for task in tasks:
        driver.keep(task, size=300)
    assert driver.ended_by() == "max-pages"
    assert driver.snapshot().bytes == 800


def test_a_crawl_that_is_complete_says_so_even_if_a_budget_is_used_up(
    open_store: OpenStore,
) -> None:
    driver = open_store(max_pages=1)
    driver.add_seeds("a/")
    (task,) = driver.take()
    driver.keep(task)
    assert driver.ended_by() == "complete"
