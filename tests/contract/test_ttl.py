"""Links and contents are forgotten when their time is over, each for itself."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.model import Outcome
from gossamer.stores.contract import HostFeedback, UrlState

pytestmark = pytest.mark.req("D10", "D11")


def finish_at(driver: StoreDriver, moment: float, name: str, *links: str) -> None:
    driver.now = moment
    driver.keep(driver.take_one(name), links)


def test_a_link_is_known_for_its_time_and_new_after_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, ttl_s=3600.0, similarity=None)
    driver.add_seeds("a/1", "b/1", "b/2", "b/3")
    start = driver.now
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"])
    driver.now = start + 3599
    driver.renew(*tasks.values())
    assert driver.keep(tasks["b/1"], ["a/1"]).new_links == []
    driver.now = start + 3600
    assert driver.keep(tasks["b/2"], ["a/1", "b/1"]).new_links == [driver.key("a/1")]
    assert driver.state("a/1") is UrlState.UNSCORED
    assert driver.state("b/1") is UrlState.DONE, "it was finished later"
    driver.now += 1
    assert driver.keep(tasks["b/3"], ["a/1"]).new_links == [], "it waits already"
    driver.assert_counts_agree()
    assert driver.snapshot().outcomes == {"fetched": 3}


def test_what_waits_or_is_in_progress_is_never_forgotten(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, ttl_s=10.0, lease_s=1e6)
    driver.add_seeds("a/1", "a/2", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.release(tasks["a/2"])
    driver.now += 1000
    assert driver.keep(tasks["b/1"], ["a/1", "a/2"]).new_links == []
    assert driver.state("a/1") is UrlState.LEASED
    driver.assert_counts_agree()


def test_visited_again_it_is_another_page(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, ttl_s=10.0)
    driver.add_seeds("a/1", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"], ["a/2"], content="the same")
    driver.now += 10
    driver.keep(tasks["b/1"], ["a/1"])
    again = driver.take_one("a/1")
    assert again.attempt == 2
    driver.keep(again, ["a/3"], content="the same")
    assert driver.page_numbers() == [1, 2, 3]
    assert driver.records()["a/1"].page_id == 3
    assert driver.snapshot().outcomes == {"fetched": 2}
    driver.assert_counts_agree()


def test_seeds_are_not_forgotten(open_store: OpenStore) -> None:
    """A crawl that goes on after a long break would start over with every start."""
    driver = open_store(delay_s=0.0, ttl_s=10.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.keep(task)
    driver.now += 1000
    assert driver.add_seeds("a/1") == 0
    assert driver.ended_by() == "complete"


def test_contents_are_dropped_one_by_one(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, ttl_s=100.0)
    driver.add_seeds("a/1", "b/1", "c/1")
    start = driver.now
    for number, task in enumerate(driver.take()):
        driver.now = start + number
        driver.keep(task, content=f"content {number}")
    driver.now = start + 99
    driver.reap()
    assert driver.setup.content(1) == b"content 0"
    for gone in (1, 2, 3):
        driver.now = start + 99 + gone
        driver.reap()
        left = [number for number in (1, 2, 3) if driver.setup.content(number) is not None]
        assert left == [number for number in (1, 2, 3) if number > gone]
    assert driver.page_numbers() == [1, 2, 3], "what is known of the pages stays"


def test_many_contents_are_dropped_in_small_portions(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=999, ttl_s=10.0, worker_queue=4000)
    driver.add_seeds(*[f"a/{number}" for number in range(450)])
    while tasks := driver.take():
        for task in tasks:
            driver.keep(task)
    driver.now += 10
    left = []
    for _ in range(3):
        driver.reap()
        left.append(sum(driver.setup.content(number) is not None for number in range(1, 451)))
    assert left == [250, 50, 0]


def test_contents_survive_a_restart_and_expire_after_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, ttl_s=100.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.keep(task, content="content")
    driver.commit()
    driver.crash()
    assert driver.setup.content(1) == b"content"
    driver.now += 100
    driver.reap()
    assert driver.setup.content(1) is None


def test_a_failed_url_is_forgotten_as_well(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, ttl_s=10.0)
    driver.add_seeds("a/1", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.settle(tasks["a/1"], Outcome.TIMED_OUT, feedback=HostFeedback(ended=driver.now))
    driver.now += 10
    assert driver.keep(tasks["b/1"], ["a/1"]).new_links == [driver.key("a/1")]
    assert driver.snapshot().outcomes == {"fetched": 1}
