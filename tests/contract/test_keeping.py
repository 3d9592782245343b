"""A page that claims its number in the call that settles it ends as if it had asked before."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import digest_of, link

from gossamer.frontier.contract import THIS_PAGE, HostFeedback, KeptPage, Settled, Settlement, Task
from gossamer.model import Outcome
from gossamer.model.names import Sketch
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("D9", "B1")

MakeSketch: TypeAlias = Callable[..., Sketch]


def keep(
    driver: StoreDriver,
    task: Task,
    content: str,
    sketch: Sketch | None = None,
    links: Sequence[str] = (),
) -> Settled:
    page = KeptPage(
        page_id=0, size=10, digest=digest_of(content), content=b"", fetched_at=driver.now
    )
    settlement = Settlement(
        task=task,
        outcome=Outcome.FETCHED,
        size=10,
        page=page,
        links=[link(name) for name in links],
        feedback=HostFeedback(ended=driver.now),
    )
    return driver.setup.run(driver.store.claim_and_settle(settlement, sketch, driver.now))


def test_pages_get_their_numbers_and_a_repeated_one_names_the_first(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9)
    driver.add_seeds("a/", "b/", "c/", "d/")
    first, same, alike, other = driver.take()
    assert keep(driver, first, "one", make_sketch("news"), ["a/1"]).new_links == [link("a/1").key]
    assert keep(driver, same, "one", make_sketch("news"), ["a/2"]).repeats == 1
    undecided = keep(driver, alike, "like one", make_sketch("news", 10), ["a/3"])
    assert (undecided.accepted, undecided.unread) == (False, (THIS_PAGE, 1))
    assert keep(driver, other, "two", make_sketch("sports")).repeats is None
    records = driver.records()
    assert [records[name].page_id for name in ("a/", "b/", "c/", "d/")] == [1, None, None, 2]
    assert records["b/"].outcome is Outcome.DUPLICATE
    assert records["b/"].detail == "the same content as page 1"
    assert records["b/"].duplicate_of == 1
    assert records["c/"].state is UrlState.LEASED, "it is to be compared first"
    assert sorted(records) == ["a/", "a/1", "b/", "c/", "d/"], (
        "links of repeated pages are not added"
    )
    driver.assert_counts_agree()


def test_whoever_has_lost_its_lease_changes_nothing(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/")
    (task,) = driver.take()
    driver.dismiss(0)
    assert not keep(driver, task, "one", links=["a/1"]).accepted
    assert driver.page_numbers() == []
    assert sorted(driver.records()) == ["a/"]


def test_a_page_that_is_visited_again_keeps_its_number_and_is_compared_as_it_is_now(
    open_store: OpenStore, make_sketch: MakeSketch
) -> None:
    driver = open_store(similarity=0.9, revisit_s=100.0)
    driver.add_seeds("a/", "b/")
    first, finder = driver.take()
    assert keep(driver, first, "one", make_sketch("news")).accepted
    driver.now += 100
    driver.renew(finder)
    assert keep(driver, finder, "links", links=["a/"]).new_links == [link("a/").key]
    assert keep(driver, driver.take_one("a/"), "two", make_sketch("sports")).accepted
    driver.add_seeds("c/", "d/", "e/")
    before, now, alike = driver.take()
    assert keep(driver, before, "one", make_sketch("news")).accepted
    assert keep(driver, now, "two", make_sketch("sports")).accepted
    assert keep(driver, alike, "three", make_sketch("sports", 10)).unread == (THIS_PAGE, 1)
    records = driver.records()
    assert [records[name].page_id for name in ("a/", "b/", "c/", "d/")] == [1, 2, 3, None]
    assert records["d/"].duplicate_of == 1
    driver.assert_counts_agree()


def test_a_page_repeats_one_that_is_only_claimed_and_is_tried_again_if_that_is_given_up(
    open_store: OpenStore,
) -> None:
    driver = open_store(similarity=1.0, delay_s=0.0)
    driver.add_seeds("a/", "b/")
    claims, repeats = driver.take()
    assert driver.claim(claims, "one").page_id == 1
    assert keep(driver, repeats, "one").accepted
    assert driver.records()["b/"].duplicate_of == 1
    driver.miss(claims)
    assert driver.state("b/") is not UrlState.DONE
    assert keep(driver, driver.take_one("b/"), "one").accepted
    assert driver.records()["b/"].page_id == 1
    driver.assert_counts_agree()
