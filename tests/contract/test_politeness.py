"""One request at a time to a host, and a pause after each, whatever happens to us."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback
from gossamer.model import Outcome

pytestmark = pytest.mark.req("B3")

MOMENT = 0.001


def assert_next_at(driver: StoreDriver, moment: float) -> None:
    """The host may be asked then, and not a moment before."""
    driver.now = moment - MOMENT
    assert driver.take() == []
    driver.now = moment
    assert len(driver.take()) == 1


def test_one_request_at_a_time(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0, host_connections=8)
    driver.add_seeds("a/1", "a/2", "b/1", "b/2")
    tasks = driver.take()
    assert sorted(task.host for task in tasks) == ["a.test", "b.test"]
    driver.now += 100
    driver.renew(*tasks)
    assert driver.take() == []


def test_without_a_delay_several_at_a_time(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=3)
    driver.add_seeds(*[f"a/{number}" for number in range(5)])
    first, *_ = driver.take()
    assert driver.snapshot().in_progress == 3
    driver.miss(first)
    assert len(driver.take()) == 1


@pytest.mark.parametrize(
    ("feedback", "pause_after_request_s"),
    [
        ({}, 10.0),
        ({"took_s": 2.0}, 10.0),
        ({"took_s": 25.0}, 25.0),
        ({"crawl_delay_s": 30.0}, 30.0),
        ({"crawl_delay_s": 1.0}, 10.0),
        ({"retry_after_s": 120.0}, 120.0),
        ({"retry_after_s": 3.0, "crawl_delay_s": 40.0}, 40.0),
        ({"retry_after_s": 10 * 365 * 86_400.0}, 3600.0),
        ({"retry_after_s": 0.0}, 10.0),
        ({"failed": True}, 10.0),
    ],
)
@pytest.mark.parametrize("way", ["settled", "retried", "released", "slot released"])
def test_the_rest_counts_from_the_end_of_the_request(
    open_store: OpenStore, feedback: dict[str, float], pause_after_request_s: float, way: str
) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2", "a/3")
    told = HostFeedback(ended=driver.now + 3, **feedback)  # type: ignore[arg-type]  # one is a bool
    if way == "slot released":
        assert driver.acquire_robots_slot("a") is None
    else:
        (task,) = driver.take()
    driver.now += 4
    match way:
        case "settled":
            driver.miss(task, told)
        case "retried":
            driver.retry(task, told)
        case "released":
            driver.release(task, told)
        case _:
            driver.release_robots_slot("a", told)
    assert_next_at(driver, told.ended + pause_after_request_s)


def test_a_host_that_keeps_failing_rests_twice_as_long_each_time(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds(*[f"a/{number}" for number in range(10)])
    moment = driver.now
    for pause_after_request_s in (10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0):
        (task,) = driver.take()
        moment = driver.now
        driver.miss(task, HostFeedback(ended=moment, failed=True))
        driver.now = moment + pause_after_request_s - MOMENT
        assert driver.take() == []
        driver.now = moment + pause_after_request_s
    (task,) = driver.take()
    driver.miss(task)
    assert_next_at(driver, driver.now + 10.0)


def test_what_fails_together_counts_as_one(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=4)
    driver.add_seeds(*[f"a/{number}" for number in range(9)])
    tasks = driver.take()
    driver.now += 2
    for task in tasks:
        driver.miss(task, HostFeedback(ended=driver.now, took_s=2.0, failed=True, answered=False))
    driver.now += 0.5
    assert len(again := driver.take()) == 4
    assert not again[0].host_given_up


@pytest.mark.req("D19")
def test_a_host_that_never_answers_is_given_up(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    driver.add_seeds(*[f"a/{number}" for number in range(9)])
    for _ in range(4):
        (task,) = driver.take()
        assert not task.host_given_up
        driver.miss(task, HostFeedback(ended=driver.now, failed=True, answered=False))
        driver.now += 300
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        (task,) = driver.take()
        assert task.host_given_up
        driver.settle(task, Outcome.GAVE_UP)
        assert len(driver.take()) == 1, "what is not asked needs no pause"
        restart()
        driver.now += 1
        driver.join(0)


def test_a_crawl_delay_stays(open_store: OpenStore) -> None:
    """Also when the host was idle for so long that it was forgotten meanwhile."""
    driver = open_store(delay_s=1.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.miss(task, HostFeedback(ended=driver.now, crawl_delay_s=30.0))
    driver.now += 4000
    driver.join(0)
    driver.reap()
    driver.reap()
    driver.add_seeds("a/2", "a/3")
    (task,) = driver.take()
    driver.miss(task)
    assert_next_at(driver, driver.now + 30.0)


def test_a_crawl_delay_makes_the_places_of_a_host_one(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=4)
    driver.add_seeds(*[f"a/{number}" for number in range(9)])
    tasks = driver.take()
    assert len(tasks) == 4
    driver.miss(tasks[0], HostFeedback(ended=driver.now, crawl_delay_s=5.0))
    driver.now += 100
    for task in tasks[1:]:
        assert driver.take() == []
        driver.miss(task)
    assert_next_at(driver, driver.now + 5.0)
    assert driver.snapshot().in_progress == 1


def test_a_clean_restart_knows_the_moment(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.miss(tasks["a/1"], HostFeedback(ended=driver.now, retry_after_s=500.0))
    driver.miss(tasks["b/1"])
    rested = driver.now + 500
    driver.now += 100
    driver.reopen()
    driver.join(0)
    assert_next_at(driver, rested)


def test_a_rest_that_is_over_is_not_taken_again(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task)
    driver.now += 9000
    driver.reopen()
    driver.join(0)
    assert len(driver.take()) == 1


def test_after_a_crash_a_host_gets_one_full_delay(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    driver.score()
    driver.commit()
    driver.take()
    driver.now += 3
    driver.crash()
    crashed = driver.now
    driver.join(0)
    assert_next_at(driver, crashed + 10.0)


def test_what_was_committed_before_a_crash_counts_if_it_is_longer(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task, HostFeedback(ended=driver.now, retry_after_s=500.0))
    asked = driver.now
    driver.commit()
    driver.now += 3
    driver.crash()
    driver.join(0)
    assert_next_at(driver, asked + 500.0)


def test_a_restart_after_a_crash_does_not_shorten_the_delay(open_store: OpenStore) -> None:
    """Crashed, opened again, ended in order, opened again: the delay counts from the crash."""
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    driver.score()
    driver.commit()
    driver.take()
    driver.crash()
    crashed = driver.now
    driver.join(0)
    driver.now += 2
    driver.reopen()
    driver.join(0)
    assert_next_at(driver, crashed + 10.0)


def test_after_an_end_with_something_in_progress_every_host_gets_a_delay(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    driver.take()
    driver.now += 100
    driver.reopen()
    closed = driver.now
    driver.join(0)
    assert_next_at(driver, closed + 10.0)


def test_a_task_released_without_feedback_costs_one_delay(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.now += 100
    driver.release(task, None)
    assert_next_at(driver, driver.now + 10.0)


def test_a_shorter_delay_may_be_chosen_for_the_next_run(open_store: OpenStore) -> None:
    driver = open_store(delay_s=50.0)
    driver.add_seeds("a/1", "a/2", "a/3")
    (task,) = driver.take()
    driver.miss(task)
    driver.now += 50
    driver.rules = driver.with_delay(2.0)
    driver.reopen()
    driver.join(0)
    (task,) = driver.take()
    driver.miss(task)
    assert_next_at(driver, driver.now + 2.0)


def test_a_clock_that_was_wrong_does_not_stop_a_host_for_ever(open_store: OpenStore) -> None:
    driver = open_store(delay_s=10.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    right = driver.now
    driver.now += 10 * 365 * 86_400
    driver.miss(task)
    driver.now = right
    driver.reopen()
    driver.join(0)
    assert len(driver.take()) == 1


def test_a_slot_without_a_task_is_a_slot(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1")
    assert driver.acquire_robots_slot("a") is None
    assert driver.take() == []
    assert driver.acquire_robots_slot("a") == driver.now + 5.0
    driver.now += 2
    driver.release_robots_slot("a", HostFeedback(ended=driver.now))
    assert driver.acquire_robots_slot("a") == driver.now + 5.0
    driver.now += 5
    assert driver.acquire_robots_slot("a") is None


def test_a_slot_that_a_crash_has_freed_is_no_reason_to_pause_later(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1")
    assert driver.acquire_robots_slot("b") is None
    driver.commit()
    driver.crash()
    driver.join(0)
    driver.now += 5
    driver.reopen()
    driver.join(0)
    assert len(driver.take()) == 1, "the second end was in order"


def test_a_slot_of_a_worker_that_died_comes_back_and_its_host_rests(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0, lease_s=60.0)
    driver.add_seeds("a/1", "a/2")
    assert driver.acquire_robots_slot("a") is None
    driver.now += 59
    driver.reap()
    assert driver.take() == []
    driver.now += 1
    driver.reap()
    assert_next_at(driver, driver.now + 5.0)


def test_who_comes_too_late_with_a_slot_frees_no_other(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0, lease_s=60.0)
    driver.add_seeds("a/1", "a/2")
    assert driver.acquire_robots_slot("a") is None
    driver.now += 60
    driver.reap()
    driver.now += 5
    (task,) = driver.take()
    driver.release_robots_slot("a", HostFeedback(ended=driver.now))
    driver.now += 6
    assert driver.take() == [], "one request is under way"
    driver.miss(task)
    assert_next_at(driver, driver.now + 5.0)


def test_a_slot_without_a_task_is_the_only_one_when_the_host_has_a_delay(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, host_connections=3, worker_queue=1)
    driver.add_seeds(*[f"a/{number}" for number in range(4)])
    assert driver.acquire_robots_slot("a") is None
    first, second = [*driver.take(), *driver.take()]
    driver.route()
    driver.miss(first)
    driver.miss(second, HostFeedback(ended=driver.now, crawl_delay_s=3.0))
    driver.now += 10
    assert driver.take() == []
    driver.release_robots_slot("a", HostFeedback(ended=driver.now))
    assert_next_at(driver, driver.now + 3.0)


def test_a_request_without_a_task_gets_every_other_slot(open_store: OpenStore) -> None:
    """A host with a long backlog gives every other slot to requests without a task."""
    driver = open_store(delay_s=1.0)
    driver.add_seeds(*[f"a/{number}" for number in range(50)])
    turns = ""
    moment: float | None = driver.now
    while len(turns) < 12:
        (task,) = driver.take() or (None,)
        if task is not None:
            turns += "t"
            driver.miss(task)
        if moment is not None and moment <= driver.now:
            moment = driver.acquire_robots_slot("a")
            if moment is None:
                turns += "b"
                driver.release_robots_slot("a", HostFeedback(ended=driver.now))
                moment = driver.now
        driver.now += 0.25
    assert "bb" not in turns
    assert turns.count("b") >= 4


def test_a_promised_slot_that_is_not_taken_delays_nobody(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task)
    moment = driver.acquire_robots_slot("a")
    assert moment is not None
    driver.now = moment
    assert driver.take() == []
    driver.now = moment + 2.0
    assert len(driver.take()) == 1
