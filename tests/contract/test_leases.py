"""Only the newest lease of a URL counts; the dead give theirs back, the living keep them."""

import pytest
from tests.contract.driver import OpenStore

from gossamer.frontier.contract import HostFeedback
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B1", "D16")


def test_a_late_worker_changes_nothing(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/")
    (late,) = driver.take()
    driver.now += 60
    driver.reap()
    (newest,) = driver.take()
    assert newest.lease > late.lease
    before = list(driver.records().values())
    assert driver.claim(late).lost
    assert not driver.settle(
        late, Outcome.GONE, feedback=HostFeedback(ended=driver.now), size=10
    ).accepted
    assert not driver.retry(late).accepted
    assert not driver.release(late)
    assert driver.renew(late, newest) == [late]
    assert list(driver.records().values()) == before
    assert driver.snapshot().bytes == 0
    assert driver.keep(newest).accepted
    assert not driver.settle(newest, Outcome.GONE).accepted, "a task is settled once"
    assert driver.records()["a/"].outcome is Outcome.FETCHED
    driver.assert_counts_agree()


def test_a_slow_worker_that_lives_keeps_its_lease(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/")
    (task,) = driver.take()
    for _ in range(10):
        driver.now += 59
        assert driver.renew(task) == []
        driver.reap()
        assert driver.state("a/") is UrlState.LEASED
    assert driver.keep(task).accepted


def test_an_unrenewed_lease_comes_back_and_its_host_rests(open_store: OpenStore) -> None:
    """Nobody knows when the dead worker's request has ended: the host gets one full delay."""
    driver = open_store(delay_s=5.0, lease_s=60.0)
    driver.add_seeds("a/")
    driver.take()
    driver.now += 59.9
    assert driver.reap() == 0
    driver.now += 0.1
    assert driver.reap() > 0
    assert driver.state("a/") is not UrlState.LEASED
    driver.now += 4.9
    assert driver.take() == []
    driver.now += 0.1
    (task,) = driver.take()
    assert task.attempt == 1, "nobody has finished an attempt"


def test_renewing_goes_by_each_lease_of_its_own(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/", "b/")
    kept, lost = driver.take()
    driver.now += 40
    driver.renew(kept)
    driver.now += 40
    assert driver.reap() == 1
    assert driver.renew(kept, lost) == [lost]


def test_lease_numbers_grow_across_restarts(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=3)
    driver.add_seeds("a/1", "a/2", "a/3")
    driver.commit()
    numbers = [task.lease for task in driver.take(limit=2)]
    for restart in (driver.crash, driver.reopen, driver.crash):
        restart()
        driver.join(0)
        numbers += [task.lease for task in driver.take(limit=2)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 8


def test_what_was_assigned_to_a_dead_worker_goes_to_another(open_store: OpenStore) -> None:
    driver = open_store(workers=1, delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1", "a/2", "b/1")
    driver.score()
    assert driver.route() == 3
    driver.now += 30
    driver.join(1)
    driver.now += 31
    assert driver.reap() > 0
    assert driver.assigned() == 0
    driver.route()
    assert sorted(driver.name(task) for task in driver.lease(1)) == ["a/1", "b/1"]
    driver.assert_counts_agree()


def test_a_worker_that_says_so_is_alive(open_store: OpenStore) -> None:
    driver = open_store(workers=1, delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1")
    driver.score()
    driver.route()
    for _ in range(5):
        driver.now += 50
        driver.join(0)
        assert driver.reap() == 0
    assert len(driver.lease(0)) == 1


def test_a_worker_thought_dead_may_come_back(open_store: OpenStore) -> None:
    driver = open_store(workers=1, delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1")
    driver.now += 100
    driver.reap()
    assert driver.lease(0) == []
    assert len(driver.take(0)) == 1


def test_a_released_task_is_as_it_was(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=2)
    driver.add_seeds("a/1", "a/2")
    first, second = driver.take()
    assert driver.release(first, HostFeedback(ended=driver.now))
    assert not driver.release(first, HostFeedback(ended=driver.now))
    (again,) = driver.take()
    assert (again.url, again.attempt, again.depth) == (first.url, 1, 0)
    assert again.lease > second.lease
    assert driver.setup.attempts(first.url_id) == []


def test_a_retry_goes_behind_the_others_of_its_host(open_store: OpenStore) -> None:
    """They tell whether the host or only the page is to blame."""
    driver = open_store(delay_s=1.0, strict=True)
    driver.add_seeds("a/1", "a/2", "a/3")
    asked = []
    for _ in range(4):
        (task,) = driver.take()
        asked.append((driver.name(task), task.attempt))
        driver.retry(task) if task.attempt == 1 and len(asked) == 1 else driver.miss(task)
        driver.now += 1
    assert asked == [("a/1", 1), ("a/2", 1), ("a/3", 1), ("a/1", 2)]
