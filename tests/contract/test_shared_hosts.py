"""Several workers serve a host that may have several requests at once; any other has one worker."""

from collections import Counter

import msgspec
import pytest
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Task
from gossamer.frontier.rules import FrontierRules
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("D6", "D16")


def add_pages(driver: StoreDriver, host: str, count: int) -> None:
    driver.add_seeds(*[f"{host}/{number}" for number in range(count)])
    driver.score()
    driver.route()


def names(driver: StoreDriver, worker: int, limit: int = 100) -> list[str]:
    return [driver.name(task) for task in driver.lease(worker, limit)]


def with_connections(rules: FrontierRules, host_connections: int) -> FrontierRules:
    scheduler = msgspec.structs.replace(rules.scheduler, host_connections=host_connections)
    return msgspec.structs.replace(rules, scheduler=scheduler)


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_each_worker_gets_its_share(open_store: OpenStore, strict: int) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4, strict=strict)
    add_pages(driver, "a", 20)
    first = driver.lease(0)
    assert len(first) == 2
    assert driver.lease(0) == [], "its share, although two slots are free"
    assert len(driver.lease(1)) == 2
    assert driver.lease(0) + driver.lease(1) == [], "no more than the host has slots"
    driver.keep(first[0])
    assert driver.lease(1) == [], "the other has its share already"
    assert len(driver.lease(0)) == 1
    driver.assert_counts_agree()


def test_who_is_alone_gets_all_of_it(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=4)
    add_pages(driver, "a", 20)
    assert len(driver.lease(0)) == 4


def test_the_shares_follow_who_takes_part(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=6)
    add_pages(driver, "a", 30)
    mine, its = driver.lease(0), driver.lease(1)
    assert (len(mine), len(its)) == (3, 3)
    driver.join(2)
    driver.keep(mine[0])
    assert driver.lease(0) == [], "of three workers each has two"
    third = driver.lease(2)
    assert len(third) == 1
    driver.dismiss(1)
    assert len(driver.lease(0)) == 1, "of two workers each has three"
    assert len(driver.lease(2)) == 2
    driver.assert_counts_agree()


def test_there_are_never_more_requests_than_slots(open_store: OpenStore) -> None:
    """A share that is rounded up for each of them comes to more."""
    driver = open_store(workers=3, delay_s=0.0, host_connections=4)
    add_pages(driver, "a", 20)
    assert [len(driver.lease(worker)) for worker in range(3)] == [2, 2, 0]


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_a_host_of_which_it_has_its_share_hides_no_other(
    open_store: OpenStore, strict: int
) -> None:
    """Also where there are many of them."""
    driver = open_store(workers=2, delay_s=0.0, host_connections=2, strict=strict, max_bytes=10**9)
    for number in range(50):
        add_pages(driver, f"h{number}", 3)
    assert len({task.host for task in driver.lease(0, 49)}) == 49
    (last,) = driver.lease(0)
    (task,) = driver.lease(1, 1)
    assert len({task.host for task in driver.lease(1)} | {task.host}) == 50
    driver.keep(last)
    assert [task.host for task in driver.lease(0)] == [last.host]


def test_nobody_waits_busily_for_more_than_its_share(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4)
    add_pages(driver, "a", 20)
    driver.lease(0)
    moment = driver.wake_at(0)
    assert moment is not None
    assert moment > driver.now, "the other may be gone by then"
    assert driver.wake_at(1) == driver.now, "it has none of its share"
    driver.lease(1)
    for worker in range(2):
        moment = driver.wake_at(worker)
        assert moment is not None
        assert moment > driver.now


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_who_waits_for_a_shared_host_is_told_when_it_is_due(
    open_store: OpenStore, strict: int
) -> None:
    driver = open_store(delay_s=0.0, host_connections=4, strict=strict)
    add_pages(driver, "a", 20)
    (task,) = driver.lease(0, 1)
    driver.settle(task, Outcome.GONE, feedback=HostFeedback(ended=driver.now, retry_after_s=0.01))
    assert driver.lease(0) == []
    assert driver.wake_at(0) == pytest.approx(driver.now + 0.01, abs=1e-5)
    driver.now += 0.02
    assert len(driver.lease(0)) == 4


