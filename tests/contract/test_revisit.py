"""A URL that is found again after its time is visited again, and is the same page."""

import pytest
from tests.contract.driver import WHATEVER, OpenStore, StoreDriver
from tests.contract.samples import sketch_of

from gossamer.frontier.contract import MAX_ATTEMPTS, THIS_PAGE, HostFeedback, Task
from gossamer.model import Outcome
from gossamer.stores.url_record import PageRecord, UrlState

pytestmark = pytest.mark.req("D11")


def test_a_link_is_known_for_its_time_and_new_after_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, revisit_s=3600.0, similarity=None)
    driver.add_seeds("a/1", "b/1", "b/2", "b/3")
    start = driver.now
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"])
    driver.now = start + 3599
    driver.renew(*tasks.values())
    assert driver.keep(tasks["b/1"], ["a/1"]).new_links == []
    driver.now = start + 3600
    assert driver.keep(tasks["b/2"], ["a/1", "b/1"]).new_links == [driver.key("a/1")]
    assert driver.state("a/1") is UrlState.UNSCORED
    assert driver.state("b/1") is UrlState.DONE, "it was finished later"
    driver.now += 1
    assert driver.keep(tasks["b/3"], ["a/1"]).new_links == [], "it waits already"
    driver.assert_counts_agree()
    assert driver.snapshot().outcomes == {"fetched": 3}


