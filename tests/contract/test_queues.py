"""Queues are bounded and push back; nobody waits for ever, nothing is lost."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Task

pytestmark = pytest.mark.req("D7")


def crawl(driver: StoreDriver, workers: int, links: Callable[[Task], list[str]]) -> Iterator[Task]:
    """Crawl to the end, as the engine does; time goes on only when nothing else is to be done."""
    for _ in range(100_000):
        if driver.ended_by() is not None:
            return
        tasks: list[Task] = []
        driver.score()
        driver.route(8)
        for worker in range(workers):
            tasks += driver.lease(worker, 3)
        for task in tasks:
            yield task
            driver.keep(task, links(task))
        if not tasks and not driver.route(8):
            moments = [driver.wake_at(worker) for worker in range(workers)]
            known = [moment for moment in moments if moment is not None]
            driver.now = max(driver.now, min(known, default=driver.now + 5))
            driver.join(*range(workers))
            driver.reap()
    raise AssertionError(f"it does not come to an end: {driver.store!r}")


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_while_the_url_queue_is_full_nobody_gets_work(open_store: OpenStore, strict: int) -> None:
    """It is exceeded by the links of pages under way, and by seeds, and nothing is lost."""
    driver = open_store(workers=2, url_queue=10, strict=strict, delay_s=0.0, similarity=None)
    driver.add_seeds(*[f"h{number}/" for number in range(25)])
    assert driver.lease(0) == []
    for _ in range(3):
        driver.prioritise([(one, 50.0) for one in driver.candidates(5)])
    driver.route()
    assert driver.lease(0) == [], "ten still wait for their score"
    assert driver.wake_at(0) == pytest.approx(driver.now + 0.05), "nobody is to blame for that"
    driver.prioritise([(one, 50.0) for one in driver.candidates(10 if strict else 1)])
    driver.route()
    first, second, *others = driver.lease(0) + driver.lease(1)
    driver.keep(first, [f"a/{number}" for number in range(7)])
    driver.keep(second, [f"b/{number}" for number in range(7)])
    assert driver.lease(0) + driver.lease(1) == []
    for task in others:
        driver.miss(task)
    driver.score()
    driver.route()
    assert driver.lease(0) + driver.lease(1), "what was scored makes room"


def test_a_crawl_with_the_shortest_url_queue_comes_to_its_end(open_store: OpenStore) -> None:
    driver = open_store(workers=2, url_queue=1, delay_s=0.0, similarity=None)
    names = [f"h{host}/{page}" for host in range(4) for page in range(10)]
    driver.add_seeds(*names[:20])
    seen = [driver.name(task) for task in crawl(driver, 2, lambda _: names)]
    assert sorted(seen) == sorted(names)
    assert driver.ended_by() == "complete"


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
@pytest.mark.parametrize(("workers", "worker_queue"), [(1, 1), (1, 2), (3, 2), (2, 7)])
def test_tiny_queues_many_links_and_a_slow_host_come_to_an_end(
    open_store: OpenStore, workers: int, worker_queue: int, strict: int
) -> None:
    """Workers that waited to publish, while the router waited to assign, would wait for ever."""
    driver = open_store(
        workers=workers,
        worker_queue=worker_queue,
        strict=strict,
        delay_s=1.0,
        max_pages=100_000,
        similarity=None,
    )
    hosts = [f"h{number}" for number in range(8)]
    everything = [f"{host}/{page}" for host in hosts for page in range(8)]

    def links(task: Task) -> list[str]:
        return everything

    driver.add_seeds("slow/", "h0/0")
    seen: Counter[str] = Counter()
    for task in crawl(driver, workers, links):
        seen[driver.name(task)] += 1
        assert driver.assigned() <= worker_queue * workers
    assert seen == Counter(["slow/", *everything]), "each once, and none is lost"
    assert driver.ended_by() == "complete"


def test_a_host_that_must_rest_for_an_hour_holds_nobody_up(open_store: OpenStore) -> None:
    """Nor do forty of them, although they would fill the queue many times over."""
    driver = open_store(delay_s=1.0, worker_queue=8, similarity=None)
    sleepy = [f"s{number}" for number in range(40)]
    driver.add_seeds(*[f"{host}/{page}" for host in sleepy for page in range(3)])
    asked = 0
    while asked < len(sleepy):
        for task in driver.take():
            driver.miss(task, HostFeedback(ended=driver.now, retry_after_s=3600.0))
            asked += 1
    started = driver.now
    driver.add_seeds(*[f"h{host}/{page}" for host in range(20) for page in range(5)])
    fetched = 0
    while fetched < 100:
        for task in driver.take():
            assert task.host.startswith("h")
            driver.keep(task)
            fetched += 1
        driver.now += 0.25
    assert driver.now - started < 10, "five pages of each host, a second apart"
    driver.now = started + 3601
    driver.join(0)
    assert driver.reap() > 0, "the router is told to look again"
    assert {task.host for task in driver.take()} <= {f"{host}.test" for host in sleepy}


def test_a_huge_host_does_not_fill_the_queue(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, worker_queue=40)
    driver.add_seeds(*[f"huge/{page}" for page in range(500)])
    driver.score()
    driver.route()
    assert driver.assigned() <= 20
    driver.add_seeds("a/", "b/", "c/")
    assert {"a.test", "b.test", "c.test"} <= {task.host for task in driver.take()}


def test_a_long_rest_recalls_what_was_assigned(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, worker_queue=40)
    driver.add_seeds(*[f"a/{page}" for page in range(30)])
    (task,) = driver.take()
    assert driver.assigned() > 5
    driver.miss(task, HostFeedback(ended=driver.now, retry_after_s=100.0))
    assert driver.assigned() == 0
    driver.assert_counts_agree()
    driver.now += 100
    assert len(driver.take()) == 1


def test_of_a_host_with_a_delay_one_is_assigned_at_a_time(open_store: OpenStore) -> None:
    driver = open_store(delay_s=1.0)
    driver.add_seeds(*[f"a/{page}" for page in range(30)])
    driver.score()
    assert driver.route() == 1
    (task,) = driver.lease()
    assert driver.route() == 0
    driver.miss(task)
    assert driver.route() == 1


def test_nothing_is_assigned_before_it_is_wanted_and_all_of_it_in_the_end(
    open_store: OpenStore,
) -> None:
    """Hundreds of URLs of one host take no more room than its queue has."""
    driver = open_store(delay_s=0.0, worker_queue=100, host_connections=50, similarity=None)
    driver.add_seeds(*[f"a/{page}" for page in range(400)])
    seen = set()
    for task in crawl(driver, 1, lambda _: []):
        seen.add(task.url)
        assert driver.assigned() <= 25
        if len(seen) > 100:
            break
    assert len(seen) == 101


def test_every_host_has_its_turn(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, worker_queue=4)
    driver.add_seeds(*[f"huge/{page}" for page in range(100)], *[f"h{host}/" for host in range(10)])
    hosts = []
    for task in crawl(driver, 1, lambda _: []):
        hosts.append(task.host)
        if len(hosts) == 40:
            break
    assert len(set(hosts)) == 11
