"""The log of results has what was settled with a page or with records, once and in order."""

import msgspec
import pytest
from tests.contract.driver import OpenStore
from tests.contract.samples import digest_of, link, name_of

from gossamer.frontier.contract import HostFeedback, KeptPage, Settlement
from gossamer.model import Outcome
from gossamer.stores.url_record import Record

pytestmark = pytest.mark.req("B1", "B9")

ONE, TWO = Record("mine", b'{"n":1}'), Record("./other.py:Other", '{"n":"zwölf"}'.encode())


def test_a_page_is_in_the_log_with_its_records_and_its_row(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/", "c/", "d/")
    first, gone, missing, last = driver.take()
    driver.keep(first, records=[ONE, TWO], row=b'{"url":"a"}')
    driver.now += 1
    driver.settle(gone, Outcome.GONE, records=[ONE])
    driver.miss(missing)
    driver.keep(last, row=b'{"url":"d"}')
    results = driver.results()
    assert [(one.number, one.url_id, one.page_id) for one in results] == [
        (1, first.url_id, 1),
        (2, gone.url_id, None),
        (3, last.url_id, 2),
    ]
    assert [one.records for one in results] == [(ONE, TWO), (ONE,), None]
    assert [one.row for one in results] == [b'{"url":"a"}', None, b'{"url":"d"}']
    finished = {one.id: one.finished_at for one in driver.records().values()}
    assert [one.settled_at for one in results] == [finished[one.url_id] for one in results]
    assert driver.setup.last_result() == 3


def test_the_log_is_read_in_parts_and_rows_are_dropped(open_store: OpenStore) -> None:
    driver = open_store()
    assert driver.results() == []
    assert driver.setup.last_result() == 0
    driver.drop_rows(5)
    driver.add_seeds(*(f"h{n}/" for n in range(5)))
    for n, task in enumerate(driver.take()):
        driver.keep(task, records=[ONE], row=b"%d" % n)
    assert [one.number for one in driver.results(0, 2)] == [1, 2]
    assert [one.number for one in driver.results(3, 10)] == [4, 5]
    assert driver.results(5, 10) == driver.results(0, 0) == []
    driver.drop_rows(3)
    driver.drop_rows(2)
    assert [one.row for one in driver.results()] == [None, None, None, b"3", b"4"]
    assert all(one.records == (ONE,) for one in driver.results()), "records stay"
    driver.drop_rows(100)
    assert [one.row for one in driver.results()] == [None] * 5


def test_the_log_tells_records_that_were_refused_from_none(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/", "c/")
    given: list[list[Record] | None] = [None, [], [ONE]]
    for task, records in zip(driver.take(), given, strict=True):
        driver.keep(task, records=records)
    assert [one.records for one in driver.results()] == [None, (), (ONE,)]


def test_an_attempt_that_is_not_the_last_leaves_nothing(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/", "c/")
    failing, lost, _ = driver.take()
    driver.settle(
        failing,
        Outcome.SERVER_ERROR,
        retry=True,
        records=[ONE],
        feedback=HostFeedback(ended=driver.now),
    )
    driver.dismiss(0)
    assert not driver.settle(lost, Outcome.GONE, records=[ONE]).accepted
    assert driver.results() == []


def test_every_visit_of_a_page_is_a_result(open_store: OpenStore) -> None:
    driver = open_store(revisit_s=10.0)
    driver.add_seeds("a/", "b/")
    page, other = driver.take()
    driver.keep(page, records=[ONE])
    driver.now += 20
    driver.keep(other, ["a/"])
    (again,) = driver.take()
    driver.keep(again, content="changed", records=[TWO])
    results = driver.results()
    assert [(one.url_id, one.page_id) for one in results] == [
        (page.url_id, 1),
        (other.url_id, 2),
        (page.url_id, 1),
    ]
    assert [one.records for one in results] == [(ONE,), None, (TWO,)]


def test_a_page_that_claims_its_number_with_its_settlement_keeps_its_records(
    open_store: OpenStore,
) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/")
    for task in driver.take():
        page = KeptPage(page_id=0, size=1, digest=digest_of("one"), content=b"", fetched_at=0.0)
        settlement = Settlement(
            task=task, outcome=Outcome.FETCHED, page=page, records=[ONE], row=b"{}"
        )
        driver.setup.run(driver.store.claim_and_settle(settlement, None, driver.now))
    (result,) = driver.results()
    assert (result.page_id, result.records, result.row) == (1, (ONE,), b"{}")


def test_rows_go_with_the_bodies_that_they_were_made_of(open_store: OpenStore) -> None:
    driver = open_store(keep_s=100.0)
    driver.add_seeds("a/", "b/")
    old, new = driver.take()
    driver.keep(old, records=[ONE], row=b"old")
    driver.now += 60
    driver.keep(new, row=b"new")
    driver.now += 60
    driver.expire()
    assert [(one.row, one.records) for one in driver.results()] == [(None, (ONE,)), (b"new", None)]


def test_a_task_names_the_page_on_which_its_url_was_found(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/")
    (seed,) = driver.take()
    driver.keep(seed, ["b/", "c/"])
    driver.score()
    driver.route()
    first, second = driver.lease(limit=1, referrers=True) + driver.lease(limit=1)
    assert (first.referrer_chain, second.referrer_chain) == ((seed.url,), ())
    driver.release(first)
    driver.release(second)
    driver.crash()
    driver.now += 100
    driver.join(0)
    driver.route()
    assert [one.referrer_chain for one in driver.lease(referrers=True) if one.depth] in (
        [],
        [(seed.url,), (seed.url,)],
    )


def test_a_score_that_comes_with_a_link_counts_for_a_new_url(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/", "b/")
    first, second = driver.take()
    page = KeptPage(page_id=0, size=1, digest=digest_of("one"), content=b"", fetched_at=0.0)
    links = [link("c/"), msgspec.structs.replace(link("d/"), score=7.5)]
    settlement = Settlement(task=first, outcome=Outcome.FETCHED, page=page, links=links)
    driver.setup.run(driver.store.claim_and_settle(settlement, None, driver.now))
    other = KeptPage(page_id=0, size=1, digest=digest_of("two"), content=b"", fetched_at=0.0)
    known = [msgspec.structs.replace(one, score=1.0) for one in links]
    settlement = Settlement(task=second, outcome=Outcome.FETCHED, page=other, links=known)
    driver.setup.run(driver.store.claim_and_settle(settlement, None, driver.now))
    assert [(driver.name_of(one.url), one.score) for one in driver.candidates()] == [
        ("c/", None),
        ("d/", 7.5),
    ]


def test_a_task_names_the_redirects_that_led_to_its_url(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/")
    driver.keep(driver.take_one("a/"), ["a/old"])
    for source, target in [("a/old", "a/older"), ("a/older", "a/new")]:
        driver.redirect(driver.take_one(source), target)
    driver.score()
    driver.route()
    (task,) = driver.lease(referrers=True)
    assert [name_of(url) for url in task.referrer_chain] == ["a/", "a/old", "a/older"]
    assert task.hops == 2
