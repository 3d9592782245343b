"""A page that is similar to one that was kept, or that another is about to keep, is not kept."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Task
from gossamer.model import Outcome
from gossamer.model.names import Sketch
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("D9", "D10", "B8")

MakeSketch: TypeAlias = Callable[..., Sketch]


def settle_similar(driver: StoreDriver, task: Task) -> None:
    driver.settle(task, Outcome.SIMILAR, size=10, feedback=HostFeedback(ended=driver.now))


def test_a_page_like_one_that_was_kept_is_refused(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    claim = driver.claim(second, sketch=make_sketch("news", 20))
    assert (claim.page_id, claim.duplicate_of, claim.lost) == (None, 1, False)
    assert claim.similarity == pytest.approx(1 - 20 / 255)
    settle_similar(driver, second)
    assert driver.snapshot().outcomes == {"fetched": 1, "similar": 1}
    assert driver.page_numbers() == [1]
    driver.assert_counts_agree()


@pytest.mark.parametrize(("changed", "kept"), [(25, False), (26, True)])
def test_the_threshold_is_met_exactly(
    open_store: OpenStore, make_sketch: MakeSketch, changed: int, *, kept: bool
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    claim = driver.claim(second, sketch=make_sketch("news", changed))
    assert (claim.page_id == 2) is kept


def test_the_same_content_comes_first(open_store: OpenStore, make_sketch: MakeSketch) -> None:
    driver = open_store(similarity=0.5)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, content="one", sketch=make_sketch("news"))
    driver.keep(second, content="two", sketch=make_sketch("sports"))
    claim = driver.claim(third, "two", make_sketch("news"))
    assert (claim.duplicate_of, claim.similarity) == (2, None)


def altered(one: Sketch, *places: range) -> Sketch:
    """Return a sketch that shares the bands and differs from another in these parts of 255."""
    sample = bytearray(one.sample)
    for place in places:
        for at in place:
            sample[at] ^= 1
    return Sketch(one.bands, bytes(sample))


@pytest.mark.parametrize(
    ("places", "duplicate_of", "similarity"),
    [
        pytest.param([], 1, 1 - 20 / 255, id="as like the one as the other: the first"),
        pytest.param([range(100, 105)], 2, 1 - 15 / 255, id="more like the second"),
        pytest.param([range(200, 205)], 1, 1 - 15 / 255, id="more like the first"),
    ],
)
def test_of_several_the_most_similar_is_named(
    open_store: OpenStore,
    make_sketch: MakeSketch,
    places: list[range],
    duplicate_of: int,
    similarity: float,
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    news = make_sketch("news")
    driver.keep(first, sketch=altered(news, range(200, 220)))
    driver.claim(second, sketch=altered(news, range(100, 120)))
    claim = driver.claim(third, sketch=altered(news, *places))
    assert claim.duplicate_of == duplicate_of
    assert claim.similarity == pytest.approx(similarity)


def test_other_pages_are_kept(open_store: OpenStore, make_sketch: MakeSketch) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    driver.keep(second, sketch=make_sketch("sports"))
    driver.keep(third, sketch=None)
    assert driver.page_numbers() == [1, 2, 3]


@pytest.mark.parametrize("committed", [False, True])
def test_likeness_counts_for_its_time(
    open_store: OpenStore, make_sketch: MakeSketch, *, committed: bool
) -> None:
    driver = open_store(similarity=0.9, keep_s=100.0, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    if committed:
        driver.commit()
    driver.now += 99
    driver.renew(second)
    assert driver.claim(second, sketch=make_sketch("news", 5)).duplicate_of == 1
    driver.now += 1
    assert driver.claim(second, sketch=make_sketch("news", 5)).page_id == 2
    driver.keep(second, sketch=make_sketch("news", 5))
    assert driver.records()["b/"].page_id == 2


@pytest.mark.parametrize("restart", [False, True])
def test_what_was_forgotten_is_not_found_again(
    open_store: OpenStore, make_sketch: MakeSketch, *, restart: bool
) -> None:
    driver = open_store(similarity=0.9, keep_s=100.0, delay_s=0.0, lease_s=1e6)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    driver.now += 60
    driver.keep(second, sketch=make_sketch("sports"))
    driver.now += 40
    driver.reap()
    if restart:
        driver.commit()
        driver.crash()
        driver.now += 10
        third = driver.take_one("c/")
    assert driver.claim(third, sketch=make_sketch("sports", 5)).duplicate_of == 2
    assert driver.claim(third, sketch=make_sketch("news", 5)).page_id == 3


def test_likeness_survives_a_restart(open_store: OpenStore, make_sketch: MakeSketch) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"))
    driver.release(second)
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        task = driver.take_one("b/")
        assert driver.claim(task, sketch=make_sketch("news", 10)).duplicate_of == 1
        driver.release(task)


@pytest.mark.parametrize("settled_first", [True, False])
def test_one_like_a_page_that_is_not_kept_is_visited_again(
    open_store: OpenStore, make_sketch: MakeSketch, *, settled_first: bool
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, sketch=make_sketch("news"))
    claim = driver.claim(second, sketch=make_sketch("news", 10))
    assert claim.duplicate_of == 1
    assert claim.similarity == pytest.approx(1 - 10 / 255)
    if settled_first:
        settle_similar(driver, second)
        assert driver.state("b/") is UrlState.DONE
        driver.miss(first)
    else:
        driver.miss(first)
        settle_similar(driver, second)
    assert driver.state("b/") is not UrlState.DONE
    driver.assert_counts_agree()
    driver.keep(driver.take_one("b/"), sketch=make_sketch("news", 10))
    assert driver.page_numbers() == [1]


def test_so_is_one_like_a_page_that_died_with_the_process(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, sketch=make_sketch("news"))
    driver.claim(second, sketch=make_sketch("news", 10))
    settle_similar(driver, second)
    driver.commit()
    driver.crash()
    assert driver.snapshot().waiting == 2
    driver.keep(driver.take_one("b/"), sketch=make_sketch("news", 10))
    assert driver.page_numbers() == [1]


def test_one_like_a_page_that_is_kept_in_the_end_stays_finished(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, sketch=make_sketch("news"))
    driver.claim(second, sketch=make_sketch("news", 10))
    settle_similar(driver, second)
    driver.keep(first, sketch=make_sketch("news"))
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        assert driver.snapshot().outcomes == {"fetched": 1, "similar": 1}
        assert driver.ended_by() == "complete"


def test_who_is_refused_first_and_kept_then_is_no_duplicate(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    """Whose claim it was refused for is given up later, and must not take it along."""
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, sketch=make_sketch("news"))
    assert driver.claim(second, sketch=make_sketch("news", 10)).page_id is None
    driver.keep(second, sketch=make_sketch("sports"))
    driver.miss(first)
    assert driver.state("b/") is UrlState.DONE
    driver.commit()
    driver.crash()
    assert driver.state("b/") is UrlState.DONE
    driver.assert_counts_agree()


def test_who_asks_again_relies_on_the_last_answer(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.claim(first, sketch=make_sketch("news"))
    driver.keep(second, sketch=make_sketch("sports"))
    assert driver.claim(third, sketch=make_sketch("news", 10)).duplicate_of == 1
    assert driver.claim(third, sketch=make_sketch("sports", 10)).duplicate_of == 2
    driver.miss(first)
    settle_similar(driver, third)
    assert driver.state("c/") is UrlState.DONE


def test_the_number_of_a_claim_that_was_given_up_does_not_lead_to_the_next_page(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    assert driver.claim(first, sketch=make_sketch("news")).page_id == 1
    driver.miss(first)
    driver.keep(second, sketch=make_sketch("sports"))
    assert driver.page_numbers() == [1]
    assert driver.claim(third, sketch=make_sketch("news", 5)).page_id == 2


def test_off_keeps_everything(open_store: OpenStore, make_sketch: MakeSketch) -> None:
    driver = open_store(similarity=None)
    driver.add_seeds("a/", "b/", "c/")
    for task in driver.take():
        driver.keep(task, content="duplicate_of", sketch=make_sketch("news"))
    assert driver.page_numbers() == [1, 2, 3]


def test_pages_that_are_half_alike_do_not_make_a_look_up_endless(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    """They share bands all the same; the closest one of the last is found."""
    driver = open_store(similarity=0.9, delay_s=0.0, host_connections=300, worker_queue=4000)
    driver.add_seeds(*[f"a/{number}" for number in range(120)])
    tasks: list[Task] = []
    while leased := driver.take():
        tasks += leased
    frame = make_sketch("frame")
    for number, task in enumerate(tasks[:-1]):
        rest = make_sketch(f"page {number}")
        bands = (frame.bands[0], *rest.bands[1:])
        driver.keep(task, sketch=Sketch(bands, rest.sample))
    claim = driver.claim(tasks[-1], sketch=make_sketch(f"page {len(tasks) - 2}", 10))
    assert claim.duplicate_of == len(tasks) - 1
