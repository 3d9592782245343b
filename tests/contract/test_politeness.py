"""One request at a time to a host, and a pause after each, whatever happens to us."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Outcome
from gossamer.stores.contract import Pace

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B3")

MOMENT = 0.001


def assert_next_at(lab: "Lab", moment: float) -> None:
    """The host may be asked then, and not a moment before."""
    lab.now = moment - MOMENT
    assert lab.take() == []
    lab.now = moment
    assert len(lab.take()) == 1


def test_one_request_at_a_time(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=1.0, host_connections=8)
    lab.plant("a/1", "a/2", "b/1", "b/2")
    tasks = lab.take()
    assert sorted(task.host for task in tasks) == ["a.test", "b.test"]
    lab.now += 100
    lab.renew(*tasks)
    assert lab.take() == []


def test_without_a_delay_several_at_a_time(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=3)
    lab.plant(*[f"a/{number}" for number in range(5)])
    first, *_ = lab.take()
    assert lab.snapshot().in_work == 3
    lab.miss(first)
    assert len(lab.take()) == 1


@pytest.mark.parametrize(
    ("pace", "rest_s"),
    [
        ({}, 10.0),
        ({"took_s": 2.0}, 10.0),
        ({"took_s": 25.0}, 25.0),
        ({"crawl_delay_s": 30.0}, 30.0),
        ({"crawl_delay_s": 1.0}, 10.0),
        ({"retry_after_s": 120.0}, 120.0),
        ({"retry_after_s": 3.0, "crawl_delay_s": 40.0}, 40.0),
        ({"retry_after_s": 10 * 365 * 86_400.0}, 3600.0),
        ({"retry_after_s": 0.0}, 10.0),
        ({"failed": True}, 10.0),
    ],
)
@pytest.mark.parametrize("way", ["settled", "retried", "put back", "handed back"])
def test_the_rest_counts_from_the_end_of_the_request(
    open_lab: "Callable[..., Lab]", pace: dict[str, float], rest_s: float, way: str
) -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2", "a/3")
    told = Pace(ended=lab.now + 3, **pace)  # type: ignore[arg-type]  # one is a bool
    if way == "handed back":
        assert lab.borrow("a") is None
    else:
        (task,) = lab.take()
    lab.now += 4
    match way:
        case "settled":
            lab.miss(task, told)
        case "retried":
            lab.retry(task, told)
        case "put back":
            lab.put_back(task, told)
        case _:
            lab.hand_back("a", told)
    assert_next_at(lab, told.ended + rest_s)


def test_a_host_that_keeps_failing_rests_twice_as_long_each_time(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant(*[f"a/{number}" for number in range(10)])
    moment = lab.now
    for rest_s in (10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0):
        (task,) = lab.take()
        moment = lab.now
        lab.miss(task, Pace(ended=moment, failed=True))
        lab.now = moment + rest_s - MOMENT
        assert lab.take() == []
        lab.now = moment + rest_s
    (task,) = lab.take()
    lab.miss(task)
    assert_next_at(lab, lab.now + 10.0)


def test_what_fails_together_counts_as_one(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=4)
    lab.plant(*[f"a/{number}" for number in range(9)])
    tasks = lab.take()
    lab.now += 2
    for task in tasks:
        lab.miss(task, Pace(ended=lab.now, took_s=2.0, failed=True, answered=False))
    lab.now += 0.5
    assert len(again := lab.take()) == 4
    assert not again[0].hopeless


@pytest.mark.req("D19")
def test_a_host_that_never_answers_is_given_up(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=1.0)
    lab.plant(*[f"a/{number}" for number in range(9)])
    for _ in range(4):
        (task,) = lab.take()
        assert not task.hopeless
        lab.miss(task, Pace(ended=lab.now, failed=True, answered=False))
        lab.now += 300
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        (task,) = lab.take()
        assert task.hopeless
        lab.settle(task, Outcome.GAVE_UP)
        assert len(lab.take()) == 1, "what is not asked needs no pause"
        restart()
        lab.now += 1
        lab.join(0)


def test_a_crawl_delay_stays(open_lab: "Callable[..., Lab]") -> None:
    """Also when the host was idle for so long that it was forgotten meanwhile."""
    lab = open_lab(delay_s=1.0)
    lab.plant("a/1")
    (task,) = lab.take()
    lab.miss(task, Pace(ended=lab.now, crawl_delay_s=30.0))
    lab.now += 4000
    lab.join(0)
    lab.reap()
    lab.reap()
    lab.plant("a/2", "a/3")
    (task,) = lab.take()
    lab.miss(task)
    assert_next_at(lab, lab.now + 30.0)


def test_a_crawl_delay_makes_the_places_of_a_host_one(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=4)
    lab.plant(*[f"a/{number}" for number in range(9)])
    tasks = lab.take()
    assert len(tasks) == 4
    lab.miss(tasks[0], Pace(ended=lab.now, crawl_delay_s=5.0))
    lab.now += 100
    for task in tasks[1:]:
        assert lab.take() == []
        lab.miss(task)
    assert_next_at(lab, lab.now + 5.0)
    assert lab.snapshot().in_work == 1


def test_a_clean_restart_knows_the_moment(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2", "b/1")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.miss(tasks["a/1"], Pace(ended=lab.now, retry_after_s=500.0))
    lab.miss(tasks["b/1"])
    rested = lab.now + 500
    lab.now += 100
    lab.reopen()
    lab.join(0)
    assert_next_at(lab, rested)


def test_a_rest_that_is_over_is_not_taken_again(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    (task,) = lab.take()
    lab.miss(task)
    lab.now += 9000
    lab.reopen()
    lab.join(0)
    assert len(lab.take()) == 1


def test_after_a_crash_a_host_gets_one_full_delay(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    lab.score()
    lab.commit()
    lab.take()
    lab.now += 3
    lab.crash()
    crashed = lab.now
    lab.join(0)
    assert_next_at(lab, crashed + 10.0)


def test_what_was_committed_before_a_crash_counts_if_it_is_longer(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    (task,) = lab.take()
    lab.miss(task, Pace(ended=lab.now, retry_after_s=500.0))
    asked = lab.now
    lab.commit()
    lab.now += 3
    lab.crash()
    lab.join(0)
    assert_next_at(lab, asked + 500.0)


def test_a_restart_after_a_crash_does_not_shorten_the_delay(
    open_lab: "Callable[..., Lab]",
) -> None:
    """Crashed, opened again, ended in order, opened again: the delay counts from the crash."""
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    lab.score()
    lab.commit()
    lab.take()
    lab.crash()
    crashed = lab.now
    lab.join(0)
    lab.now += 2
    lab.reopen()
    lab.join(0)
    assert_next_at(lab, crashed + 10.0)


def test_who_ends_with_something_in_work_is_not_trusted(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    lab.take()
    lab.now += 100
    lab.reopen()
    closed = lab.now
    lab.join(0)
    assert_next_at(lab, closed + 10.0)


def test_a_task_put_back_without_a_word_costs_one_delay(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1")
    (task,) = lab.take()
    lab.now += 100
    lab.put_back(task, None)
    assert_next_at(lab, lab.now + 10.0)


def test_a_shorter_delay_may_be_chosen_for_the_next_run(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=50.0)
    lab.plant("a/1", "a/2", "a/3")
    (task,) = lab.take()
    lab.miss(task)
    lab.now += 50
    lab.rules = lab.with_delay(2.0)
    lab.reopen()
    lab.join(0)
    (task,) = lab.take()
    lab.miss(task)
    assert_next_at(lab, lab.now + 2.0)


def test_a_clock_that_was_wrong_does_not_stop_a_host_for_ever(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=10.0)
    lab.plant("a/1", "a/2")
    (task,) = lab.take()
    right = lab.now
    lab.now += 10 * 365 * 86_400
    lab.miss(task)
    lab.now = right
    lab.reopen()
    lab.join(0)
    assert len(lab.take()) == 1


def test_a_borrowed_place_is_a_place(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=5.0)
    lab.plant("a/1")
    assert lab.borrow("a") is None
    assert lab.take() == []
    assert lab.borrow("a") == lab.now + 5.0
    lab.now += 2
    lab.hand_back("a", Pace(ended=lab.now))
    assert lab.borrow("a") == lab.now + 5.0
    lab.now += 5
    assert lab.borrow("a") is None


def test_a_borrowed_place_is_the_only_one_when_the_host_asks_for_pauses(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=3, worker_queue=1)
    lab.plant(*[f"a/{number}" for number in range(4)])
    assert lab.borrow("a") is None
    first, second = [*lab.take(), *lab.take()]
    lab.route()
    lab.miss(first)
    lab.miss(second, Pace(ended=lab.now, crawl_delay_s=3.0))
    lab.now += 10
    assert lab.take() == []
    lab.hand_back("a", Pace(ended=lab.now))
    assert_next_at(lab, lab.now + 3.0)


def test_who_waits_to_borrow_has_his_turn(open_lab: "Callable[..., Lab]") -> None:
    """A host with a long backlog lends every other place to who asks for it."""
    lab = open_lab(delay_s=1.0)
    lab.plant(*[f"a/{number}" for number in range(50)])
    turns = ""
    moment: float | None = lab.now
    while len(turns) < 12:
        (task,) = lab.take() or (None,)
        if task is not None:
            turns += "t"
            lab.miss(task)
        if moment is not None and moment <= lab.now:
            moment = lab.borrow("a")
            if moment is None:
                turns += "b"
                lab.hand_back("a", Pace(ended=lab.now))
                moment = lab.now
        lab.now += 0.25
    assert "bb" not in turns
    assert turns.count("b") >= 4


def test_who_does_not_come_to_borrow_holds_nobody_up(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=1.0)
    lab.plant("a/1", "a/2")
    (task,) = lab.take()
    lab.miss(task)
    moment = lab.borrow("a")
    assert moment is not None
    lab.now = moment
    assert lab.take() == []
    lab.now = moment + 2.0
    assert len(lab.take()) == 1
