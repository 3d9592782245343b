"""A page that resembles one that was kept, or that another is about to keep, is not kept."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pytest

from gossamer.content.similarity import Sketch
from gossamer.model import Outcome
from gossamer.stores.contract import Pace, Place, Task

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("D9", "D10", "B8")

MakeSketch: TypeAlias = Callable[..., Sketch]


def settle_similar(lab: "Lab", task: Task) -> None:
    lab.settle(task, Outcome.SIMILAR, size=10, pace=Pace(ended=lab.now))


def test_a_page_like_one_that_was_kept_is_refused(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    claim = lab.claim(second, sketch=make_sketch("news", 20))
    assert (claim.page_id, claim.twin_of, claim.lost) == (None, 1, False)
    assert claim.similarity == pytest.approx(1 - 20 / 255)
    settle_similar(lab, second)
    assert lab.snapshot().outcomes == {"fetched": 1, "similar": 1}
    assert lab.page_numbers() == [1]
    lab.assert_counts_agree()


@pytest.mark.parametrize(("changed", "kept"), [(25, False), (26, True)])
def test_the_threshold_is_met_exactly(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch, changed: int, *, kept: bool
) -> None:
    lab = open_lab(similarity=0.9)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    claim = lab.claim(second, sketch=make_sketch("news", changed))
    assert (claim.page_id == 2) is kept


def test_the_same_content_comes_first(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.5)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    lab.keep(first, content="one", sketch=make_sketch("news"))
    lab.keep(second, content="two", sketch=make_sketch("sports"))
    claim = lab.claim(third, "two", make_sketch("news"))
    assert (claim.twin_of, claim.similarity) == (2, None)


def altered(one: Sketch, *places: range) -> Sketch:
    """Return a sketch that shares the bands and differs from another in these parts of 255."""
    sample = bytearray(one.sample)
    for place in places:
        for at in place:
            sample[at] ^= 1
    return Sketch(one.bands, bytes(sample))


@pytest.mark.parametrize(
    ("places", "twin", "similarity"),
    [
        pytest.param([], 1, 1 - 20 / 255, id="as like the one as the other: the first"),
        pytest.param([range(100, 105)], 2, 1 - 15 / 255, id="more like the second"),
        pytest.param([range(200, 205)], 1, 1 - 15 / 255, id="more like the first"),
    ],
)
def test_of_several_the_most_similar_is_named(
    open_lab: "Callable[..., Lab]",
    make_sketch: MakeSketch,
    places: list[range],
    twin: int,
    similarity: float,
) -> None:
    lab = open_lab(similarity=0.9)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    news = make_sketch("news")
    lab.keep(first, sketch=altered(news, range(200, 220)))
    lab.claim(second, sketch=altered(news, range(100, 120)))
    claim = lab.claim(third, sketch=altered(news, *places))
    assert claim.twin_of == twin
    assert claim.similarity == pytest.approx(similarity)


def test_other_pages_are_kept(open_lab: "Callable[..., Lab]", make_sketch: MakeSketch) -> None:
    lab = open_lab(similarity=0.9)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    lab.keep(second, sketch=make_sketch("sports"))
    lab.keep(third, sketch=None)
    assert lab.page_numbers() == [1, 2, 3]


@pytest.mark.parametrize("committed", [False, True])
def test_likeness_counts_for_its_time(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch, *, committed: bool
) -> None:
    lab = open_lab(similarity=0.9, ttl_s=100.0, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    if committed:
        lab.commit()
    lab.now += 99
    lab.renew(second)
    assert lab.claim(second, sketch=make_sketch("news", 5)).twin_of == 1
    lab.now += 1
    assert lab.claim(second, sketch=make_sketch("news", 5)).page_id == 2
    lab.keep(second, sketch=make_sketch("news", 5))
    assert lab.records()["b/"].page_id == 2


@pytest.mark.parametrize("restart", [False, True])
def test_what_was_forgotten_is_not_found_again(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch, *, restart: bool
) -> None:
    lab = open_lab(similarity=0.9, ttl_s=100.0, delay_s=0.0, lease_s=1e6)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    lab.now += 60
    lab.keep(second, sketch=make_sketch("sports"))
    lab.now += 40
    lab.reap()
    if restart:
        lab.commit()
        lab.crash()
        lab.now += 10
        third = lab.take_one("c/")
    assert lab.claim(third, sketch=make_sketch("sports", 5)).twin_of == 2
    assert lab.claim(third, sketch=make_sketch("news", 5)).page_id == 3


def test_likeness_survives_a_restart(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.keep(first, sketch=make_sketch("news"))
    lab.put_back(second)
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        restart()
        task = lab.take_one("b/")
        assert lab.claim(task, sketch=make_sketch("news", 10)).twin_of == 1
        lab.put_back(task)


@pytest.mark.parametrize("settled_first", [True, False])
def test_one_like_a_page_that_is_not_kept_is_visited_again(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch, *, settled_first: bool
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, sketch=make_sketch("news"))
    claim = lab.claim(second, sketch=make_sketch("news", 10))
    assert claim.twin_of == 1
    assert claim.similarity == pytest.approx(1 - 10 / 255)
    if settled_first:
        settle_similar(lab, second)
        assert lab.place("b/") is Place.FINISHED
        lab.miss(first)
    else:
        lab.miss(first)
        settle_similar(lab, second)
    assert lab.place("b/") is not Place.FINISHED
    lab.assert_counts_agree()
    lab.keep(lab.take_one("b/"), sketch=make_sketch("news", 10))
    assert lab.page_numbers() == [1]


def test_so_is_one_like_a_page_that_died_with_the_process(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, sketch=make_sketch("news"))
    lab.claim(second, sketch=make_sketch("news", 10))
    settle_similar(lab, second)
    lab.commit()
    lab.crash()
    assert lab.snapshot().waiting == 2
    lab.keep(lab.take_one("b/"), sketch=make_sketch("news", 10))
    assert lab.page_numbers() == [1]


def test_one_like_a_page_that_is_kept_in_the_end_stays_finished(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, sketch=make_sketch("news"))
    lab.claim(second, sketch=make_sketch("news", 10))
    settle_similar(lab, second)
    lab.keep(first, sketch=make_sketch("news"))
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        restart()
        assert lab.snapshot().outcomes == {"fetched": 1, "similar": 1}
        assert lab.ended_by() == "complete"


def test_who_is_refused_first_and_kept_then_is_no_duplicate(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    """Whose claim it was refused for is given up later, and must not take it along."""
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, sketch=make_sketch("news"))
    assert lab.claim(second, sketch=make_sketch("news", 10)).page_id is None
    lab.keep(second, sketch=make_sketch("sports"))
    lab.miss(first)
    assert lab.place("b/") is Place.FINISHED
    lab.commit()
    lab.crash()
    assert lab.place("b/") is Place.FINISHED
    lab.assert_counts_agree()


def test_who_asks_again_relies_on_the_last_answer(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    lab.claim(first, sketch=make_sketch("news"))
    lab.keep(second, sketch=make_sketch("sports"))
    assert lab.claim(third, sketch=make_sketch("news", 10)).twin_of == 1
    assert lab.claim(third, sketch=make_sketch("sports", 10)).twin_of == 2
    lab.miss(first)
    settle_similar(lab, third)
    assert lab.place("c/") is Place.FINISHED


def test_the_number_of_a_claim_that_was_given_up_does_not_lead_to_the_next_page(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    lab = open_lab(similarity=0.9, delay_s=0.0)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    assert lab.claim(first, sketch=make_sketch("news")).page_id == 1
    lab.miss(first)
    lab.keep(second, sketch=make_sketch("sports"))
    assert lab.page_numbers() == [1]
    assert lab.claim(third, sketch=make_sketch("news", 5)).page_id == 2


def test_off_keeps_everything(open_lab: "Callable[..., Lab]", make_sketch: MakeSketch) -> None:
    lab = open_lab(similarity=None)
    lab.plant("a/", "b/", "c/")
    for task in lab.take():
        lab.keep(task, content="twin", sketch=make_sketch("news"))
    assert lab.page_numbers() == [1, 2, 3]


def test_pages_that_are_half_alike_do_not_make_a_look_up_endless(
    open_lab: "Callable[..., Lab]", make_sketch: MakeSketch
) -> None:
    """They share bands all the same; the closest one of the last is found."""
    lab = open_lab(similarity=0.9, delay_s=0.0, host_connections=300, worker_queue=4000)
    lab.plant(*[f"a/{number}" for number in range(120)])
    tasks: list[Task] = []
    while leased := lab.take():
        tasks += leased
    frame = make_sketch("frame")
    for number, task in enumerate(tasks[:-1]):
        rest = make_sketch(f"page {number}")
        bands = (frame.bands[0], *rest.bands[1:])
        lab.keep(task, sketch=Sketch(bands, rest.sample))
    claim = lab.claim(tasks[-1], sketch=make_sketch(f"page {len(tasks) - 2}", 10))
    assert claim.twin_of == len(tasks) - 1
