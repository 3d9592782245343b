"""Limits of single hosts, by rules for their names; the same on every store."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Task
from gossamer.frontier.hosts import HostLimitRule
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B3")

RULES = (
    HostLimitRule(host="a.test", delay_s=5.0, auto_delay=False),
    HostLimitRule(host="b.test", delay_s=0.0, auto_delay=False, connections=3),
    HostLimitRule(host="c.test", delay_s=2.0, auto_delay=True),
    HostLimitRule(host="a.test", is_wild=True, delay_s=7.0, auto_delay=False, max_pages=9),
    HostLimitRule(host="", is_wild=True, max_pages=2),
)


def delays(driver: StoreDriver) -> dict[str, float]:
    return {task.host: task.delay_s for task in driver.take()}


def test_each_host_has_its_own_delay_and_connections(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0, host_rules=RULES)
    driver.add_seeds("a/1", "x.a/1", "c/1", "d/1", *[f"b/{number}" for number in range(5)])
    tasks = driver.take()
    assert {task.host: task.delay_s for task in tasks} == {
        "a.test": 5.0,
        "x.a.test": 7.0,
        "b.test": 0.0,
        "c.test": 2.0,
        "d.test": 1.0,
    }
    assert sum(task.host == "b.test" for task in tasks) == 2, "no more than the pages that are left"


def test_a_delay_by_a_rule_is_kept(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0, host_rules=RULES)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task, HostFeedback(ended=driver.now, took_s=0.1))
    driver.now += 4.999
    assert driver.take() == []
    driver.now += 0.001
    assert len(driver.take()) == 1


def test_only_that_host_follows_how_it_answers(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0, host_rules=RULES)
    driver.add_seeds("c/1", "c/2", "d/1", "d/2")
    for task in driver.take():
        driver.miss(task, HostFeedback(ended=driver.now, took_s=0.1, overloaded=True))
    driver.now += 10
    assert delays(driver) == {"c.test": 4.0, "d.test": 1.0}


def test_workers_share_the_connections_of_a_host(open_store: OpenStore) -> None:
    rule = HostLimitRule(host="a.test", delay_s=0.0, auto_delay=False, connections=4)
    driver = open_store(delay_s=1.0, host_rules=(rule,))
    driver.add_seeds(*[f"a/{number}" for number in range(9)], "b/1")
    driver.join(0, 1)
    driver.score()
    driver.route()
    taken = [str(task.host) for worker in (0, 1) for task in driver.lease(worker)]
    assert taken.count("a.test") == 4
    assert taken.count("b.test") == 1


def finish(driver: StoreDriver) -> dict[str, Outcome | None]:
    """Work until nothing is left: a page for each task whose host has budget left."""
    for _ in range(100):
        driver.now += 100
        tasks = driver.take()
        if not tasks:
            break
        for task in tasks:
            end(driver, task)
    assert driver.ended_by() == "complete"
    driver.assert_counts_agree()
    return {name: record.outcome for name, record in driver.records().items()}


def end(driver: StoreDriver, task: Task) -> None:
    if task.exhausted_budget:
        driver.settle(task, Outcome.HOST_OVER_BUDGET)
    else:
        driver.keep(task, received=60)


@pytest.mark.req("D14")
@pytest.mark.parametrize("connections", [1, 3])
def test_a_host_gets_no_more_pages_than_its_budget(open_store: OpenStore, connections: int) -> None:
    rule = HostLimitRule(host="a.test", max_pages=2)
    driver = open_store(delay_s=0.0, host_connections=connections, host_rules=(rule,))
    driver.add_seeds(*[f"a/{number}" for number in range(5)], "b/1", "b/2", "b/3")
    found = finish(driver)
    assert [found[f"b/{number}"] for number in (1, 2, 3)] == [Outcome.FETCHED] * 3
    ends = [outcome for name, outcome in found.items() if name.startswith("a/")]
    assert ends.count(Outcome.FETCHED) == 2
    assert ends.count(Outcome.HOST_OVER_BUDGET) == 3


@pytest.mark.req("D14")
@pytest.mark.parametrize("connections", [2, 3, 4])
def test_pages_in_progress_count_for_the_budget(open_store: OpenStore, connections: int) -> None:
    """Whatever the order in which they end, none is begun that would be one too many."""
    rule = HostLimitRule(host="a.test", max_pages=5)
    driver = open_store(delay_s=0.0, host_connections=connections, host_rules=(rule,))
    driver.add_seeds(*[f"a/{number}" for number in range(12)])
    driver.join(0, 1)
    running: list[Task] = []
    for _ in range(60):
        driver.score()
        driver.route()
        running += driver.lease(0) + driver.lease(1)
        begun = [task for task in running if not task.exhausted_budget]
        kept = driver.snapshot().pages
        assert kept + len(begun) <= 5
        if not running:
            break
        end(driver, running.pop(0))
    assert driver.ended_by() == "complete"
    assert driver.snapshot().outcomes == {"fetched": 5, "host_over_budget": 7}


@pytest.mark.req("D14")
def test_what_fails_leaves_room_for_other_pages(open_store: OpenStore) -> None:
    rule = HostLimitRule(host="a.test", max_pages=1)
    driver = open_store(delay_s=0.0, host_connections=3, host_rules=(rule,))
    driver.add_seeds("a/1", "a/2", "a/3")
    (task,) = driver.take()
    driver.miss(task)
    found = finish(driver)
    assert sorted(filter(None, found.values())) == ["fetched", "host_over_budget", "not_found"]


@pytest.mark.req("D14")
def test_a_host_is_not_asked_after_its_bytes(open_store: OpenStore) -> None:
    rule = HostLimitRule(host="a.test", max_bytes=100)
    driver = open_store(delay_s=0.0, host_rules=(rule,))
    driver.add_seeds(*[f"a/{number}" for number in range(5)])
    (task,) = driver.take()
    driver.keep(task, received=60)
    driver.commit()
    driver.crash()
    driver.join(0)
    found = finish(driver)
    assert [*found.values()].count(Outcome.FETCHED) == 2, "60 and 60 bytes"
    assert [*found.values()].count(Outcome.HOST_OVER_BUDGET) == 3


def test_a_budget_that_was_raised_lets_failed_urls_be_tried_again(open_store: OpenStore) -> None:
    rule = HostLimitRule(host="a.test", max_pages=1)
    driver = open_store(delay_s=0.0, host_rules=(rule,))
    driver.add_seeds("a/1", "a/2")
    finish(driver)
    driver.rules = FrontierRules(scheduler=SchedulerRules(delay_s=0.0), similarity=None)
    driver.reopen()
    assert driver.retry_failed(Outcome.HOST_OVER_BUDGET) == 1
    assert {*finish(driver).values()} == {Outcome.FETCHED}


def keep_all(driver: StoreDriver, links: dict[str, list[str]]) -> None:
    """Keep every page in the order in which they come, with these links."""
    for _ in range(20):
        for task in driver.take():
            driver.keep(task, links.get(driver.name(task), []))
    driver.relax()


def too_deep(driver: StoreDriver) -> set[str]:
    return {name for name, one in driver.records().items() if one.state is UrlState.TOO_DEEP}


def test_a_host_may_be_nearer_or_farther(open_store: OpenStore) -> None:
    rules = (HostLimitRule(host="b.test", max_depth=0), HostLimitRule(host="c.test", max_depth=2))
    driver = open_store(delay_s=0.0, max_depth=1, host_rules=rules)
    driver.add_seeds("a/0", "b/0")
    keep_all(driver, {"a/0": ["a/1", "b/1", "c/1"], "c/1": ["a/2", "b/2", "c/2"], "c/2": ["c/3"]})
    assert too_deep(driver) == {"b/1", "a/2", "b/2", "c/3"}
    assert driver.ended_by() == "complete"


def test_a_shorter_path_counts_for_the_limit_of_its_host(open_store: OpenStore) -> None:
    rule = HostLimitRule(host="b.test", max_depth=2)
    driver = open_store(delay_s=0.0, host_rules=(rule,))
    driver.add_seeds("a/0")
    keep_all(driver, {"a/0": ["a/1"], "a/1": ["a/2"], "a/2": ["b/3", "c/3"]})
    assert too_deep(driver) == {"b/3"}
    driver.add_seeds("d/0")
    keep_all(driver, {"d/0": ["a/2"]})
    assert too_deep(driver) == set()
    assert driver.depths()["b/3"] == 2


@pytest.mark.req("D19")
def test_finding_2_a_host_has_a_bounded_number_of_urls(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, max_host_urls=5)
    driver.add_seeds("a/1", "b/1")
    first = next(task for task in driver.take() if task.host == "a.test")
    driver.keep(first, links=[*(f"a/{number}" for number in range(1, 9)), "b/2", "c/1"])
    known = {name for name in driver.records() if name.startswith("a/")}
    assert known == {f"a/{number}" for number in range(1, 6)}
    assert {"b/2", "c/1"} < driver.records().keys(), "the others go on"
    assert driver.snapshot().over_host_urls == 3
    driver.reopen()
    second = driver.take_one("a/2")
    driver.keep(second, links=["a/1", "a/8", "a/9", "c/2"])
    assert {name for name in driver.records() if name.startswith("a/")} == known
    assert driver.snapshot().over_host_urls == 5
    driver.add_seeds("a/10")
    assert "a/10" in driver.records(), "what a person names is no flood"
    driver.assert_counts_agree()
