"""Failed URLs that are tried again: they wait as others do, and everything else stays."""

import pytest
from tests.contract.driver import OpenStore

from gossamer.frontier.contract import RETRIED_AT_ONCE, HostFeedback, RetryRequest
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState


@pytest.mark.req("D8")
def test_failed_urls_wait_again(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9)
    driver.add_seeds("a/1", "a/2", "a/3", "b/4", "b/5")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"], ["a/6"])
    driver.settle(tasks["a/2"], Outcome.TIMED_OUT)
    driver.settle(tasks["a/3"], Outcome.NOT_FOUND)
    driver.settle(tasks["b/4"], Outcome.TIMED_OUT)
    driver.redirect(tasks["b/5"], "b/7")
    assert driver.retry_failed(Outcome.TIMED_OUT, hosts=["a", "c"]) == 1
    assert (driver.state("a/2"), driver.state("b/4")) == (UrlState.UNSCORED, UrlState.DONE)
    assert driver.retry_failed(Outcome.TIMED_OUT, Outcome.GONE) == 1, "what waits is left alone"
    driver.assert_counts_agree()
    assert driver.snapshot().outcomes == {"fetched": 1, "not_found": 1, "redirected": 1}
    driver.commit()
    driver.crash()
    driver.assert_counts_agree()
    driver.join(0)
    driver.now += 10
    again = {driver.name(task): task for task in driver.take()}
    assert again.keys() == {"a/2", "b/4", "a/6", "b/7"}
    assert again["a/2"].attempt == 2
    assert again["a/2"].depth == 0
    driver.keep(again["a/2"])
    assert [one.outcome for one in driver.setup.attempts(again["a/2"].url_id)] == [
        Outcome.TIMED_OUT,
        Outcome.FETCHED,
    ]
    assert driver.page_numbers() == [1, 2]


def test_a_host_that_was_given_up_is_asked_again_in_its_time(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    driver.add_seeds("a/1", "a/2")
    for _ in range(4):
        (task,) = driver.take()
        driver.retry(task, HostFeedback(ended=driver.now, failed=True, answered=False))
        driver.now += 400
    (task,) = driver.take()
    assert task.host_given_up
    driver.settle(task, Outcome.GAVE_UP, feedback=HostFeedback(ended=driver.now, failed=True))
    assert driver.retry_failed(Outcome.GAVE_UP) == 1
    assert driver.take() == [], "it rests as long as it would have"
    driver.commit()
    driver.crash()
    driver.join(0)
    driver.now += 400
    (task,) = driver.take()
    assert not task.host_given_up


def test_one_step_looks_at_a_bounded_number(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=1000)
    names = [f"a/{number}" for number in range(RETRIED_AT_ONCE + 20)]
    driver.add_seeds(*names)
    while tasks := driver.take(limit=1000):
        for task in tasks:
            driver.miss(task)
    assert driver.snapshot().outcomes == {"not_found": len(names)}
    steps = []
    store, run = driver.store, driver.setup.run
    wanted, next_id = RetryRequest(outcomes=frozenset({Outcome.NOT_FOUND})), 1
    while next_id:
        answer = run(store.retry_failed(wanted, next_id, driver.now))
        steps.append(answer.urls)
        next_id = answer.next_id or 0
    assert steps == [RETRIED_AT_ONCE, 20]
    driver.assert_counts_agree()
