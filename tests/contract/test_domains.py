"""One worker at a time serves a domain."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("D5", "D6")


def names(lab: "Lab", worker: int) -> list[str]:
    return sorted(lab.name(task) for task in lab.lease(worker))


def test_the_hosts_of_a_domain_go_to_one_worker(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=2, delay_s=0.0)
    lab.need_one_line()
    lab.plant("x.a/1", "y.a/1", "z.a/1", "x.b/1", "y.b/1")
    lab.score()
    lab.route()
    dealt = [names(lab, 0), names(lab, 1)]
    assert sorted(dealt) == [["x.a/1", "y.a/1", "z.a/1"], ["x.b/1", "y.b/1"]]


def test_a_free_domain_goes_to_the_least_loaded(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=3, delay_s=0.0)
    lab.need_one_line()
    lab.plant(*[f"h{number}/" for number in range(9)])
    lab.score()
    lab.route()
    assert [len(names(lab, worker)) for worker in range(3)] == [3, 3, 3]


def test_a_domain_stays_with_its_worker_for_five_minutes(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=2, delay_s=0.0)
    lab.plant("x.a/1")
    (task,) = lab.take(0)
    lab.plant("b/1", "c/1")  # the other has less to do from now on
    lab.score()
    lab.route()
    lab.miss(task)
    lab.now += 299
    lab.join(0, 1)
    lab.plant("y.a/1")
    lab.score()
    lab.route()
    assert "y.a/1" in names(lab, 0)


def test_after_that_anybody_may_have_it(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=2, delay_s=0.0)
    lab.need_one_line()
    lab.plant("x.a/1")
    (task,) = lab.take(0)
    lab.miss(task)
    lab.now += 301
    lab.join(0, 1)
    lab.plant("b/1")
    lab.score()
    lab.route()
    lab.plant("y.a/1")
    lab.score()
    lab.route()
    assert names(lab, 0) == ["b/1"]
    assert names(lab, 1) == ["y.a/1"]


def test_a_domain_in_use_never_changes_hands(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=2, delay_s=0.0)
    lab.plant("x.a/1")
    (task,) = lab.take(0)
    for _ in range(20):
        lab.now += 100
        lab.join(0, 1)
        lab.renew(task)
        lab.reap()
    lab.plant("y.a/1", "y.a/2")
    lab.score()
    lab.route()
    assert names(lab, 1) == []
    assert names(lab, 0) == ["y.a/1"]


def test_nor_does_it_while_a_dead_worker_may_still_be_at_it(
    open_lab: "Callable[..., Lab]",
) -> None:
    """The worker is silent, but its lease was renewed: it is not given up before that is over."""
    lab = open_lab(workers=2, delay_s=0.0, lease_s=60.0)
    lab.plant("x.a/1")
    (task,) = lab.take(0)
    lab.now += 59
    lab.renew(task)
    lab.now += 59
    lab.join(1)
    lab.reap()
    lab.plant("y.a/1")
    lab.score()
    lab.route()
    assert names(lab, 1) == []
    lab.now += 1
    lab.reap()
    lab.reap()
    lab.route()
    assert names(lab, 1) == ["x.a/1", "y.a/1"]


def test_what_is_left_in_an_old_queue_is_not_handed_out_there(
    open_lab: "Callable[..., Lab]",
) -> None:
    """A domain that has moved on is the new worker's, whatever the old one remembers of it."""
    lab = open_lab(workers=2, delay_s=0.0, host_connections=2)
    lab.need_one_line()
    lab.plant("a/1", "a/2", "a/3")
    for task in lab.take(0):
        lab.miss(task)
    (task,) = lab.take(0)
    lab.miss(task)
    lab.now += 301
    lab.join(0, 1)
    lab.plant("b/1")
    lab.score()
    lab.route()
    lab.plant("a/4", "a/5")
    lab.score()
    lab.route()
    assert names(lab, 0) == ["b/1"]
    assert names(lab, 1) == ["a/4", "a/5"]
