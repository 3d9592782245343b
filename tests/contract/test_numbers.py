"""Pages are numbered 1, 2, 3 … without holes, and no content is kept twice."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Outcome
from gossamer.stores.contract import Pace, Place

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B1", "D9")


def test_numbers_are_given_in_the_order_of_claims(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab()
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    assert lab.claim(second).page_id == 1
    assert lab.claim(first).page_id == 2
    assert lab.claim(second).page_id == 1, "asked again, it is the same"
    lab.keep(third)
    lab.keep(first)
    lab.keep(second)
    assert lab.page_numbers() == [1, 2, 3]


@pytest.mark.parametrize("end", ["missing", "retry", "put back", "reaped", "not html"])
def test_the_number_of_a_page_that_is_not_kept_goes_to_the_next(
    open_lab: "Callable[..., Lab]", end: str
) -> None:
    lab = open_lab(lease_s=60.0)
    lab.plant("a/", "b/", "c/", "d/")
    failing, other, third, fourth = lab.take()
    assert lab.claim(failing).page_id == 1
    lab.keep(other)
    match end:
        case "missing":
            lab.miss(failing)
        case "retry":
            lab.retry(failing)
        case "put back":
            lab.put_back(failing)
        case "not html":
            lab.settle(failing, Outcome.NOT_HTML, size=5, pace=Pace(ended=lab.now))
        case _:
            lab.now += 59
            lab.renew(third, fourth)
            lab.now += 1
            lab.reap()
    assert lab.gaps() == {1}
    lab.keep(third)
    assert lab.gaps() == frozenset()
    lab.keep(fourth)
    assert lab.page_numbers() == [1, 2, 3]


def test_what_was_claimed_when_the_process_died_is_given_again(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=9)
    lab.plant(*[f"a/{number}" for number in range(6)])
    tasks = lab.take()
    for task in tasks[:4]:
        lab.claim(task)
    lab.keep(tasks[1])
    lab.keep(tasks[3])
    assert lab.page_numbers() == [2, 4]
    lab.commit()
    lab.crash()
    assert lab.last_page() == 4
    assert lab.gaps() == {1, 3}
    for task in lab.take():
        lab.keep(task)
    assert lab.page_numbers() == [1, 2, 3, 4, 5, 6]


def test_the_same_content_is_not_kept_twice(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(ttl_s=100.0)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    lab.keep(first, content="twin")
    claim = lab.claim(second, "twin")
    assert (claim.page_id, claim.twin_of, claim.lost) == (None, 1, False)
    lab.settle(second, Outcome.DUPLICATE, size=10, pace=Pace(ended=lab.now))
    assert lab.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
    lab.now += 99
    lab.renew(third)
    assert lab.claim(third, "twin").twin_of == 1
    lab.now += 1
    assert lab.claim(third, "twin").page_id == 2, "the content is forgotten"


def test_twins_may_be_kept_if_one_likes(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(similarity=None)
    lab.plant("a/", "b/", "c/")
    first, second, third = lab.take()
    assert [lab.claim(task, "twin").page_id for task in (first, second, third)] == [1, 2, 3]
    lab.put_back(first)
    lab.keep(second, content="twin")
    lab.keep(third, content="twin")
    assert lab.page_numbers() == [2, 3]
    assert lab.gaps() == {1}


def test_of_twins_in_work_the_first_to_claim_is_kept(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab()
    lab.plant("a/", "b/")
    first, second = lab.take()
    assert lab.claim(first, "twin").page_id == 1
    assert lab.claim(second, "twin").twin_of == 1
    lab.settle(second, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
    lab.keep(first, content="twin")
    assert lab.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
    assert lab.ended_by() == "complete"


@pytest.mark.parametrize("settled_first", [True, False])
def test_a_duplicate_of_a_page_that_is_not_kept_is_visited_again(
    open_lab: "Callable[..., Lab]", settled_first: bool
) -> None:
    """Otherwise the content would be lost, although two pages have it."""
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, "twin")
    assert lab.claim(second, "twin").twin_of == 1
    if settled_first:
        lab.settle(second, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
        assert lab.place("b/") is Place.FINISHED
        lab.miss(first)
    else:
        lab.miss(first)
        lab.settle(second, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
    assert lab.place("b/") is not Place.FINISHED
    lab.assert_counts_agree()
    lab.keep(lab.take_one("b/"), content="twin")
    assert lab.page_numbers() == [1]
    assert lab.snapshot().outcomes == {"not_found": 1, "fetched": 1}


def test_so_is_one_whose_twin_died_with_the_process(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, "twin")
    lab.claim(second, "twin")
    lab.settle(second, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
    lab.commit()
    lab.crash()
    assert lab.snapshot().waiting == 2
    lab.assert_counts_agree()
    tasks = {lab.name(task): task for task in lab.take()}
    lab.miss(tasks["a/"])
    lab.keep(tasks["b/"], content="twin")
    assert lab.page_numbers() == [1]


def test_a_duplicate_stays_one_when_its_twin_is_kept(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, "twin")
    lab.claim(second, "twin")
    lab.settle(second, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
    lab.keep(first, content="twin")
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        restart()
        assert lab.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
        assert lab.ended_by() == "complete"


def test_a_refused_page_that_ends_otherwise_relies_on_nobody(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, "twin")
    assert lab.claim(second, "twin").page_id is None
    lab.redirect(second, "c/")
    lab.commit()
    lab.crash()
    assert lab.place("b/") is Place.FINISHED
    lab.assert_counts_agree()


def test_a_refused_page_that_goes_back_to_wait_relies_on_nobody(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0)
    lab.plant("a/", "b/")
    first, second = lab.take()
    lab.claim(first, "twin")
    assert lab.claim(second, "twin").page_id is None
    lab.put_back(second)
    again = lab.take_one("b/")
    lab.miss(first)
    lab.keep(again, content="something else")
    assert lab.page_numbers() == [1]
    lab.assert_counts_agree()
