"""Only the newest lease of a URL counts; the dead give theirs back, the living keep them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Outcome
from gossamer.stores.contract import Pace, Place

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B1", "D16")


def test_a_late_worker_changes_nothing(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, lease_s=60.0)
    lab.plant("a/")
    (late,) = lab.take()
    lab.now += 60
    lab.reap()
    (newest,) = lab.take()
    assert newest.lease > late.lease
    before = list(lab.records().values())
    assert lab.claim(late).lost
    assert not lab.settle(late, Outcome.GONE, pace=Pace(ended=lab.now), size=10).accepted
    assert not lab.retry(late).accepted
    assert not lab.put_back(late)
    assert lab.renew(late, newest) == [late]
    assert list(lab.records().values()) == before
    assert lab.snapshot().bytes == 0
    assert lab.keep(newest).accepted
    assert not lab.settle(newest, Outcome.GONE).accepted, "a task is settled once"
    assert lab.records()["a/"].outcome is Outcome.FETCHED
    lab.assert_counts_agree()


def test_a_slow_worker_that_lives_keeps_its_lease(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, lease_s=60.0)
    lab.plant("a/")
    (task,) = lab.take()
    for _ in range(10):
        lab.now += 59
        assert lab.renew(task) == []
        lab.reap()
        assert lab.place("a/") is Place.IN_WORK
    assert lab.keep(task).accepted


def test_an_unrenewed_lease_comes_back_and_its_host_rests(
    open_lab: "Callable[..., Lab]",
) -> None:
    """Nobody knows when the dead worker's request has ended: the host gets one full delay."""
    lab = open_lab(delay_s=5.0, lease_s=60.0)
    lab.plant("a/")
    lab.take()
    lab.now += 59.9
    assert lab.reap() == 0
    lab.now += 0.1
    assert lab.reap() > 0
    assert lab.place("a/") is not Place.IN_WORK
    lab.now += 4.9
    assert lab.take() == []
    lab.now += 0.1
    (task,) = lab.take()
    assert task.attempt == 1, "nobody has finished an attempt"


def test_renewing_goes_by_each_lease_of_its_own(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, lease_s=60.0)
    lab.plant("a/", "b/")
    kept, lost = lab.take()
    lab.now += 40
    lab.renew(kept)
    lab.now += 40
    assert lab.reap() == 1
    assert lab.renew(kept, lost) == [lost]


def test_lease_numbers_grow_across_restarts(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=3)
    lab.plant("a/1", "a/2", "a/3")
    lab.commit()
    numbers = [task.lease for task in lab.take(limit=2)]
    for restart in (lab.crash, lab.reopen, lab.crash):
        restart()
        lab.join(0)
        numbers += [task.lease for task in lab.take(limit=2)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 8


def test_what_was_dealt_to_a_dead_worker_goes_to_another(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=1, delay_s=0.0, lease_s=60.0)
    lab.plant("a/1", "a/2", "b/1")
    lab.score()
    assert lab.route() == 3
    lab.now += 30
    lab.join(1)
    lab.now += 31
    assert lab.reap() > 0
    assert lab.dealt() == 0
    lab.route()
    assert sorted(lab.name(task) for task in lab.lease(1)) == ["a/1", "b/1"]
    lab.assert_counts_agree()


def test_a_worker_that_says_so_is_alive(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=1, delay_s=0.0, lease_s=60.0)
    lab.plant("a/1")
    lab.score()
    lab.route()
    for _ in range(5):
        lab.now += 50
        lab.join(0)
        assert lab.reap() == 0
    assert len(lab.lease(0)) == 1


def test_a_worker_thought_dead_may_come_back(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=1, delay_s=0.0, lease_s=60.0)
    lab.plant("a/1")
    lab.now += 100
    lab.reap()
    assert lab.lease(0) == []
    assert len(lab.take(0)) == 1


def test_a_task_that_is_put_back_is_as_it_was(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=2)
    lab.plant("a/1", "a/2")
    first, second = lab.take()
    assert lab.put_back(first, Pace(ended=lab.now))
    assert not lab.put_back(first, Pace(ended=lab.now))
    (again,) = lab.take()
    assert (again.url, again.attempt, again.depth) == (first.url, 1, 0)
    assert again.lease > second.lease
    assert lab.backend.attempts(first.url_id) == []


def test_a_retry_goes_behind_the_others_of_its_host(open_lab: "Callable[..., Lab]") -> None:
    """They tell whether the host or only the page is to blame."""
    lab = open_lab(delay_s=1.0, strict=True)
    lab.plant("a/1", "a/2", "a/3")
    asked = []
    for _ in range(4):
        (task,) = lab.take()
        asked.append((lab.name(task), task.attempt))
        lab.retry(task) if task.attempt == 1 and len(asked) == 1 else lab.miss(task)
        lab.now += 1
    assert asked == [("a/1", 1), ("a/2", 1), ("a/3", 1), ("a/1", 2)]
