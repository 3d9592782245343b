"""A crawl is over when nothing waits and nothing is in progress."""

import pytest
from tests.contract.driver import OpenStore

pytestmark = pytest.mark.req("B1")


def test_it_is_over_when_nothing_waits_and_nothing_is_in_progress(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/")
    assert driver.ended_by() is None
    driver.score()
    assert driver.ended_by() is None
    driver.route()
    assert driver.ended_by() is None
    (task,) = driver.lease()
    assert driver.ended_by() is None
    driver.keep(task, ["a/1"])
    assert driver.ended_by() is None
    (task,) = driver.take()
    driver.keep(task, ["a/", "a/1"])
    assert driver.ended_by() == "complete"
    assert driver.snapshot().ended_by == "complete"


def test_a_host_that_rests_does_not_end_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1000.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task)
    assert driver.take() == []
    assert driver.ended_by() is None


def test_a_restart_knows_that_it_is_over(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/")
    (task,) = driver.take()
    driver.keep(task)
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        assert driver.ended_by() == "complete"
        assert driver.add_seeds("a/") == 0
    driver.add_seeds("b/")
    assert driver.ended_by() is None


def test_nobody_need_ask_before_the_moment_comes(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1", "a/2", "b/1")
    assert driver.wake_at() is None
    for task in driver.take():
        driver.miss(task)
    assert driver.take() == []
    assert driver.wake_at() == driver.now + 5.0


def test_counters_and_hosts_tell_how_it_stands(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1", "a/2", "b/1", "c/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.now += 2
    driver.keep(tasks["a/1"], size=10)
    snapshot = driver.snapshot()
    assert (snapshot.waiting, snapshot.in_progress, snapshot.finished) == (1, 2, 1)
    assert (snapshot.pages, snapshot.bytes, snapshot.hosts) == (1, 10, 3)
    assert snapshot.elapsed_s == 2.0
    views = {view.host: view for view in driver.hosts(5)}
    assert views["b.test"].in_progress == 1
    assert (views["a.test"].waiting, views["a.test"].pages) == (1, 1)
    assert views["a.test"].next_in_s == 5.0
    assert len(driver.hosts(1)) <= 2
