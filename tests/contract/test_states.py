"""A URL is known once, and is in exactly one state."""

import pytest
from tests.contract.driver import OpenStore

from gossamer.frontier.contract import HostFeedback, Settlement
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import Cause, Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B1")


def test_a_url_goes_from_state_to_state(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/")
    assert driver.state("a/") is UrlState.UNSCORED
    driver.score()
    assert driver.state("a/") is UrlState.QUEUED
    driver.route()
    assert driver.state("a/") is UrlState.ASSIGNED
    (task,) = driver.lease()
    assert driver.state("a/") is UrlState.LEASED
    driver.keep(task, ["a/1", "a/2"])
    assert driver.state("a/") is UrlState.DONE
    assert driver.state("a/1") is UrlState.UNSCORED
    driver.assert_counts_agree()


@pytest.mark.req("D11", "D13")
def test_only_new_urls_are_added(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9)
    assert driver.add_seeds("a/", "a/1", "a/") == 2
    assert driver.add_seeds("a/1", "a/2") == 1
    first, second, _ = driver.take()
    new = driver.keep(first, ["a/2", "a/3", "a/", "a/4", "a/3"]).new_links
    assert new == [driver.key("a/3"), driver.key("a/4")]
    assert driver.keep(second, ["a/3", "a/4", "b/"]).new_links == [driver.key("b/")]
    assert driver.snapshot().waiting == 3
    assert driver.snapshot().hosts == 2
    driver.assert_counts_agree()


def test_every_kind_of_end_is_counted_once(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9)
    driver.add_seeds("a/1", "a/2", "a/3", "a/4", "a/5")
    kept, missing, moved, again, back = driver.take()
    driver.keep(kept)
    driver.miss(missing)
    driver.redirect(moved, "a/6")
    driver.retry(again)
    assert driver.release(back)
    snapshot = driver.snapshot()
    assert snapshot.outcomes == {"fetched": 1, "not_found": 1, "redirected": 1}
    assert (snapshot.waiting, snapshot.in_progress, snapshot.finished) == (3, 0, 3)
    driver.assert_counts_agree()


def test_every_attempt_is_recorded(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/")
    (task,) = driver.take()
    assert task.attempt == 1
    driver.retry(task)
    driver.now += 1
    (task,) = driver.take()
    assert task.attempt == 2
    driver.settle_as(
        Settlement(
            task=task,
            outcome=Outcome.GONE,
            cause=Cause.STATUS_GONE,
            detail="it is gone",
            status=410,
            feedback=HostFeedback(ended=driver.now),
        )
    )
    record = driver.records()["a/"]
    assert (record.outcome, record.detail, record.attempts) == (Outcome.GONE, "it is gone", 2)
    first, second = driver.setup.attempts(record.id)
    assert (first.outcome, second.outcome) == (Outcome.SERVER_ERROR, Outcome.GONE)
    assert (second.at, second.status, second.cause) == (driver.now, 410, Cause.STATUS_GONE)


def test_a_candidate_is_scored_once(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/")
    found = driver.candidates()
    for score in (10.0, 90.0):
        driver.prioritise([(one, score) for one in found])
    assert {record.score for record in driver.records().values()} == {10.0}
    assert driver.candidates() == []
    assert driver.snapshot().waiting == 2
    driver.assert_counts_agree()


def test_candidates_come_in_the_order_of_discovery(open_store: OpenStore) -> None:
    driver = open_store()
    names = [f"{host}/{page}" for page in range(5) for host in "abc"]
    driver.add_seeds(*names)
    assert [one.url for one in driver.candidates()] == [
        driver.records()[name].url for name in names
    ]
    assert len(driver.candidates(4)) == 4


@pytest.mark.parametrize(
    ("given", "kept"), [(-5.0, 0.0), (1e9, 100.0), (float("nan"), 100.0), (float("-inf"), 0.0)]
)
def test_an_invalid_score_goes_to_the_nearest_end(
    open_store: OpenStore, given: float, kept: float
) -> None:
    driver = open_store()
    driver.add_seeds("a/")
    driver.score(lambda _: given)
    assert driver.records()["a/"].score == kept
    assert len(driver.take()) == 1


def test_nothing_is_assigned_before_a_worker_has_joined(open_store: OpenStore) -> None:
    driver = open_store(workers=0)
    driver.add_seeds("a/")
    driver.score()
    assert driver.route() == 0
    driver.join(7)
    assert driver.route() == 1
    assert len(driver.lease(7)) == 1


def test_a_crash_lets_everything_wait_again(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=2)
    driver.add_seeds("a/1", "a/2", "a/3", "a/4")
    driver.score()
    driver.route()
    first, second = driver.lease(limit=2)
    driver.keep(first, ["a/5"])
    driver.commit()
    driver.crash()
    driver.assert_counts_agree()
    assert driver.snapshot().outcomes == {"fetched": 1}
    assert driver.snapshot().waiting == 4
    driver.join(0)
    assert driver.claim(second).lost
    assert [driver.name(task) for task in driver.take(limit=2)] == ["a/2", "a/3"]


def test_what_was_not_committed_is_lost_as_a_whole(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/1")
    driver.commit()
    (task,) = driver.take()
    driver.keep(task, ["a/2"])
    driver.crash()
    snapshot = driver.snapshot()
    assert {name: one.state for name, one in driver.records().items()} == {"a/1": UrlState.UNSCORED}
    assert (snapshot.pages, snapshot.bytes) == (0, 0)
    driver.assert_counts_agree()
    for again in driver.take():
        assert again.lease > task.lease
        driver.keep(again, ["a/2"])
    assert sorted(driver.records()) == ["a/1", "a/2"]
    assert driver.page_numbers() == [1]


def test_reading_changes_nothing(open_store: OpenStore) -> None:
    """A crawl that is over may be opened to be looked at, as often as one likes."""
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.keep(task)
    driver.reopen()
    before = list(driver.records().values())
    for _ in range(3):
        assert driver.ended_by() == "complete"
        driver.reopen()
    assert list(driver.records().values()) == before


def test_another_number_of_queues_is_no_obstacle(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, queues=10)
    driver.add_seeds("a/1", "a/2", "a/3", "a/4")
    scores = {"a/1": 95.0, "a/2": 35.0, "a/3": 5.0, "a/4": 61.0}
    driver.score(scores.__getitem__)
    (task,) = driver.take(limit=1)
    driver.miss(task)
    driver.rules = FrontierRules(
        scheduler=SchedulerRules(delay_s=0.0, host_connections=9, queues=3)
    )
    driver.reopen()
    driver.join(0)
    queues = {name: one.queue for name, one in driver.records().items()}
    assert queues == {"a/1": 2, "a/2": 1, "a/3": 0, "a/4": 1}
    driver.assign([[0, 1, 2]] * 10)
    assert len(driver.lease()) == 3
