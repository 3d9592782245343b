"""A URL is known once, and stands in exactly one place."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.frontier import DeskRules
from gossamer.model import Cause, Outcome
from gossamer.stores import StoreRules
from gossamer.stores.contract import Pace, Place, Settlement

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B1")


def test_a_url_goes_from_place_to_place(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/")
    assert lab.place("a/") is Place.UNSCORED
    lab.score()
    assert lab.place("a/") is Place.SHELVED
    lab.route()
    assert lab.place("a/") is Place.DEALT
    (task,) = lab.lease()
    assert lab.place("a/") is Place.IN_WORK
    lab.keep(task, ["a/1", "a/2"])
    assert lab.place("a/") is Place.FINISHED
    assert lab.place("a/1") is Place.UNSCORED
    lab.assert_counts_agree()


@pytest.mark.req("D11", "D13")
def test_adding_tells_new_from_known(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=9)
    assert lab.plant("a/", "a/1", "a/") == 2
    assert lab.plant("a/1", "a/2") == 1
    first, second, _ = lab.take()
    new = lab.keep(first, ["a/2", "a/3", "a/", "a/4", "a/3"]).new_links
    assert new == [lab.key("a/3"), lab.key("a/4")]
    assert lab.keep(second, ["a/3", "a/4", "b/"]).new_links == [lab.key("b/")]
    assert lab.snapshot().waiting == 3
    assert lab.snapshot().hosts == 2
    lab.assert_counts_agree()


def test_every_kind_of_end_is_counted_once(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=9)
    lab.plant("a/1", "a/2", "a/3", "a/4", "a/5")
    kept, missing, moved, again, back = lab.take()
    lab.keep(kept)
    lab.miss(missing)
    lab.redirect(moved, "a/6")
    lab.retry(again)
    assert lab.put_back(back)
    snapshot = lab.snapshot()
    assert snapshot.outcomes == {"fetched": 1, "not_found": 1, "redirected": 1}
    assert (snapshot.waiting, snapshot.in_work, snapshot.finished) == (3, 0, 3)
    lab.assert_counts_agree()


def test_every_attempt_is_written_down(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/")
    (task,) = lab.take()
    assert task.attempt == 1
    lab.retry(task)
    lab.now += 1
    (task,) = lab.take()
    assert task.attempt == 2
    lab.settle_as(
        Settlement(
            task=task,
            outcome=Outcome.GONE,
            cause=Cause.STATUS_GONE,
            detail="it is gone",
            status=410,
            pace=Pace(ended=lab.now),
        )
    )
    record = lab.records()["a/"]
    assert (record.outcome, record.detail, record.attempts) == (Outcome.GONE, "it is gone", 2)
    first, second = lab.backend.attempts(record.id)
    assert (first.outcome, second.outcome) == (Outcome.SERVER_ERROR, Outcome.GONE)
    assert (second.at, second.status, second.cause) == (lab.now, 410, Cause.STATUS_GONE)


def test_a_candidate_is_scored_once(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab()
    lab.plant("a/", "b/")
    found = lab.candidates()
    for score in (10.0, 90.0):
        lab.prioritise([(one, score) for one in found])
    assert {record.score for record in lab.records().values()} == {10.0}
    assert lab.candidates() == []
    assert lab.snapshot().waiting == 2
    lab.assert_counts_agree()


def test_candidates_come_in_the_order_of_discovery(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab()
    lab.need_one_line()
    names = [f"{host}/{page}" for page in range(5) for host in "abc"]
    lab.plant(*names)
    assert [one.url for one in lab.candidates()] == [lab.records()[name].url for name in names]
    assert len(lab.candidates(4)) == 4


@pytest.mark.parametrize(
    ("given", "kept"), [(-5.0, 0.0), (1e9, 100.0), (float("nan"), 100.0), (float("-inf"), 0.0)]
)
def test_a_senseless_score_goes_to_the_nearest_end(
    open_lab: "Callable[..., Lab]", given: float, kept: float
) -> None:
    lab = open_lab()
    lab.plant("a/")
    lab.score(lambda _: given)
    assert lab.records()["a/"].score == kept
    assert len(lab.take()) == 1


def test_nothing_is_dealt_before_a_worker_has_joined(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=0)
    lab.plant("a/")
    lab.score()
    assert lab.route() == 0
    lab.join(7)
    assert lab.route() == 1
    assert len(lab.lease(7)) == 1


def test_a_crash_lets_everything_wait_again(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=2)
    lab.plant("a/1", "a/2", "a/3", "a/4")
    lab.score()
    lab.route()
    first, second = lab.lease(limit=2)
    lab.keep(first, ["a/5"])
    lab.commit()
    lab.crash()
    lab.assert_counts_agree()
    assert lab.snapshot().outcomes == {"fetched": 1}
    assert lab.snapshot().waiting == 4
    lab.join(0)
    assert lab.claim(second).lost
    assert [lab.name(task) for task in lab.take(limit=2)] == ["a/2", "a/3"]


def test_what_was_not_committed_never_was_or_is_there_as_a_whole(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/1")
    lab.commit()
    (task,) = lab.take()
    lab.keep(task, ["a/2"])
    lab.crash()
    snapshot = lab.snapshot()
    if lab.backend.forgets_the_uncommitted:
        assert {name: one.place for name, one in lab.records().items()} == {"a/1": Place.UNSCORED}
        assert (snapshot.pages, snapshot.bytes) == (0, 0)
    else:
        assert lab.place("a/1") is Place.FINISHED
        assert (snapshot.pages, snapshot.bytes) == (1, 100)
    lab.assert_counts_agree()
    for again in lab.take():
        assert again.lease > task.lease
        lab.keep(again, ["a/2"])
    assert sorted(lab.records()) == ["a/1", "a/2"]
    assert lab.page_numbers() in ([1], [1, 2])


def test_looking_changes_nothing(open_lab: "Callable[..., Lab]") -> None:
    """A crawl that is over may be opened to be looked at, as often as one likes."""
    lab = open_lab(delay_s=0.0)
    lab.plant("a/1")
    (task,) = lab.take()
    lab.keep(task)
    lab.reopen()
    before = list(lab.records().values())
    for _ in range(3):
        assert lab.ended_by() == "complete"
        lab.reopen()
    assert list(lab.records().values()) == before


def test_another_number_of_queues_is_no_obstacle(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=9, queues=10)
    lab.plant("a/1", "a/2", "a/3", "a/4")
    scores = {"a/1": 95.0, "a/2": 35.0, "a/3": 5.0, "a/4": 61.0}
    lab.score(scores.__getitem__)
    (task,) = lab.take(limit=1)
    lab.miss(task)
    lab.rules = StoreRules(desk=DeskRules(delay_s=0.0, host_connections=9, queues=3))
    lab.reopen()
    lab.join(0)
    queues = {name: one.queue for name, one in lab.records().items()}
    assert queues == {"a/1": 2, "a/2": 1, "a/3": 0, "a/4": 1}
    lab.deal([[0, 1, 2]] * 10)
    assert len(lab.lease()) == 3
