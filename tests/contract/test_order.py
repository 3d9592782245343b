"""The order in which URLs are handed out."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import Task


def by_number(name: str) -> float:
    """Score as the scorer page-number does: the largest number first."""
    return 100 / (2 + int(name.partition("/")[2]))


def next_task(driver: StoreDriver) -> Task:
    driver.score(by_number)
    driver.route()
    (task,) = driver.lease(limit=1)
    return task


@pytest.mark.req("F1")
def test_the_best_known_url_goes_next_also_when_it_is_found_late(open_store: OpenStore) -> None:
    driver = open_store(strict=True, delay_s=0.0, similarity=None)
    links = {5: [9, 2], 9: [1, 7], 7: [8], 8: [3]}
    driver.add_seeds("a/5", "a/4", "a/6")
    order = []
    while driver.ended_by() is None:
        task = next_task(driver)
        number = int(driver.name(task).partition("/")[2])
        order.append(number)
        driver.keep(task, [f"a/{target}" for target in links.get(number, [])])
    assert order == [6, 5, 9, 7, 8, 4, 3, 2, 1]


@pytest.mark.req("F1")
def test_so_it_does_among_several_hosts(open_store: OpenStore) -> None:
    driver = open_store(strict=True, delay_s=1.0)
    driver.add_seeds("a/3", "b/9", "c/5", "b/8", "c/1")
    driver.score(by_number)
    driver.route()
    assert [driver.name(task) for task in driver.lease()] == ["b/9", "c/5", "a/3"]


@pytest.mark.req("F1")
def test_a_host_that_rests_lets_the_next_best_go_first(open_store: OpenStore) -> None:
    driver = open_store(strict=True, delay_s=5.0)
    driver.add_seeds("a/9", "a/8", "b/2", "b/1")
    first = next_task(driver)
    assert driver.name(first) == "a/9"
    driver.miss(first)
    second = next_task(driver)
    assert driver.name(second) == "b/2"
    driver.miss(second)
    driver.now += 5
    assert driver.name(next_task(driver)) == "a/8"


@pytest.mark.req("F1")
def test_equal_ones_go_as_they_came(open_store: OpenStore) -> None:
    driver = open_store(strict=True, delay_s=0.0, host_connections=9)
    names = [f"a/{number}" for number in (3, 1, 2)]
    driver.add_seeds(*names)
    driver.score(lambda _: 50.0)
    driver.route()
    assert [driver.name(task) for task in driver.lease()] == names


@pytest.mark.req("F1")
def test_nothing_is_handed_out_while_something_has_no_score(open_store: OpenStore) -> None:
    driver = open_store(strict=True, delay_s=0.0)
    driver.add_seeds("a/1")
    driver.score(by_number)
    driver.route()
    driver.add_seeds("b/2")
    assert driver.lease() == []
    assert driver.wake_at() is not None, "it is worth asking again"
    driver.score(by_number)
    driver.route()
    assert [driver.name(task) for task in driver.lease()] == ["b/2", "a/1"]


@pytest.mark.req("F1")
def test_what_comes_nearer_is_scored_again(open_store: OpenStore) -> None:
    """Breadth first, a URL moves up when a shorter path to it turns up."""
    driver = open_store(strict=True, delay_s=0.0, host_connections=9)
    driver.add_seeds("a/", "b/")

    def by_depth(name: str) -> float:
        return driver.depths()[name]

    driver.score(by_depth)
    driver.route()
    tasks = {driver.name(task): task for task in driver.lease()}
    driver.keep(tasks["a/"], ["a/1"])
    driver.score(by_depth)
    driver.route()
    (one,) = driver.lease()
    driver.keep(one, [f"a/{number}" for number in (2, 3, 4)])
    driver.score(by_depth)
    driver.keep(tasks["b/"], ["a/4"])
    assert driver.score(by_depth) == 1
    driver.route()
    assert [driver.name(task) for task in driver.lease()] == ["a/4", "a/2", "a/3"]
    driver.assert_counts_agree()


@pytest.mark.req("F1")
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_any_strict_crawl_takes_the_best_that_is_ready(
    make_strict_store: Callable[[], StoreDriver], data: st.DataObject, seed: int
) -> None:
    driver = make_strict_store()
    rng = random.Random(seed)  # noqa: S311 -- repeatable
    hosts = ["a", "b", "c"]
    waiting: set[str] = set()

    def found(count: int) -> list[str]:
        names = {f"{rng.choice(hosts)}/{rng.randrange(1000)}" for _ in range(count)}
        return sorted(names - set(driver.records()))

    seeds = found(8)
    driver.add_seeds(*seeds)
    waiting |= set(seeds)
    while waiting and len(driver.records()) < 40:
        task = next_task(driver)
        name = driver.name(task)
        assert by_number(name) == min(map(by_number, waiting))
        waiting.discard(name)
        new = found(data.draw(st.integers(0, 3)))
        driver.keep(task, new)
        waiting |= set(new)


@pytest.mark.req("D5")
def test_drawn_queues_go_in_the_order_of_the_draw(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99)
    scores = {"a/1": 5.0, "a/2": 55.0, "a/3": 95.0}
    driver.add_seeds(*scores)
    driver.score(scores.__getitem__)
    queues = [record.queue for record in driver.records().values()]
    assert queues == [0, 5, 9]
    for order, expected in (([9, 0, 5], "a/3"), ([5, 9, 0], "a/2"), ([1, 2, 9, 0], "a/1")):
        driver.assign([order])
        assert [driver.name(task) for task in driver.lease()] == [expected]


@pytest.mark.req("D4")
def test_credit_gathers_where_links_lead(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, ["x/", "y/", "a/1"])
    driver.keep(second, ["x/1", "b/1"])
    credit = {one.domain: one.credit for one in driver.candidates()}
    assert credit == {"x.test": 1.5, "y.test": 0.5, "a.test": 0.0, "b.test": 0.0}
    assert {one.top_credit for one in driver.candidates()} == {1.5}
    driver.reopen()
    assert {one.domain: one.credit for one in driver.candidates()} == credit
    assert {one.top_credit for one in driver.candidates()} == {1.5}
