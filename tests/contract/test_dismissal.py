"""What a dead worker had is for others at once, and a URL that crashes workers is given up."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Task
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("D16")


def tasks_of(driver: StoreDriver, worker: int) -> dict[str, Task]:
    return {driver.name(task): task for task in driver.take(worker)}


def test_what_it_had_goes_to_another_at_once_and_its_host_rests(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1", "b/1")
    driver.score()
    driver.route()
    (lost,) = driver.lease(0, 1)
    driver.now += 1
    driver.join(1)
    driver.dismiss(0)
    driver.route()
    (other,) = driver.lease(1)
    assert {lost.host, other.host} == {"a.test", "b.test"}, "what was only assigned is free"
    assert driver.state(driver.name(lost)) is not UrlState.LEASED
    driver.now += 4.9
    driver.route()
    assert driver.lease(1) == [], "nobody knows when the last request ended"
    driver.now += 0.1
    driver.route()
    (again,) = driver.lease(1)
    assert (again.url, again.attempt) == (lost.url, 1), "nobody has finished an attempt"
    assert driver.renew(lost) == [lost]
    assert not driver.miss(lost).accepted
    assert driver.keep(again).accepted
    driver.assert_counts_agree()


@pytest.mark.req("D5", "D6")
def test_its_domains_are_free(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("x.a/1")
    (task,) = driver.take(0)
    driver.miss(task)
    driver.dismiss(0)
    driver.add_seeds("y.a/1")
    assert [*tasks_of(driver, 1)] == ["y.a/1"]


def test_it_leaves_others_alone(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("a/1", "a/2", "b/1", "b/2")
    driver.score()
    driver.route()
    (mine,), (its,) = driver.lease(0), driver.lease(1)
    driver.dismiss(1, driver.name(mine))
    assert driver.renew(mine, its) == [its]
    assert [view.number for view in driver.workers()] == [0]
    assert driver.keep(mine).accepted
    assert driver.ended_by() is None


def test_a_repeated_dismissal_changes_nothing(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1", "a/2")
    for _ in range(2):
        assert "a/1" in tasks_of(driver, 0)
        for _ in range(3):
            driver.dismiss(0, "a/1")
        before = list(driver.records().values())
        driver.dismiss(0, "a/1")
        driver.dismiss(7, "a/1")
        assert list(driver.records().values()) == before
        assert driver.workers() == []
    assert driver.state("a/1") is UrlState.QUEUED, "two deaths, however often they were told"
    driver.assert_counts_agree()


def test_a_url_that_crashed_three_workers_is_given_up(open_store: OpenStore) -> None:
    """Those that were in progress beside it never are."""
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1", "b/1", "c/1")
    for worker in range(3):
        assert tasks_of(driver, worker).keys() == {"a/1", "b/1", "c/1"}
        driver.dismiss(worker, "b/1")
    record = driver.records()["b/1"]
    assert (record.state, record.outcome) == (UrlState.DONE, Outcome.GAVE_UP)
    assert (record.detail, record.attempts) == ("it crashed three workers", 1)
    (attempt,) = driver.setup.attempts(record.id)
    assert (attempt.at, attempt.outcome) == (driver.now, Outcome.GAVE_UP)
    assert driver.snapshot().outcomes == {"gave_up": 1}
    for worker in range(3, 8):
        assert tasks_of(driver, worker).keys() == {"a/1", "c/1"}
        driver.dismiss(worker)
    for task in driver.take(9):
        driver.keep(task)
    assert driver.ended_by() == "complete"
    driver.assert_counts_agree()


def test_deaths_are_remembered_across_restarts(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/1")
    for restart in (driver.crash, driver.reopen):
        assert "a/1" in tasks_of(driver, 0)
        driver.dismiss(0, "a/1")
        driver.commit()
        restart()
    assert "a/1" in tasks_of(driver, 0)
    driver.dismiss(0, "a/1")
    assert driver.records()["a/1"].outcome is Outcome.GAVE_UP


def test_workers_whom_nobody_dismisses_count_as_well(open_store: OpenStore) -> None:
    """Their machine is gone: they are silent, and their leases end."""
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1")
    for worker in range(3):
        assert "a/1" in tasks_of(driver, worker)
        driver.now += 60
        driver.reap()
    assert driver.records()["a/1"].outcome is Outcome.GAVE_UP


def test_one_that_lives_and_is_late_has_not_died(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1")
    for _ in range(5):
        assert "a/1" in tasks_of(driver, 0)
        driver.now += 60
        driver.join(0)
        driver.reap()
    assert driver.snapshot().outcomes == {}


@pytest.mark.req("D14")
def test_the_budget_is_exact_after_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, max_pages=3, max_bytes=900, max_task_bytes=300)
    driver.add_seeds("a/1", "b/1", "c/1", "d/1")
    for worker in range(3):
        assert len(driver.take(worker)) == 3
        assert driver.take(9) == []
        driver.dismiss(worker, "a/1")
        driver.dismiss(9)
    tasks = driver.take(4)
    assert {driver.name(task) for task in tasks} == {"b/1", "c/1", "d/1"}
    for task in tasks:
        driver.keep(task, received=300)
    assert driver.ended_by() == "complete"
    assert (driver.snapshot().pages, driver.snapshot().received) == (3, 900)


@pytest.mark.req("D14")
def test_what_it_had_received_counts_however_often_it_is_told(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, max_bytes=1000, max_task_bytes=300)
    driver.add_seeds("a/1", "b/1", "c/1")
    assert [task.max_bytes for task in driver.take(0)] == [300, 300, 300]
    for _ in range(2):
        driver.dismiss(0, received=500)
    assert driver.snapshot().received == 500
    assert [task.max_bytes for task in driver.take(1)] == [300]
    driver.dismiss(1, received=10_000)
    assert driver.snapshot().received == 800, "no more than it was allowed to receive"
    (task,) = driver.take(2)
    assert (task.max_bytes, task.is_last_of_budget) == (200, True)


@pytest.mark.req("B2", "B3")
def test_its_claims_are_free_again(open_store: OpenStore) -> None:
    """The number of its page goes to the next, and what was refused for it is visited again."""
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("a/1", "b/1")
    driver.score()
    driver.route()
    (mine,), (its,) = driver.lease(0), driver.lease(1)
    assert driver.claim(its, "the same").page_id == 1
    assert driver.claim(mine, "the same").duplicate_of == 1
    driver.settle(mine, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    driver.dismiss(1, driver.name(its))
    assert driver.state(driver.name(mine)) is UrlState.UNSCORED
    first, _ = driver.take(0)
    assert driver.claim(first, "the same").page_id == 1


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_a_crawl_ends_however_often_its_workers_die(open_store: OpenStore, strict: int) -> None:
    driver = open_store(delay_s=0.0, host_connections=2, strict=strict, worker_queue=5)
    driver.add_seeds(*[f"h{host}/{page}" for host in range(3) for page in range(6)])
    worker = 0
    while driver.ended_by() is None and worker < 200:
        worker += 1
        tasks = driver.take(worker, 4)
        for task in tasks[1:]:
            driver.keep(task)
        driver.dismiss(worker, driver.name(tasks[0]) if worker % 2 else None)
    assert driver.ended_by() == "complete"
    outcomes = driver.snapshot().outcomes
    assert sum(outcomes.values()) == 18
    driver.assert_counts_agree()
