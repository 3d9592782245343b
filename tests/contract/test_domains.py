"""One worker at a time serves a domain."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver

pytestmark = pytest.mark.req("D5", "D6")


def names(driver: StoreDriver, worker: int) -> list[str]:
    return sorted(driver.name(task) for task in driver.lease(worker))


def test_the_hosts_of_a_domain_go_to_one_worker(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("x.a/1", "y.a/1", "z.a/1", "x.b/1", "y.b/1")
    driver.score()
    driver.route()
    assigned = [names(driver, 0), names(driver, 1)]
    assert sorted(assigned) == [["x.a/1", "y.a/1", "z.a/1"], ["x.b/1", "y.b/1"]]


def test_a_free_domain_goes_to_the_least_loaded(open_store: OpenStore) -> None:
    driver = open_store(workers=3, delay_s=0.0)
    driver.add_seeds(*[f"h{number}/" for number in range(9)])
    driver.score()
    driver.route()
    assert [len(names(driver, worker)) for worker in range(3)] == [3, 3, 3]


def test_what_is_in_progress_counts_as_well(open_store: OpenStore) -> None:
    """A worker whose queue is empty has something to do all the same."""
    driver = open_store(workers=2, delay_s=1.0)
    driver.add_seeds("a/1", "b/1", "c/1", "d/1")
    driver.score()
    driver.route()
    mine = driver.lease(0)
    driver.miss(driver.lease(1, limit=1)[0])
    driver.add_seeds("e/1", "f/1")
    driver.score()
    driver.route(draws=1)
    assert len(mine) == 2
    assert names(driver, 1) == ["d/1", "e/1"]
    driver.miss(mine[0])
    driver.route()
    assert names(driver, 0) == ["f/1"]


def test_who_has_little_in_progress_and_a_full_queue_gets_nothing(open_store: OpenStore) -> None:
    """It goes to another, who has more to do and room."""
    driver = open_store(workers=2, delay_s=1.0, worker_queue=1)
    driver.add_seeds("a/1", "b/1")
    driver.score()
    driver.route()
    for number in range(2):  # two in progress at one worker, none at the other
        driver.add_seeds(f"c{number}/1")
        driver.score()
        assert len(driver.lease(0)) == 1
        driver.route()
    driver.lease(0)
    driver.add_seeds("d/1")
    driver.score()
    assert driver.route() == 1
    assert names(driver, 1) == ["b/1"]
    assert names(driver, 0) == ["d/1"]


DOMAIN_LEASES_S = pytest.mark.parametrize("domain_lease_s", [1.0, 300.0, 3600.0])


@DOMAIN_LEASES_S
def test_a_domain_stays_with_its_worker_for_a_time(
    open_store: OpenStore, domain_lease_s: float
) -> None:
    driver = open_store(workers=2, delay_s=0.0, domain_lease_s=domain_lease_s)
    driver.add_seeds("x.a/1")
    (task,) = driver.take(0)
    driver.add_seeds("b/1", "c/1")  # the other has less to do from now on
    driver.score()
    driver.route()
    driver.miss(task)
    driver.now += domain_lease_s - 0.5
    driver.join(0, 1)
    driver.add_seeds("y.a/1")
    driver.score()
    driver.route()
    assert "y.a/1" in names(driver, 0)


@DOMAIN_LEASES_S
def test_after_that_anybody_may_have_it(open_store: OpenStore, domain_lease_s: float) -> None:
    driver = open_store(workers=2, delay_s=0.0, domain_lease_s=domain_lease_s)
    driver.add_seeds("x.a/1")
    (task,) = driver.take(0)
    driver.miss(task)
    driver.now += domain_lease_s + 0.5
    driver.join(0, 1)
    driver.add_seeds("b/1")
    driver.score()
    driver.route()
    driver.add_seeds("y.a/1")
    driver.score()
    driver.route()
    assert names(driver, 0) == ["b/1"]
    assert names(driver, 1) == ["y.a/1"]


def test_a_domain_in_use_never_changes_hands(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("x.a/1")
    (task,) = driver.take(0)
    for _ in range(20):
        driver.now += 100
        driver.join(0, 1)
        driver.renew(task)
        driver.reap()
    driver.add_seeds("y.a/1", "y.a/2")
    driver.score()
    driver.route()
    assert names(driver, 1) == []
    assert names(driver, 0) == ["y.a/1"]


def test_nor_does_it_while_a_dead_worker_may_still_be_at_it(open_store: OpenStore) -> None:
    """The worker is silent, but its lease was renewed: it is not given up before that is over."""
    driver = open_store(workers=2, delay_s=0.0, lease_s=60.0)
    driver.add_seeds("x.a/1")
    (task,) = driver.take(0)
    driver.now += 59
    driver.renew(task)
    driver.now += 59
    driver.join(1)
    driver.reap()
    driver.add_seeds("y.a/1")
    driver.score()
    driver.route()
    assert names(driver, 1) == []
    driver.now += 1
    driver.reap()
    driver.reap()
    driver.route()
    assert names(driver, 1) == ["x.a/1", "y.a/1"]


def test_what_is_left_in_an_old_queue_is_not_handed_out_there(open_store: OpenStore) -> None:
    """A domain that has moved on is the new worker's, whatever the old one remembers of it."""
    driver = open_store(workers=2, delay_s=0.0)
    driver.add_seeds("x.a/1", "y.a/1", "x.a/2")
    for task in driver.take(0):
        driver.miss(task)
    (task,) = driver.take(0)
    driver.miss(task)
    driver.now += 301
    driver.join(0, 1)
    driver.add_seeds("b/1")
    driver.score()
    driver.route()
    driver.add_seeds("x.a/4", "y.a/5")
    driver.score()
    driver.route()
    assert names(driver, 0) == ["b/1"]
    assert names(driver, 1) == ["x.a/4", "y.a/5"]


def test_a_worker_that_comes_back_does_not_get_back_what_went_to_another(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, lease_s=60.0)
    driver.add_seeds("a/1")
    driver.take(0)
    driver.now += 61
    driver.reap()  # it is silent, and its lease is over
    driver.join(1)
    driver.route()
    driver.join(0)
    assert names(driver, 0) == []
    assert names(driver, 1) == ["a/1"]
