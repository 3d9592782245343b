"""What is told of the workers, and how many hosts wait for one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import asdict
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import LATE_S, HostFeedback
from gossamer.frontier.rules import FrontierRules
from gossamer.stores.crawl_views import WorkerReport, WorkerView

REPORT = WorkerReport(pid=4711, machine="here", memory=80_000_000, busy=0.5)


def test_a_worker_is_seen_with_what_it_has_to_do(open_store: OpenStore) -> None:
    driver = open_store(workers=0, delay_s=1.0, lease_s=30.0)
    driver.join(0, report=REPORT)
    driver.add_seeds("x.a/1", "y.a/1", "z.a/1", "x.a/2")
    driver.score()
    driver.route()
    assert len(driver.lease(0, 2)) == 2
    driver.now += 3
    driver.join(2)
    assert driver.workers() == [
        WorkerView(
            **asdict(REPORT), number=0, hosts=3, in_progress=2, silent_s=3.0, dead_in_s=27.0
        ),
        WorkerView(number=2, hosts=0, in_progress=0, silent_s=0.0, dead_in_s=30.0),
    ]


def test_the_newest_report_counts_and_a_sign_without_one_keeps_it(open_store: OpenStore) -> None:
    driver = open_store(workers=0)
    driver.join(0, report=REPORT)
    newer = WorkerReport(pid=4711, machine="hier, dort und überall", memory=2**40, busy=1.0)
    driver.join(0, report=newer)
    driver.join(0)
    driver.lease(0)
    (view,) = driver.workers()
    assert asdict(view) | asdict(newer) == asdict(view)


@pytest.mark.parametrize("end", ["silent", "dismissed"])
def test_a_worker_that_is_gone_is_forgotten_with_its_report(
    open_store: OpenStore, end: str
) -> None:
    driver = open_store(workers=0, lease_s=60.0)
    driver.join(0, report=REPORT)
    driver.join(1)
    if end == "silent":
        driver.now += 60
        driver.join(1)
        driver.reap()
    else:
        driver.dismiss(0)
    assert [view.number for view in driver.workers()] == [1]
    driver.join(0)
    assert [view.pid for view in driver.workers()] == [None, None]


def test_a_worker_serves_the_shared_hosts_that_it_works_on(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4)
    driver.add_seeds("a/1", "a/2", "a/3", "b/1")
    driver.score()
    driver.route()
    driver.lease(0, 1)
    assert [(view.hosts, view.in_progress) for view in driver.workers()] == [(1, 1), (0, 0)]


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_hosts_that_nobody_has_time_for_are_counted(open_store: OpenStore, strict: int) -> None:
    driver = open_store(workers=2, delay_s=5.0, strict=strict)
    driver.add_seeds("a/1", "b/1", "c/1", "d/1", "a/2")
    assert driver.ready_hosts() == 0
    driver.score()
    driver.route()
    driver.now += LATE_S
    assert driver.ready_hosts() == 4
    leased = driver.lease(0, 1)
    assert driver.ready_hosts() == 3
    driver.miss(leased[0])
    driver.route()
    assert driver.ready_hosts() == 3, "that host rests, if it has more"
    leased = driver.lease(0) + driver.lease(1)
    assert driver.ready_hosts() == 0
    for task in leased:
        driver.miss(task)
    driver.now += 5.0
    assert driver.ready_hosts() == 0, "a worker with time asks them at once"
    driver.now += LATE_S
    driver.route()
    assert driver.ready_hosts() == 1


def test_a_host_that_rests_waits_for_nobody(open_store: OpenStore) -> None:
    driver = open_store(delay_s=5.0)
    driver.add_seeds("a/1", "a/2")
    (task,) = driver.take()
    driver.miss(task)
    driver.route()
    assert driver.ready_hosts() == 0
    driver.now += 5.0 + LATE_S
    assert driver.ready_hosts() == 1
    driver.acquire_robots_slot("a")
    assert driver.ready_hosts() == 0, "its only slot is taken"


def test_a_shared_host_is_counted_while_its_urls_wait(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=2)
    driver.add_seeds("a/1", "a/2", "a/3", "b/1")
    driver.score()
    driver.route()
    assert driver.ready_hosts() == 2
    tasks = driver.lease()
    assert driver.ready_hosts() == 1
    for task in tasks:
        driver.miss(task, HostFeedback(ended=driver.now))
    driver.lease()
    assert driver.ready_hosts() == 0


def test_nobody_is_there_before_the_first_has_joined(
    make_store: Callable[[str, Path, FrontierRules], StoreDriver], tmp_path: Path
) -> None:
    driver = make_store("sqlite", tmp_path, FrontierRules())
    assert driver.workers() == []
    assert driver.ready_hosts() == 0
    driver.setup.close()
