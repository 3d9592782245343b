"""A delay that follows how a host answers: the same on every store, and there after a crash."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback
from gossamer.policy.backoff import FIRST_DELAY_S, MAX_AUTO_DELAY_S

pytestmark = pytest.mark.req("B3")

FLOOR_S = 0.5


def visit(driver: StoreDriver, **feedback: float) -> float:
    """Ask the host once, as soon as it may be asked; return the delay that it has then."""
    (task,) = driver.take()
    driver.now += feedback.get("took_s", 0.0)
    told = HostFeedback(ended=driver.now, **feedback)  # type: ignore[arg-type]  # some are bools
    driver.miss(task, told)
    (host,) = driver.hosts(1)
    driver.now = told.ended + host.delay_s - 0.001
    assert driver.take() == []
    driver.now = max(told.ended + host.delay_s, driver.now + host.next_in_s)
    return host.delay_s


def open_auto(open_store: OpenStore) -> StoreDriver:
    driver = open_store(delay_s=FLOOR_S, auto_delay=True)
    driver.add_seeds(*[f"a/{number}" for number in range(60)])
    return driver


def test_a_host_gets_the_pause_that_fits_how_it_answers(open_store: OpenStore) -> None:
    driver = open_auto(open_store)
    (task,) = driver.take()
    assert task.delay_s == FIRST_DELAY_S
    driver.release(task, HostFeedback(ended=driver.now))
    driver.now += FIRST_DELAY_S
    quick = [visit(driver, took_s=0.01) for _ in range(6)]
    assert quick == sorted(quick, reverse=True)
    assert quick[-1] == FLOOR_S
    slow = [visit(driver, took_s=1.0) for _ in range(12)]
    assert slow == sorted(slow)
    assert slow[-1] == pytest.approx(5.0, abs=0.01)
    (task,) = driver.take()
    assert task.delay_s == slow[-1]


def test_a_refusal_doubles_it(open_store: OpenStore) -> None:
    driver = open_auto(open_store)
    found = [visit(driver, failed=True, overloaded=True) for _ in range(4)]
    assert found == [2.0, 4.0, 8.0, 16.0]
    assert visit(driver, failed=True) == 16.0, "only that it has failed says nothing about it"
    assert visit(driver, took_s=0.001) == pytest.approx(12.0, abs=0.01)
    assert [visit(driver, overloaded=True) for _ in range(4)][-1] == MAX_AUTO_DELAY_S


def test_it_survives_crash_and_restart(open_store: OpenStore) -> None:
    driver = open_auto(open_store)
    found = [visit(driver, took_s=2.0) for _ in range(3)][-1]
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        driver.join(0)
        driver.now += found
        (task,) = driver.take()
        assert task.delay_s == found
        driver.release(task, HostFeedback(ended=driver.now))
        driver.commit()


def test_a_host_may_still_ask_for_more(open_store: OpenStore) -> None:
    driver = open_auto(open_store)
    assert visit(driver, took_s=0.1, crawl_delay_s=8.0) == 8.0
    assert visit(driver, took_s=0.1) == 8.0
    (task,) = driver.take()
    driver.miss(task, HostFeedback(ended=driver.now, took_s=0.1, retry_after_s=100.0))
    driver.now += 99.9
    assert driver.take() == []


def test_a_fixed_delay_stays(open_store: OpenStore) -> None:
    driver = open_store(delay_s=2.0)
    driver.add_seeds("a/1", "a/2", "a/3")
    assert visit(driver, took_s=0.1, overloaded=True) == 2.0
    assert visit(driver, took_s=1.0) == 2.0