def test_its_own_hosts_and_the_shared_ones_take_turns(open_store: OpenStore) -> None:
    """In strict order the best goes first, wherever it is."""
    driver = open_store(delay_s=0.0, host_connections=2, strict=1)
    make_polite(driver, "b")
    scores = {"a/1": 10.0, "b/1": 20.0, "a/2": 30.0, "c/1": 5.0}
    driver.add_seeds(*scores)
    driver.score(lambda name: scores.get(name, 50.0))
    driver.route()
    assert names(driver, 0) == ["c/1", "a/1", "b/1", "a/2"]


def make_polite(driver: StoreDriver, host: str) -> None:
    """Let a host ask for pauses, and wait until the first is over."""
    assert driver.acquire_robots_slot(host) is None
    driver.release_robots_slot(host, HostFeedback(ended=driver.now, crawl_delay_s=3.0))
    driver.now += 3


@pytest.mark.parametrize(
    "rules", [{"delay_s": 1.0, "host_connections": 4}, {"delay_s": 0.0, "host_connections": 1}]
)
def test_any_other_host_stays_with_one_worker(
    open_store: OpenStore, rules: dict[str, float]
) -> None:
    driver = open_store(workers=2, **rules)
    add_pages(driver, "a", 20)
    workers = set()
    for _ in range(6):
        for worker in (1, 0):
            for task in driver.lease(worker):
                workers.add(worker)
                driver.keep(task)
        driver.now += 1
        driver.route()
    assert len(workers) == 1


def test_a_shared_host_neither_sets_nor_follows_the_worker_of_its_domain(
    open_store: OpenStore,
) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2)
    make_polite(driver, "x.a")
    make_polite(driver, "y.a")
    driver.join(0, 1)
    add_pages(driver, "a", 10)
    (one,), (other,) = driver.lease(0), driver.lease(1)
    assert one.host == other.host == "a.test"
    add_pages(driver, "x.a", 1)
    add_pages(driver, "y.a", 1)
    leased = [names(driver, 0), names(driver, 1)]
    assert sorted(leased) == [[], ["x.a/0", "y.a/0"]], "the polite hosts have one worker"
    driver.keep(one)
    assert len(driver.lease(0)) == 1


def test_a_domain_in_use_keeps_its_worker_beside_a_shared_host(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2)
    for host in ("x.a", "y.a", "b"):
        make_polite(driver, host)
    driver.join(0, 1)
    add_pages(driver, "b", 1)
    add_pages(driver, "x.a", 1)
    assert names(driver, 0) == ["b/0"]
    assert names(driver, 1) == ["x.a/0"]
    add_pages(driver, "a", 1)
    add_pages(driver, "y.a", 1)
    assert names(driver, 0) == ["a/0"], "whoever is first"
    assert names(driver, 1) == ["y.a/0"]


def test_a_host_that_learns_a_delay_is_given_to_one_worker(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4)
    add_pages(driver, "a", 20)
    mine, its = driver.lease(0), driver.lease(1)
    driver.miss(mine[0], HostFeedback(ended=driver.now, crawl_delay_s=3.0))
    assert driver.assigned() == 0, "what was assigned to all is recalled"
    driver.now += 3
    driver.route()
    assert driver.lease(0) + driver.lease(1) == [], "others of its requests are under way"
    for task in [mine[1], *its]:
        driver.miss(task)
    workers = set()
    for _ in range(5):
        driver.now += 3
        driver.route()
        (found,) = [(one, worker) for worker in (0, 1) for one in driver.lease(worker)]
        workers.add(found[1])
        driver.miss(found[0])
    assert len(workers) == 1
    driver.assert_counts_agree()


