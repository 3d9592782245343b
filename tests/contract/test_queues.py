"""Queues are bounded and push back; nobody waits for ever, nothing is lost."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from gossamer.stores.contract import Pace, Task

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("D7")


def crawl(lab: "Lab", workers: int, links: Callable[[Task], list[str]]) -> Iterator[Task]:
    """Crawl to the end, as the engine does; time goes on only when nothing else is to be done."""
    for _ in range(100_000):
        if lab.ended_by() is not None:
            return
        tasks: list[Task] = []
        lab.score()
        lab.route(8)
        for worker in range(workers):
            tasks += lab.lease(worker, 3)
        for task in tasks:
            yield task
            lab.keep(task, links(task))
        if not tasks and not lab.route(8):
            moments = [lab.wake_at(worker) for worker in range(workers)]
            known = [moment for moment in moments if moment is not None]
            lab.now = max(lab.now, min(known, default=lab.now + 5))
            lab.join(*range(workers))
            lab.reap()
    raise AssertionError(f"it does not come to an end: {lab.store!r}")


@pytest.mark.parametrize("strict", [0, 1], ids=["drawn", "strict"])
@pytest.mark.parametrize(("workers", "worker_queue"), [(1, 1), (1, 2), (3, 2), (2, 7)])
def test_tiny_queues_many_links_and_a_slow_host_come_to_an_end(
    open_lab: "Callable[..., Lab]", workers: int, worker_queue: int, strict: int
) -> None:
    """Workers that waited to publish, while the router waited to deal, would wait for ever."""
    lab = open_lab(
        workers=workers,
        worker_queue=worker_queue,
        strict=strict,
        delay_s=1.0,
        max_pages=100_000,
        similarity=None,
    )
    hosts = [f"h{number}" for number in range(12)]
    everything = [f"{host}/{page}" for host in hosts for page in range(12)]

    def links(task: Task) -> list[str]:
        return everything

    lab.plant("slow/", "h0/0")
    seen: Counter[str] = Counter()
    for task in crawl(lab, workers, links):
        seen[lab.name(task)] += 1
        assert lab.dealt() <= max(worker_queue, lab.backend.lines) * workers
    assert seen == Counter(["slow/", *everything]), "each once, and none is lost"
    assert lab.ended_by() == "complete"


def test_a_host_that_must_rest_for_an_hour_holds_nobody_up(
    open_lab: "Callable[..., Lab]",
) -> None:
    """Nor do forty of them, although they would fill the queue many times over."""
    lab = open_lab(delay_s=1.0, worker_queue=8, similarity=None)
    sleepy = [f"s{number}" for number in range(40)]
    lab.plant(*[f"{host}/{page}" for host in sleepy for page in range(3)])
    asked = 0
    while asked < len(sleepy):
        for task in lab.take():
            lab.miss(task, Pace(ended=lab.now, retry_after_s=3600.0))
            asked += 1
    started = lab.now
    lab.plant(*[f"h{host}/{page}" for host in range(20) for page in range(5)])
    fetched = 0
    while fetched < 100:
        for task in lab.take():
            assert task.host.startswith("h")
            lab.keep(task)
            fetched += 1
        lab.now += 0.25
    assert lab.now - started < 10, "five pages of each host, a second apart"
    lab.now = started + 3601
    lab.join(0)
    assert lab.reap() > 0, "the router is told to look again"
    assert {task.host for task in lab.take()} <= {f"{host}.test" for host in sleepy}


def test_a_huge_host_does_not_fill_the_queue(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, worker_queue=40)
    lab.plant(*[f"huge/{page}" for page in range(500)])
    lab.score()
    lab.route()
    assert lab.dealt() <= 20
    lab.plant("a/", "b/", "c/")
    assert {"a.test", "b.test", "c.test"} <= {task.host for task in lab.take()}


def test_a_long_rest_calls_back_what_was_dealt(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, worker_queue=40)
    lab.need_one_line()
    lab.plant(*[f"a/{page}" for page in range(30)])
    (task,) = lab.take()
    assert lab.dealt() > 5
    lab.miss(task, Pace(ended=lab.now, retry_after_s=100.0))
    assert lab.dealt() == 0
    lab.assert_counts_agree()
    lab.now += 100
    assert len(lab.take()) == 1


def test_of_a_host_with_pauses_one_is_dealt_at_a_time(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=1.0)
    lab.plant(*[f"a/{page}" for page in range(30)])
    lab.score()
    assert lab.route() == 1
    (task,) = lab.lease()
    assert lab.route() == 0
    lab.miss(task)
    assert lab.route() == 1


def test_nothing_is_dealt_before_it_is_wanted_and_all_of_it_in_the_end(
    open_lab: "Callable[..., Lab]",
) -> None:
    """Ten thousand URLs of one host take no more room than its queue has."""
    lab = open_lab(delay_s=0.0, worker_queue=100, host_connections=50, similarity=None)
    lab.plant(*[f"a/{page}" for page in range(1000)])
    seen = set()
    for task in crawl(lab, 1, lambda _: []):
        seen.add(task.url)
        assert lab.dealt() <= 25
        if len(seen) > 200:
            break
    assert len(seen) == 201


def test_every_host_has_its_turn(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, worker_queue=4)
    lab.plant(*[f"huge/{page}" for page in range(100)], *[f"h{host}/" for host in range(10)])
    hosts = []
    for task in crawl(lab, 1, lambda _: []):
        hosts.append(task.host)
        if len(hosts) == 40:
            break
    assert len(set(hosts)) == 11
