"""Pages are numbered 1, 2, 3 … without holes, and no content is kept twice."""

import pytest
from tests.contract.driver import OpenStore

from gossamer.frontier.contract import HostFeedback
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B1", "D9")


def test_numbers_are_given_in_the_order_of_claims(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    assert driver.claim(second).page_id == 1
    assert driver.claim(first).page_id == 2
    assert driver.claim(second).page_id == 1, "asked again, it is the same"
    driver.keep(third)
    driver.keep(first)
    driver.keep(second)
    assert driver.page_numbers() == [1, 2, 3]


@pytest.mark.parametrize("end", ["missing", "retry", "released", "reaped", "unwanted type"])
def test_the_number_of_a_page_that_is_not_kept_goes_to_the_next(
    open_store: OpenStore, end: str
) -> None:
    driver = open_store(lease_s=60.0)
    driver.add_seeds("a/", "b/", "c/", "d/")
    failing, other, third, fourth = driver.take()
    assert driver.claim(failing).page_id == 1
    driver.keep(other)
    match end:
        case "missing":
            driver.miss(failing)
        case "retry":
            driver.retry(failing)
        case "released":
            driver.release(failing)
        case "unwanted type":
            driver.settle(
                failing, Outcome.UNWANTED_TYPE, size=5, feedback=HostFeedback(ended=driver.now)
            )
        case _:
            driver.now += 59
            driver.renew(third, fourth)
            driver.now += 1
            driver.reap()
    assert driver.gaps() == {1}
    driver.keep(third)
    assert driver.gaps() == frozenset()
    driver.keep(fourth)
    assert driver.page_numbers() == [1, 2, 3]


def test_what_was_claimed_when_the_process_died_is_given_again(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9)
    driver.add_seeds(*[f"a/{number}" for number in range(6)])
    tasks = driver.take()
    for task in tasks[:4]:
        driver.claim(task)
    driver.keep(tasks[1])
    driver.keep(tasks[3])
    assert driver.page_numbers() == [2, 4]
    driver.commit()
    driver.crash()
    assert driver.last_page() == 4
    assert driver.gaps() == {1, 3}
    for task in driver.take():
        driver.keep(task)
    assert driver.page_numbers() == [1, 2, 3, 4, 5, 6]


def test_the_same_content_is_not_kept_twice(open_store: OpenStore) -> None:
    driver = open_store(keep_s=100.0)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    driver.keep(first, content="duplicate_of")
    claim = driver.claim(second, "duplicate_of")
    assert (claim.page_id, claim.duplicate_of, claim.lost) == (None, 1, False)
    driver.settle(second, Outcome.DUPLICATE, size=10, feedback=HostFeedback(ended=driver.now))
    assert driver.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
    driver.now += 99
    driver.renew(third)
    assert driver.claim(third, "duplicate_of").duplicate_of == 1
    driver.now += 1
    assert driver.claim(third, "duplicate_of").page_id == 2, "the content is forgotten"


def test_duplicates_are_kept_on_request(open_store: OpenStore) -> None:
    driver = open_store(similarity=None)
    driver.add_seeds("a/", "b/", "c/")
    first, second, third = driver.take()
    assert [driver.claim(task, "duplicate_of").page_id for task in (first, second, third)] == [
        1,
        2,
        3,
    ]
    driver.release(first)
    driver.keep(second, content="duplicate_of")
    driver.keep(third, content="duplicate_of")
    assert driver.page_numbers() == [2, 3]
    assert driver.gaps() == {1}


def test_of_duplicates_in_progress_the_first_to_claim_is_kept(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    assert driver.claim(first, "duplicate_of").page_id == 1
    assert driver.claim(second, "duplicate_of").duplicate_of == 1
    driver.settle(second, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    driver.keep(first, content="duplicate_of")
    assert driver.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
    assert driver.ended_by() == "complete"


@pytest.mark.parametrize("settled_first", [True, False])
def test_a_duplicate_of_a_page_that_is_not_kept_is_visited_again(
    open_store: OpenStore, settled_first: bool
) -> None:
    """Otherwise the content would be lost, although two pages have it."""
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, "duplicate_of")
    assert driver.claim(second, "duplicate_of").duplicate_of == 1
    if settled_first:
        driver.settle(second, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
        assert driver.state("b/") is UrlState.DONE
        driver.miss(first)
    else:
        driver.miss(first)
        driver.settle(second, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    assert driver.state("b/") is not UrlState.DONE
    driver.assert_counts_agree()
    driver.keep(driver.take_one("b/"), content="duplicate_of")
    assert driver.page_numbers() == [1]
    assert driver.snapshot().outcomes == {"not_found": 1, "fetched": 1}


def test_so_is_one_whose_original_died_with_the_process(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, "duplicate_of")
    driver.claim(second, "duplicate_of")
    driver.settle(second, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    driver.commit()
    driver.crash()
    assert driver.snapshot().waiting == 2
    driver.assert_counts_agree()
    tasks = {driver.name(task): task for task in driver.take()}
    driver.miss(tasks["a/"])
    driver.keep(tasks["b/"], content="duplicate_of")
    assert driver.page_numbers() == [1]


def test_a_duplicate_stays_one_when_its_original_is_kept(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, "duplicate_of")
    driver.claim(second, "duplicate_of")
    driver.settle(second, Outcome.DUPLICATE, feedback=HostFeedback(ended=driver.now))
    driver.keep(first, content="duplicate_of")
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        assert driver.snapshot().outcomes == {"fetched": 1, "duplicate": 1}
        assert driver.ended_by() == "complete"


def test_a_refused_page_that_ends_otherwise_relies_on_nobody(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, "duplicate_of")
    assert driver.claim(second, "duplicate_of").page_id is None
    driver.redirect(second, "c/")
    driver.commit()
    driver.crash()
    assert driver.state("b/") is UrlState.DONE
    driver.assert_counts_agree()


def test_a_refused_page_that_goes_back_to_wait_relies_on_nobody(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    driver.claim(first, "duplicate_of")
    assert driver.claim(second, "duplicate_of").page_id is None
    driver.release(second)
    again = driver.take_one("b/")
    driver.miss(first)
    driver.keep(again, content="something else")
    assert driver.page_numbers() == [1]
    driver.assert_counts_agree()
