"""The order in which URLs are handed out."""

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.stores.contract import Task

if TYPE_CHECKING:
    from tests.contract.conftest import Lab


def by_number(name: str) -> float:
    """Score as the scorer page-number does: the largest number first."""
    return 100 / (2 + int(name.partition("/")[2]))


def next_task(lab: "Lab") -> Task:
    lab.score(by_number)
    lab.route()
    (task,) = lab.lease(limit=1)
    return task


@pytest.mark.req("F1")
def test_the_best_known_url_goes_next_also_when_it_is_found_late(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(strict=True, delay_s=0.0, similarity=None)
    links = {5: [9, 2], 9: [1, 7], 7: [8], 8: [3]}
    lab.plant("a/5", "a/4", "a/6")
    order = []
    while lab.ended_by() is None:
        task = next_task(lab)
        number = int(lab.name(task).partition("/")[2])
        order.append(number)
        lab.keep(task, [f"a/{target}" for target in links.get(number, [])])
    assert order == [6, 5, 9, 7, 8, 4, 3, 2, 1]


@pytest.mark.req("F1")
def test_so_it_does_among_several_hosts(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(strict=True, delay_s=1.0)
    lab.need_one_line()
    lab.plant("a/3", "b/9", "c/5", "b/8", "c/1")
    lab.score(by_number)
    lab.route()
    assert [lab.name(task) for task in lab.lease()] == ["b/9", "c/5", "a/3"]


@pytest.mark.req("F1")
def test_a_host_that_rests_lets_the_next_best_go_first(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(strict=True, delay_s=5.0)
    lab.need_one_line()
    lab.plant("a/9", "a/8", "b/2", "b/1")
    first = next_task(lab)
    assert lab.name(first) == "a/9"
    lab.miss(first)
    second = next_task(lab)
    assert lab.name(second) == "b/2"
    lab.miss(second)
    lab.now += 5
    assert lab.name(next_task(lab)) == "a/8"


@pytest.mark.req("F1")
def test_equal_ones_go_as_they_came(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(strict=True, delay_s=0.0, host_connections=9)
    names = [f"a/{number}" for number in (3, 1, 2)]
    lab.plant(*names)
    lab.score(lambda _: 50.0)
    lab.route()
    assert [lab.name(task) for task in lab.lease()] == names


@pytest.mark.req("F1")
def test_nothing_is_handed_out_while_something_has_no_score(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(strict=True, delay_s=0.0)
    lab.need_one_line()
    lab.plant("a/1")
    lab.score(by_number)
    lab.route()
    lab.plant("b/2")
    assert lab.lease() == []
    assert lab.wake_at() is not None, "it is worth asking again"
    lab.score(by_number)
    lab.route()
    assert [lab.name(task) for task in lab.lease()] == ["b/2", "a/1"]


@pytest.mark.req("F1")
def test_what_comes_nearer_is_scored_again(open_lab: "Callable[..., Lab]") -> None:
    """Breadth first, a URL moves up when a shorter path to it turns up."""
    lab = open_lab(strict=True, delay_s=0.0, host_connections=9)
    lab.plant("a/", "b/")

    def by_depth(name: str) -> float:
        return lab.depths()[name]

    lab.score(by_depth)
    lab.route()
    tasks = {lab.name(task): task for task in lab.lease()}
    lab.keep(tasks["a/"], ["a/1"])
    lab.score(by_depth)
    lab.route()
    (one,) = lab.lease()
    lab.keep(one, [f"a/{number}" for number in (2, 3, 4)])
    lab.score(by_depth)
    lab.keep(tasks["b/"], ["a/4"])
    assert lab.score(by_depth) == 1
    lab.route()
    assert [lab.name(task) for task in lab.lease()] == ["a/4", "a/2", "a/3"]
    lab.assert_counts_agree()


@pytest.mark.req("F1")
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_any_strict_crawl_takes_the_best_that_is_ready(
    make_strict_lab: "Callable[[], Lab]", data: st.DataObject, seed: int
) -> None:
    lab = make_strict_lab()
    rng = random.Random(seed)  # noqa: S311 -- repeatable
    hosts = ["a", "b", "c"]
    waiting: set[str] = set()

    def found(count: int) -> list[str]:
        names = {f"{rng.choice(hosts)}/{rng.randrange(1000)}" for _ in range(count)}
        return sorted(names - set(lab.records()))

    seeds = found(8)
    lab.plant(*seeds)
    waiting |= set(seeds)
    while waiting and len(lab.records()) < 40:
        task = next_task(lab)
        name = lab.name(task)
        assert by_number(name) == min(map(by_number, waiting))
        waiting.discard(name)
        new = found(data.draw(st.integers(0, 3)))
        lab.keep(task, new)
        waiting |= set(new)


@pytest.mark.req("D5")
def test_drawn_queues_go_in_the_order_of_the_draw(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=99)
    scores = {"a/1": 5.0, "a/2": 55.0, "a/3": 95.0}
    lab.plant(*scores)
    lab.score(scores.__getitem__)
    queues = [record.queue for record in lab.records().values()]
    assert queues == [0, 5, 9]
    for order, expected in (([9, 0, 5], "a/3"), ([5, 9, 0], "a/2"), ([1, 2, 9, 0], "a/1")):
        lab.deal([order])
        assert [lab.name(task) for task in lab.lease()] == [expected]


@pytest.mark.req("D4")
def test_credit_gathers_where_links_lead(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.keep(first, ["x/", "y/", "a/1"])
    lab.keep(second, ["x/1", "b/1"])
    credit = {one.domain: one.credit for one in lab.candidates()}
    assert credit == {"x.test": 1.5, "y.test": 0.5, "a.test": 0.0, "b.test": 0.0}
    assert {one.top_credit for one in lab.candidates()} == {1.5}
    lab.reopen()
    assert {one.domain: one.credit for one in lab.candidates()} == credit
    assert {one.top_credit for one in lab.candidates()} == {1.5}
