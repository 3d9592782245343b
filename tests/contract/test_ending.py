"""A crawl is over when nothing waits and nothing is in work."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B1")


def test_it_is_over_when_nothing_waits_and_nothing_is_in_work(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/")
    assert lab.ended_by() is None
    lab.score()
    assert lab.ended_by() is None
    lab.route()
    assert lab.ended_by() is None
    (task,) = lab.lease()
    assert lab.ended_by() is None
    lab.keep(task, ["a/1"])
    assert lab.ended_by() is None
    (task,) = lab.take()
    lab.keep(task, ["a/", "a/1"])
    assert lab.ended_by() == "complete"
    assert lab.snapshot().ended_by == "complete"


def test_a_host_that_rests_does_not_end_it(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=1000.0)
    lab.plant("a/1", "a/2")
    (task,) = lab.take()
    lab.miss(task)
    assert lab.take() == []
    assert lab.ended_by() is None


def test_a_restart_knows_that_it_is_over(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/")
    (task,) = lab.take()
    lab.keep(task)
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        restart()
        assert lab.ended_by() == "complete"
        assert lab.plant("a/") == 0
    lab.plant("b/")
    assert lab.ended_by() is None


def test_nobody_need_ask_before_the_moment_comes(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=5.0)
    lab.plant("a/1", "a/2", "b/1")
    assert lab.wake_at() is None
    for task in lab.take():
        lab.miss(task)
    assert lab.take() == []
    assert lab.wake_at() == lab.now + 5.0


def test_counters_and_hosts_tell_how_it_stands(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=5.0)
    lab.plant("a/1", "a/2", "b/1", "c/1")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.now += 2
    lab.keep(tasks["a/1"], size=10)
    snapshot = lab.snapshot()
    assert (snapshot.waiting, snapshot.in_work, snapshot.finished) == (1, 2, 1)
    assert (snapshot.pages, snapshot.bytes, snapshot.hosts) == (1, 10, 3)
    assert snapshot.elapsed_s == 2.0
    views = {view.host: view for view in lab.hosts(5)}
    assert views["b.test"].in_work == 1
    assert (views["a.test"].waiting, views["a.test"].pages) == (1, 1)
    assert views["a.test"].next_in_s == 5.0
    assert len(lab.hosts(1)) <= 2