def test_what_waits_or_is_in_progress_is_never_forgotten(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, revisit_s=10.0, lease_s=1e6)
    driver.add_seeds("a/1", "a/2", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.release(tasks["a/2"])
    driver.now += 1000
    assert driver.keep(tasks["b/1"], ["a/1", "a/2"]).new_links == []
    assert driver.state("a/1") is UrlState.LEASED
    driver.assert_counts_agree()


def test_by_default_nothing_is_ever_visited_again(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, lease_s=1e12)
    driver.add_seeds("a/1", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"])
    driver.now += 1e9
    assert driver.keep(tasks["b/1"], ["a/1"]).new_links == []
    assert driver.ended_by() == "complete"


def revisit(driver: StoreDriver, name: str) -> Task:
    """Let a link to a URL be found again after its time; return its next task."""
    driver.now += driver.rules.revisit_s
    finder = f"finder/{driver.now}"
    driver.add_seeds(finder)
    driver.keep(driver.take_one(finder), [name])
    return driver.take_one(name)


def page_of(driver: StoreDriver, name: str) -> PageRecord:
    (page,) = [page for page in driver.setup.pages() if driver.name_of(page.url) == name]
    return page


def test_visited_again_it_is_the_same_page(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1")
    driver.keep(driver.take_one("a/1"), content="before", size=10)
    for visit, content in ((2, "before"), (3, "after")):
        again = revisit(driver, "a/1")
        assert again.attempt == visit
        claim = driver.claim(again, content)
        assert (claim.page_id, claim.again) == (1, True)
        assert driver.claim(again, content) == claim, "a second claim got another answer"
        driver.keep(again, content=content, size=20)
        assert driver.content(1) == content.encode()
        page = page_of(driver, "a/1")
        assert (page.id, page.visits, page.bytes, page.fetched_at) == (1, visit, 20, driver.now)
    snapshot = driver.snapshot()
    assert (snapshot.pages, snapshot.visits, snapshot.bytes) == (3, 5, 250)
    assert driver.page_numbers() == [1, 2, 3]
    (host,) = [one for one in driver.hosts(10) if one.host == "a.test"]
    assert host.pages == 1
    driver.assert_counts_agree()
    driver.reopen()
    snapshot = driver.snapshot()
    assert (snapshot.pages, snapshot.visits) == (3, 5)


def test_others_are_compared_with_the_last_version(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, revisit_s=10.0, similarity=0.9)
    driver.add_seeds("a/1", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    old, new = sketch_of("the old text", 0), sketch_of("the new text", 0)
    driver.keep(tasks["a/1"], content="old", sketch=old)
    driver.keep(tasks["b/1"], content="other", sketch=sketch_of("the other text", 0))
    again = revisit(driver, "a/1")
    driver.claim(again, "new", new)
    driver.add_seeds("c/1", "c/2", "c/3")
    (task,) = driver.take(limit=1)
    assert driver.claim(task, "old").duplicate_of == 1, "until the new version is kept"
    driver.keep(again, content="new", sketch=new)
    assert driver.claim(task, "new").duplicate_of == 1
    own = {**WHATEVER, 1: WHATEVER[THIS_PAGE]}  # of the new version it was not known
    assert driver.claim(task, "like the new", new, own).duplicate_of == 1
    assert driver.claim(task, "other").duplicate_of == 2
    assert driver.claim(task, "like the old", old).page_id is not None


def test_a_page_keeps_its_number_whatever_it_repeats(open_store: OpenStore) -> None:
    """It was compared when it became a page: what it says now may be what another page says."""
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1", "b/1", "c/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/1"], content="one")
    driver.keep(tasks["b/1"], content="two")
    again = revisit(driver, "b/1")
    driver.keep(again, content="one")
    assert page_of(driver, "b/1").id == 2
    driver.keep(revisit(driver, "b/1"), content="two")
    assert driver.claim(tasks["c/1"], "one").duplicate_of == 1, "the other page still says it"
    driver.assert_counts_agree()


@pytest.mark.parametrize("ending", ["missed", "lost", "crashed"])
def test_a_page_stays_if_a_later_visit_yields_none(open_store: OpenStore, ending: str) -> None:
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1")
    driver.keep(driver.take_one("a/1"), content="kept")
    again = revisit(driver, "a/1")
    driver.claim(again, "never settled", sketch_of("never settled", 0))
    match ending:
        case "missed":
            driver.miss(again)
            assert driver.records()["a/1"].outcome is Outcome.NOT_FOUND
        case "lost":
            driver.release(again)
        case _:
            driver.commit()
            driver.crash()
    assert page_of(driver, "a/1").id == 1
    assert driver.content(1) == b"kept"
    assert driver.records()["a/1"].page_id == 1
    driver.assert_counts_agree()
    driver.add_seeds("b/1")
    new = driver.take_one("b/1")
    assert driver.claim(new, "kept").duplicate_of == 1
    assert driver.claim(new, "never settled").page_id == 3, "no number is free, none is left out"


def test_each_visit_counts_against_the_budget(open_store: OpenStore) -> None:
    """So that pages which link to each other come to an end."""
    driver = open_store(delay_s=0.0, revisit_s=10.0, max_pages=7)
    driver.add_seeds("a/1")
    driver.keep(driver.take_one("a/1"), ["b/1"])
    while tasks := driver.take():
        driver.now += 10
        for task in tasks:
            driver.keep(task, ["a/1", "b/1"])
    assert driver.ended_by() == "max-pages"
    snapshot = driver.snapshot()
    assert (snapshot.pages, snapshot.visits) == (2, 7)


def test_seeds_are_not_forgotten(open_store: OpenStore) -> None:
    """A crawl that goes on after a long break would start over with every start."""
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.keep(task)
    driver.now += 1000
    assert driver.add_seeds("a/1") == 0
    assert driver.ended_by() == "complete"


def test_a_failed_url_is_forgotten_as_well(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1", "b/1")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.settle(tasks["a/1"], Outcome.TIMED_OUT, feedback=HostFeedback(ended=driver.now))
    driver.now += 10
    assert driver.keep(tasks["b/1"], ["a/1"]).new_links == [driver.key("a/1")]
    assert driver.snapshot().outcomes == {"fetched": 1}


def test_a_url_is_not_visited_without_end(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, revisit_s=10.0)
    driver.add_seeds("a/1")
    driver.keep(driver.take_one("a/1"))
    url_id = driver.records()["a/1"].id
    driver.setup.set_attempts(url_id, MAX_ATTEMPTS - 1)
    driver.keep(revisit(driver, "a/1"))
    driver.now += 10
    driver.add_seeds("b/1")
    assert driver.keep(driver.take_one("b/1"), ["a/1"]).new_links == []
    assert driver.ended_by() == "complete"