def test_also_the_last_url_that_was_assigned_to_all_is_recalled(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2)
    add_pages(driver, "a", 3)
    (mine,), (its,) = driver.lease(0), driver.lease(1)
    assert driver.assigned() == 1
    driver.miss(mine, HostFeedback(ended=driver.now, crawl_delay_s=3.0))
    assert driver.assigned() == 0
    driver.miss(its)
    driver.assert_counts_agree()


def test_what_was_assigned_to_one_is_recalled_for_all(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2)
    make_polite(driver, "a")
    driver.join(0, 1)
    add_pages(driver, "a", 9)
    assert driver.assigned() == 1
    assert driver.acquire_robots_slot("a") is None
    driver.release_robots_slot("a", HostFeedback(ended=driver.now, crawl_delay_s=0.0))
    assert driver.assigned() == 0
    driver.route()
    assert [len(driver.lease(worker)) for worker in (0, 1)] == [1, 1]
    driver.assert_counts_agree()


def test_a_host_that_asks_for_no_delay_any_more_is_shared(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4)
    make_polite(driver, "a")
    driver.join(0, 1)
    add_pages(driver, "a", 20)
    (task,) = driver.lease(0) + driver.lease(1)
    driver.miss(task, HostFeedback(ended=driver.now, crawl_delay_s=0.0))
    driver.route()
    assert [len(driver.lease(worker)) for worker in (0, 1)] == [2, 2]
    driver.assert_counts_agree()


def test_what_is_assigned_to_all_is_bounded(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2, worker_queue=8)
    for number in range(10):
        add_pages(driver, f"h{number}", 10)
    assert driver.assigned() == 8
    make_polite(driver, "b")
    driver.join(0, 1)
    add_pages(driver, "b", 2)
    assert driver.assigned() == 9, "a full common queue holds up no other"
    asked: Counter[str] = Counter()
    while driver.ended_by() is None:
        for worker in (0, 1):
            for task in driver.lease(worker):
                asked[task.host] += 1
                driver.keep(task)
        driver.now += 1
        driver.join(0, 1)
        driver.reap()
        driver.route()
        assert driver.assigned() <= 8 * 3
    assert asked == Counter({**{f"h{number}.test": 10 for number in range(10)}, "b.test": 2})


def test_a_worker_whose_own_queue_is_full_takes_of_shared_hosts(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=2, worker_queue=2)
    for host in ("x", "y", "z"):
        make_polite(driver, host)
    driver.join(0)
    for host in ("x", "y", "z"):
        add_pages(driver, host, 2)
    assert driver.assigned() == 2
    add_pages(driver, "a", 5)
    assert driver.assigned() == 3, "no more than a quarter of the queue, but at least one"
    assert "a.test" in {task.host for task in driver.lease(0)}


@pytest.mark.parametrize("end", ["silent", "dismissed"])
def test_what_is_assigned_to_all_outlasts_a_worker(open_store: OpenStore, end: str) -> None:
    driver = open_store(delay_s=0.0, host_connections=4, lease_s=60.0)
    add_pages(driver, "a", 10)
    first = driver.lease(0, 2)
    if end == "silent":
        driver.now += 60
        driver.reap()
        driver.reap()
    else:
        driver.dismiss(0, driver.name(first[0]))
    assert driver.workers() == []
    driver.join(1)
    driver.route()
    again = driver.lease(1)
    assert len(again) == 4
    done = [*again]
    for task in again:
        driver.keep(task)
    while tasks := driver.take(1):
        done += tasks
        for task in tasks:
            driver.keep(task)
    assert len({task.url for task in done}) == 10
    assert driver.ended_by() == "complete"


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(("before", "after"), [(4, 1), (1, 4)])
def test_the_next_run_may_have_other_connections(
    open_store: OpenStore, clean: bool, before: int, after: int
) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=before)
    add_pages(driver, "a", 12)
    tasks = driver.lease(0) + driver.lease(1)
    if clean:
        for task in tasks:
            driver.release(task, HostFeedback(ended=driver.now))
    driver.commit()
    driver.rules = with_connections(driver.rules, after)
    (driver.reopen if clean else driver.crash)()
    driver.assert_counts_agree()
    assert driver.assigned() == 0
    driver.join(0, 1)
    driver.route()
    leased = [len(driver.lease(worker)) for worker in (0, 1)]
    assert sorted(leased) == ([2, 2] if after == 4 else [0, 1])
    driver.assert_counts_agree()


