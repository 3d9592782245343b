"""Links and contents are forgotten when their time is over, each for itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Outcome
from gossamer.stores.contract import Pace, Place

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("D10", "D11")


def finish_at(lab: "Lab", moment: float, name: str, *links: str) -> None:
    lab.now = moment
    lab.keep(lab.take_one(name), links)


def test_a_link_is_known_for_its_time_and_new_after_it(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=9, ttl_s=3600.0, similarity=None)
    lab.plant("a/1", "b/1", "b/2", "b/3")
    start = lab.now
    tasks = {lab.name(task): task for task in lab.take()}
    lab.keep(tasks["a/1"])
    lab.now = start + 3599
    lab.renew(*tasks.values())
    assert lab.keep(tasks["b/1"], ["a/1"]).new_links == []
    lab.now = start + 3600
    assert lab.keep(tasks["b/2"], ["a/1", "b/1"]).new_links == [lab.key("a/1")]
    assert lab.place("a/1") is Place.UNSCORED
    assert lab.place("b/1") is Place.FINISHED, "it was finished later"
    lab.now += 1
    assert lab.keep(tasks["b/3"], ["a/1"]).new_links == [], "it waits already"
    lab.assert_counts_agree()
    assert lab.snapshot().outcomes == {"fetched": 3}


def test_what_waits_or_is_in_work_is_never_forgotten(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=9, ttl_s=10.0, lease_s=1e6)
    lab.plant("a/1", "a/2", "b/1")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.put_back(tasks["a/2"])
    lab.now += 1000
    assert lab.keep(tasks["b/1"], ["a/1", "a/2"]).new_links == []
    assert lab.place("a/1") is Place.IN_WORK
    lab.assert_counts_agree()


def test_visited_again_it_is_another_page(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, ttl_s=10.0)
    lab.plant("a/1", "b/1")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.keep(tasks["a/1"], ["a/2"], content="the same")
    lab.now += 10
    lab.keep(tasks["b/1"], ["a/1"])
    again = lab.take_one("a/1")
    assert again.attempt == 2
    lab.keep(again, ["a/3"], content="the same")
    assert lab.page_numbers() == [1, 2, 3]
    assert lab.records()["a/1"].page_id == 3
    assert lab.snapshot().outcomes == {"fetched": 2}
    lab.assert_counts_agree()


def test_seeds_are_not_forgotten(open_lab: "Callable[..., Lab]") -> None:
    """A crawl that goes on after a long break would begin anew with every start."""
    lab = open_lab(delay_s=0.0, ttl_s=10.0)
    lab.plant("a/1")
    (task,) = lab.take()
    lab.keep(task)
    lab.now += 1000
    assert lab.plant("a/1") == 0
    assert lab.ended_by() == "complete"


def test_contents_are_dropped_one_by_one(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, ttl_s=100.0)
    lab.plant("a/1", "b/1", "c/1")
    start = lab.now
    for number, task in enumerate(lab.take()):
        lab.now = start + number
        lab.keep(task, content=f"content {number}")
    lab.now = start + 99
    lab.reap()
    assert lab.backend.content(1) == b"content 0"
    for gone in (1, 2, 3):
        lab.now = start + 99 + gone
        lab.reap()
        left = [number for number in (1, 2, 3) if lab.backend.content(number) is not None]
        assert left == [number for number in (1, 2, 3) if number > gone]
    assert lab.page_numbers() == [1, 2, 3], "what is known of the pages stays"


def test_many_contents_are_dropped_in_small_portions(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=999, ttl_s=10.0, worker_queue=4000)
    lab.plant(*[f"a/{number}" for number in range(450)])
    while tasks := lab.take():
        for task in tasks:
            lab.keep(task)
    lab.now += 10
    left = []
    for _ in range(3):
        lab.reap()
        left.append(sum(lab.backend.content(number) is not None for number in range(1, 451)))
    assert left == [250, 50, 0]


def test_contents_survive_a_restart_and_expire_after_it(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, ttl_s=100.0)
    lab.plant("a/1")
    (task,) = lab.take()
    lab.keep(task, content="content")
    lab.commit()
    lab.crash()
    assert lab.backend.content(1) == b"content"
    lab.now += 100
    lab.reap()
    assert lab.backend.content(1) is None


def test_a_failed_url_is_forgotten_as_well(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, ttl_s=10.0)
    lab.plant("a/1", "b/1")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.settle(tasks["a/1"], Outcome.TIMED_OUT, pace=Pace(ended=lab.now))
    lab.now += 10
    assert lab.keep(tasks["b/1"], ["a/1"]).new_links == [lab.key("a/1")]
    assert lab.snapshot().outcomes == {"fetched": 1}
