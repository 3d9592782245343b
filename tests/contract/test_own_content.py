"""Pages that look alike are the same only if what they say themselves is alike as well."""

from collections.abc import Callable
from typing import TypeAlias

import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import link, own_of

from gossamer.frontier.contract import THIS_PAGE, Claim, HostFeedback, Settlement, Task, as_claimed
from gossamer.model import Outcome
from gossamer.model.names import Sketch
from gossamer.stores.bodies import read_content

pytestmark = pytest.mark.req("D9", "D10", "B8")

MakeSketch: TypeAlias = Callable[..., Sketch]

LITTLE = b""


def settle_as(driver: StoreDriver, task: Task, claim: Claim, *links: str) -> None:
    settlement = Settlement(
        task=task,
        outcome=Outcome.FETCHED,
        links=[link(name) for name in links],
        feedback=HostFeedback(ended=driver.now),
    )
    driver.settle_as(as_claimed(settlement, claim))


def test_the_own_contents_are_asked_for_where_the_text_is_similar(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, sketch=make_sketch("news"), own=None)
    driver.keep(second, sketch=make_sketch("sports"), own=None)
    for _ in range(2):
        claim = driver.claim(third, sketch=make_sketch("news", 10), own=None)
        assert claim == Claim(unread=(THIS_PAGE, 1)), "and a repeated claim gets the same answer"
    assert driver.page_numbers() == [1, 2]


@pytest.mark.parametrize(
    ("mine", "its", "kept"),
    [
        pytest.param(own_of(), own_of(25), False, id="alike"),
        pytest.param(own_of(), own_of(26), True, id="just not"),
        pytest.param(LITTLE, own_of(), True, id="little of its own"),
        pytest.param(own_of(), LITTLE, True, id="the other has little of its own"),
        pytest.param(LITTLE, LITTLE, True, id="both have"),
    ],
)
def test_they_decide(
    open_store: OpenStore, make_sketch: MakeSketch, mine: bytes, its: bytes, *, kept: bool
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"), own=None)
    own = {THIS_PAGE: mine, 1: its}
    claim = driver.claim(second, sketch=make_sketch("news", 10), own=own)
    if kept:
        assert claim == Claim(2)
        return
    assert (claim.page_id, claim.duplicate_of, claim.unread) == (None, 1, ())
    assert claim.similarity == pytest.approx(1 - 10 / 255)
    assert claim.own_similarity == pytest.approx(1 - 25 / 255)


@pytest.mark.parametrize("committed", [False, True])
def test_what_was_read_is_not_asked_for_again(
    open_store: OpenStore, make_sketch: MakeSketch, *, committed: bool
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, sketch=make_sketch("news"), own=None)
    own = {THIS_PAGE: own_of(200), 1: own_of()}
    driver.keep(second, sketch=make_sketch("news", 10), own=own)
    if committed:
        driver.release(third)
        driver.reopen()
        third = driver.take_one("c/")
    claim = driver.claim(third, sketch=make_sketch("news", 5), own=None)
    assert claim.unread == (THIS_PAGE,), "that of the second came with its claim"
    claim = driver.claim(third, sketch=make_sketch("news", 5), own={THIS_PAGE: own_of(200)})
    assert claim.duplicate_of == 2
    claim = driver.claim(third, sketch=make_sketch("news", 5), own={THIS_PAGE: own_of(10)})
    assert claim.duplicate_of == 1


def test_of_pages_that_look_alike_the_most_similar_one_with_the_same_content_is_named(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, sketch=make_sketch("news"), own={THIS_PAGE: own_of(200)})
    driver.keep(second, sketch=make_sketch("news", 20), own={THIS_PAGE: own_of()})
    claim = driver.claim(third, sketch=make_sketch("news", 5), own={THIS_PAGE: own_of(10)})
    assert claim.duplicate_of == 2, "though the text of the first is more similar"


def test_only_the_most_similar_are_to_be_read(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    """Six pages that are not similar to each other, and one between them."""
    driver = open_store(similarity=0.9, delay_s=0.0, host_connections=7)
    driver.add_seeds(*[f"a/{number}" for number in range(7)])
    *tasks, last = driver.take()
    news = make_sketch("news")
    for number, task in enumerate(tasks):
        places = range(30 * number, 30 * number + 20 - number)
        sample = bytes(one ^ (at in places) for at, one in enumerate(news.sample))
        driver.keep(task, sketch=Sketch(news.bands, sample), own=None)
    assert driver.claim(last, sketch=news, own=None).unread == (THIS_PAGE, 6, 5, 4, 3)


def test_one_that_nobody_could_read_is_another_page(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, sketch=make_sketch("news"), own=None)
    own = {THIS_PAGE: own_of()}
    assert driver.claim(second, sketch=make_sketch("news"), own=own).page_id == 2


def test_bodies_are_read_as_soon_as_they_are_kept(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, keep_s=100.0)
    driver.add_seeds("a/")
    (task,) = driver.take()
    assert driver.stored_body(1).content is None
    assert not driver.stored_body(1).claimed
    driver.claim(task, sketch=make_sketch("news"), own=None)
    assert driver.stored_body(1).claimed
    driver.keep(task, content="the words", sketch=make_sketch("news"))
    stored = driver.stored_body(1)
    assert stored.content is not None
    assert read_content(stored.content).body() == b"the words"
    assert not stored.claimed
    driver.now += 101
    driver.expire()
    assert driver.stored_body(1).content is None


def test_a_similar_page_is_not_kept_and_its_links_are_followed(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0)
    driver.add_seeds("a/", "b/", "c/")
    first, similar, same = driver.take()
    driver.keep(first, ["a/1"], content="one", sketch=make_sketch("news"))
    claim = driver.claim(similar, sketch=make_sketch("news", 10))
    settle_as(driver, similar, claim, "b/1")
    settle_as(driver, same, driver.claim(same, "one"), "c/1")
    driver.commit()
    driver.crash()
    records = driver.records()
    assert sorted(records) == ["a/", "a/1", "b/", "b/1", "c/"]
    assert (records["b/1"].depth, records["b/1"].parent) == (1, records["b/"].id)
    assert driver.page_numbers() == [1]
    told = records["b/"]
    assert (told.outcome, told.duplicate_of) == (Outcome.SIMILAR, 1)
    assert told.detail == "96 % like page 1, 100 % in its own content"
    assert (told.similarity, told.own_similarity) == (0.9608, 1.0)
    assert (records["c/"].outcome, records["c/"].similarity) == (Outcome.DUPLICATE, None)
    driver.assert_counts_agree()


def test_a_shorter_path_goes_on_behind_a_similar_page(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, delay_s=0.0, max_depth=2)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.keep(first, ["a/1"], sketch=make_sketch("news"))
    (one,) = driver.take()
    driver.keep(one, ["a/2"])
    (two,) = driver.take()
    settle_as(driver, two, driver.claim(two, sketch=make_sketch("news", 10)), "a/3")
    assert driver.depths()["a/3"] == 3
    driver.keep(second, ["a/2"])
    assert driver.depths()["a/3"] == 2
    assert driver.name(driver.take()[0]) == "a/3"
