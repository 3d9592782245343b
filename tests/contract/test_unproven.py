"""Hosts that do not answer, or are new, do not get every slot of a worker."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import name_of

from gossamer.frontier.contract import HostFeedback, Task
from gossamer.model import Outcome

pytestmark = pytest.mark.req("D19")

SLOTS, FOR_ANY = 40, 30


def names(tasks: list[Task]) -> list[str]:
    return [name_of(task.url) for task in tasks]


def with_silent_hosts(driver: StoreDriver) -> list[Task]:
    """Have an honest host answer, and a hundred others be asked."""
    driver.add_seeds("honest/0")
    driver.keep(driver.take_one("honest/0"))
    driver.add_seeds(
        *(f"silent{number}/{path}" for path in range(2) for number in range(100)),
        *(f"honest/{number}" for number in range(1, 9)),
    )
    return driver.take(limit=SLOTS)


@pytest.mark.parametrize("strict", [False, True])
def test_a_quarter_is_for_those_that_answer(open_store: OpenStore, *, strict: bool) -> None:
    driver = open_store(delay_s=1.0, strict=strict)
    taken = with_silent_hosts(driver)
    assert len(taken) == FOR_ANY
    assert driver.take(limit=SLOTS - len(taken)) == [], "the rest is for others"
    for number in range(1, 4):
        driver.now += 1.0
        (task,) = driver.take(limit=SLOTS - len(taken))
        assert names([task]) == [f"honest/{number}"]
        driver.keep(task)
    driver.route()
    assert driver.wake_at() == driver.now + 1.0, "no sooner, as only others wait"


def test_a_slot_that_comes_back_is_for_the_next(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    first, second, *rest = with_silent_hosts(driver)
    driver.settle(
        first,
        Outcome.TIMED_OUT,
        retry=True,
        feedback=HostFeedback(ended=driver.now, failed=True, answered=False),
    )
    driver.release(second, HostFeedback(ended=driver.now))
    taken = driver.take(limit=SLOTS - len(rest))
    assert len(taken) == 2
    driver.now += 1.0
    answered = driver.take(limit=SLOTS - len(rest) - 2)
    assert names(answered) == ["honest/1", *names([second])], "it answered, and that counts"


def test_what_is_taken_back_frees_its_slots(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    with_silent_hosts(driver)
    driver.dismiss(0)
    assert len(driver.take(limit=SLOTS)) == FOR_ANY


def test_a_few_slots_are_for_anybody(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    driver.add_seeds(*(f"new{number}/" for number in range(100)))
    assert len(driver.take(limit=19)) == 19
