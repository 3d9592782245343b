"""How many workers there are, and how they share the connections."""

import os

import pytest

from gossamer.coordinator.processes.worker_pool import BUSY, Autoscale, cores, shares


@pytest.mark.req("D1")
@pytest.mark.parametrize(
    ("workers", "connections", "slots"),
    [(1, 100, [100]), (4, 100, [25] * 4), (3, 10, [4, 3, 3]), (5, 5, [1] * 5), (3, 1, [1] * 3)],
)
def test_the_connections_are_shared_among_the_workers(
    workers: int, connections: int, slots: list[int]
) -> None:
    assert shares(connections, workers) == slots


@pytest.mark.parametrize("workers", [0, 1, 7])
def test_a_number_that_was_given_is_the_number_of_workers(workers: int) -> None:
    assert Autoscale.of(workers, 3) == Autoscale(workers, workers)
    assert not Autoscale.of(workers, 3).wants_more([1.0] * workers, 100)


def test_auto_begins_with_one_and_has_at_most_one_a_core_and_a_connection() -> None:
    assert Autoscale.of(None, 1000) == Autoscale(1, cores())
    assert Autoscale.of(None, 1) == Autoscale(1, 1)


def test_only_the_cores_that_we_may_use_count() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("busy", "ready_hosts", "more"),
    [
        ([BUSY], 1, True),
        ([1.0, BUSY, 1.0], 9, True),
        ([BUSY - 0.01], 9, False),
        ([1.0, 0.1, 1.0], 9, False),  # one has time: it takes the next hosts
        ([1.0], 0, False),  # nothing waits for a worker
        ([1.0] * 4, 9, False),  # no more are allowed
        ([], 1, True),  # the last one has died
    ],
)
def test_one_more_starts_when_all_are_busy_and_hosts_wait(
    busy: list[float], ready_hosts: int, *, more: bool
) -> None:
    assert Autoscale(1, 4).wants_more(busy, ready_hosts) is more
