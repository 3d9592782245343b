"""Contents are dropped when their time is over, as fast as it takes."""

import gzip

import pytest
from tests.contract.driver import OpenStore

from gossamer.model import Exchange
from gossamer.stores.bodies import ContentPacker
from gossamer.stores.crawl_views import StoredResponse

pytestmark = pytest.mark.req("D10")


def test_contents_are_dropped_one_by_one(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, keep_s=100.0)
    driver.add_seeds("a/1", "b/1", "c/1")
    start = driver.now
    for number, task in enumerate(driver.take()):
        driver.now = start + number
        driver.keep(task, content=f"content {number}")
    driver.now = start + 99
    driver.expire()
    assert driver.content(1) == b"content 0"
    for gone in (1, 2, 3):
        driver.now = start + 99 + gone
        driver.expire()
        left = [number for number in (1, 2, 3) if driver.content(number) is not None]
        assert left == [number for number in (1, 2, 3) if number > gone]
    assert driver.page_numbers() == [1, 2, 3], "what is known of the pages stays"


def test_any_number_of_contents_is_dropped_in_bounded_steps(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=999, keep_s=10.0, worker_queue=4000)
    driver.add_seeds(*[f"a/{number}" for number in range(450)])
    while tasks := driver.take():
        for task in tasks:
            driver.keep(task)
    assert driver.expire() == 0
    driver.now += 10
    steps = []
    while dropped := driver.expire():
        steps.append(dropped)
    assert steps == [100, 100, 100, 100, 50]
    assert all(driver.content(number) is None for number in range(1, 451))


def test_by_default_contents_stay(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    driver.add_seeds("a/1")
    driver.keep(driver.take_one("a/1"), content="content")
    driver.now += 1e9
    assert driver.expire() == 0
    assert driver.content(1) == b"content"


def test_contents_survive_a_restart_and_expire_after_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, keep_s=100.0)
    driver.add_seeds("a/1")
    (task,) = driver.take()
    driver.keep(task, content="content")
    driver.commit()
    driver.crash()
    assert driver.content(1) == b"content"
    driver.now += 100
    driver.expire()
    assert driver.content(1) is None


def test_the_exchange_and_the_body_as_received_are_kept_as_long_as_the_body(
    open_store: OpenStore,
) -> None:
    body, exchange = b"<p>words</p>" * 100, Exchange(b"GET /1", b"HTTP/1.1 200 \xff\r\n\r\n", "::1")
    coded = gzip.compress(body)
    driver = open_store(delay_s=0.0, keep_s=100.0)
    driver.add_seeds("a/1")
    packed = ContentPacker().pack(body, exchange, coding="gzip", wire_body=coded)
    driver.keep(driver.take_one("a/1"), packed=packed)
    driver.commit()
    assert driver.setup.answer(1) == StoredResponse(body, coded, exchange)
    driver.now += 100
    driver.expire()
    assert driver.setup.answer(1) is None