@pytest.mark.req("D14")
def test_budgets_hold_with_shared_hosts(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4, max_pages=3)
    add_pages(driver, "a", 10)
    tasks = [*driver.lease(0), *driver.lease(1)]
    assert len(tasks) == 3
    driver.dismiss(0)
    driver.join(2)
    (last, *more) = driver.lease(2)
    assert len(more) == 1
    for task in (last, *more, tasks[2]):
        driver.keep(task)
    assert driver.ended_by() == "max-pages"


def test_a_slot_without_a_task_is_one_of_its_slots(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=4)
    add_pages(driver, "a", 10)
    assert driver.acquire_robots_slot("a") is None
    mine, its = driver.lease(0), driver.lease(1)
    assert (len(mine), len(its)) == (2, 1)
    moment = driver.acquire_robots_slot("a")
    assert moment is not None
    driver.miss(mine[0])
    assert driver.lease(0) + driver.lease(1) == [], "its next slot is promised"
    driver.now = moment
    assert driver.acquire_robots_slot("a") is None
    for _ in range(2):
        driver.release_robots_slot("a", HostFeedback(ended=driver.now))
    assert len(driver.lease(0) + driver.lease(1)) == 2


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
def test_a_promised_slot_that_was_taken_holds_up_no_other(
    open_store: OpenStore, strict: int
) -> None:
    driver = open_store(delay_s=0.0, host_connections=3, strict=strict)
    add_pages(driver, "a", 10)
    tasks = driver.lease(0)
    moment = driver.acquire_robots_slot("a")
    assert moment is not None
    for task in tasks[:2]:
        driver.keep(task)
    driver.now = moment
    assert driver.acquire_robots_slot("a") is None
    assert driver.wake_at(0) == driver.now
    assert len(driver.lease(0)) == 1
    driver.assert_counts_agree()


def test_a_long_rest_recalls_what_was_assigned_to_all(open_store: OpenStore) -> None:
    driver = open_store(workers=2, delay_s=0.0, host_connections=2)
    add_pages(driver, "a", 10)
    (task,) = driver.lease(0)
    driver.miss(task, HostFeedback(ended=driver.now, failed=True, retry_after_s=100.0))
    assert driver.assigned() == 0
    assert driver.ready_hosts() == 0
    driver.now += 100
    driver.join(0, 1)
    driver.reap()
    driver.route()
    assert len(driver.lease(0) + driver.lease(1)) == 2


def test_a_shared_crawl_ends_and_every_page_is_fetched_once(open_store: OpenStore) -> None:
    driver = open_store(workers=3, delay_s=0.0, host_connections=5, worker_queue=6)
    add_pages(driver, "a", 60)
    fetched: Counter[str] = Counter()
    workers: Counter[int] = Counter()
    held: dict[int, list[Task]] = {0: [], 1: [], 2: []}
    while driver.ended_by() is None:
        for worker, tasks in held.items():
            tasks.extend(driver.lease(worker, 3))
            assert len(tasks) <= 2
        for worker, tasks in held.items():
            for task in tasks:
                fetched[driver.name(task)] += 1
                workers[worker] += 1
                driver.keep(task)
            tasks.clear()
        driver.score()
        driver.route()
    assert set(fetched.values()) == {1}
    assert len(fetched) == 60
    assert min(workers.values()) >= 10
    assert {one.state for one in driver.records().values()} == {UrlState.DONE}
