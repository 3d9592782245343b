"""The depth of a URL is the length of its shortest path over the links seen so far."""

import heapq
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import Task
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import Outcome
from gossamer.stores.url_record import UrlState

pytestmark = pytest.mark.req("B2")


def visit(driver: StoreDriver, name: str, *links: str) -> list[tuple[int, int]]:
    """Visit one URL, let the others wait; return which pages have come nearer."""
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks.pop(name), links)
    for task in tasks.values():
        driver.release(task, None)
    return driver.pending_depth_changes()


def test_a_shorter_path_brings_everything_behind_it_nearer(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99)
    driver.add_seeds("a/", "b/")
    visit(driver, "a/", "a/1")
    visit(driver, "a/1", "a/2")
    visit(driver, "a/2", "a/3")
    visit(driver, "a/3", "a/4", "a/1")
    assert driver.depths() == {"a/": 0, "b/": 0, "a/1": 1, "a/2": 2, "a/3": 3, "a/4": 4}
    numbers = {driver.name_of(page.url): page.id for page in driver.setup.pages()}
    nearer = visit(driver, "b/", "a/3")
    assert driver.depths() == {"a/": 0, "b/": 0, "a/1": 1, "a/2": 2, "a/3": 1, "a/4": 2}
    assert nearer == [(numbers["a/3"], 1)], "a/4 has not been fetched"
    assert driver.records()["a/3"].parent == driver.records()["b/"].id
    assert driver.records()["a/4"].parent == driver.records()["a/3"].id
    (task,) = driver.take()
    assert (driver.name(task), task.depth) == ("a/4", 2)


def test_what_was_beyond_the_limit_is_crawled_when_a_shorter_path_appears(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, host_connections=99, max_depth=2)
    driver.add_seeds("a/", "b/")
    visit(driver, "a/", "a/1")
    visit(driver, "a/1", "a/2")
    visit(driver, "a/2", "a/3")
    assert driver.state("a/3") is UrlState.TOO_DEEP
    assert driver.snapshot().waiting == 1
    task = driver.take_one("b/")
    assert driver.keep(task, ["a/2"]).new_links == []
    assert driver.state("a/3") is UrlState.UNSCORED
    (task,) = driver.take()
    assert (driver.name(task), task.depth) == ("a/3", 2)
    assert driver.ended_by() is None
    driver.keep(task, ["a/4"])
    assert driver.state("a/4") is UrlState.TOO_DEEP
    assert driver.ended_by() == "complete"
    driver.assert_counts_agree()


def test_a_link_to_what_is_beyond_the_limit_makes_it_new(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99, max_depth=1)
    driver.add_seeds("a/", "b/")
    visit(driver, "a/", "a/1")
    visit(driver, "a/1", "a/2")
    task = driver.take_one("b/")
    assert driver.keep(task, ["a/2"]).new_links == [driver.key("a/2")]


def test_a_redirect_costs_no_depth(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, max_depth=1)
    driver.add_seeds("a/")
    visit(driver, "a/", "a/1")
    (task,) = driver.take()
    driver.redirect(task, "a/2")
    (task,) = driver.take()
    assert (driver.name(task), task.depth, task.hops) == ("a/2", 1, 1)
    driver.redirect(task, "a/3")
    (task,) = driver.take()
    assert (driver.name(task), task.depth, task.hops) == ("a/3", 1, 2)
    driver.keep(task, ["a/4"])
    assert driver.state("a/4") is UrlState.TOO_DEEP


def test_a_link_needs_fewer_redirects_than_a_chain(open_store: OpenStore) -> None:
    """Whether a chain is too long must not depend on the order of the crawl."""
    driver = open_store(delay_s=0.0, host_connections=99)
    driver.add_seeds("a/", "b/")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/"], ["a/1"])
    driver.redirect(driver.take_one("a/1"), "a/2")
    target = driver.take_one("a/2")
    assert target.hops == 1
    driver.keep(tasks["b/"], ["a/2"])
    driver.redirect(target, "a/3")
    assert driver.take_one("a/3").hops == 1, "one redirect since the link to a/2"


def test_a_shorter_path_to_a_page_in_progress_is_reported_when_it_is_settled(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, host_connections=99)
    driver.add_seeds("a/", "b/")
    tasks = {driver.name(task): task for task in driver.take()}
    driver.keep(tasks["a/"], ["a/1"])
    visit(driver, "a/1", "a/2")
    deep = driver.take_one("a/2")
    assert deep.depth == 2
    driver.keep(tasks["b/"], ["a/2"])
    driver.keep(deep, ["a/3"])
    ((number, depth),) = driver.pending_depth_changes()
    assert (number, depth) == (driver.records()["a/2"].page_id, 1)
    assert driver.depths()["a/3"] == 2


def test_the_modules_are_told_of_shorter_paths_also_after_a_crash(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99)
    driver.add_seeds("a/", "b/")
    visit(driver, "a/", "a/1")
    visit(driver, "a/1", "a/2")
    visit(driver, "a/2")
    number = driver.records()["a/2"].page_id
    assert number is not None
    assert driver.pending_depth_changes() == []
    assert visit(driver, "b/", "a/2") == [(number, 1)]
    driver.commit()
    for restart in (driver.crash, driver.reopen):
        restart()
        driver.join(0)
        assert driver.pending_depth_changes() == [(number, 1)]
    driver.confirm_depth_changes([(number, 1)])
    driver.commit()
    driver.crash()
    assert driver.pending_depth_changes() == []


def test_a_seed_is_at_depth_0_however_far_away_it_was(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99)
    driver.add_seeds("a/")
    visit(driver, "a/", "a/1")
    visit(driver, "a/1", "a/2")
    assert driver.add_seeds("a/1") == 0
    assert driver.depths() == {"a/": 0, "a/1": 0, "a/2": 1}


def chain(driver: StoreDriver, length: int) -> list[str]:
    """Visit pages each of which leads to the next, the last one to one that is not visited."""
    names = ["a/", *(f"a/{page}" for page in range(1, length + 1))]
    driver.add_seeds("a/", "b/")
    for name, following in pairwise(names):
        visit(driver, name, following)
    return names


def moved(driver: StoreDriver, before: dict[str, int]) -> int:
    """Return how many depths have changed."""
    return sum(depth != before.get(name, depth) for name, depth in driver.depths().items())


def test_what_lies_behind_a_shorter_path_comes_nearer_in_bounded_steps(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, host_connections=99, relaxed_at_once=5)
    names = chain(driver, 23)
    numbers = {driver.name_of(page.url): page.id for page in driver.setup.pages()}
    before = driver.depths()
    nearer = visit(driver, "b/", "a/2")
    assert moved(driver, before) == 6, "the link of the page, and five behind it"
    assert dict(nearer) == {numbers[f"a/{page}"]: page - 1 for page in range(2, 8)}
    driver.miss(driver.take_one(names[-1]))
    assert moved(driver, before) == 6 + 5 + 5, "routing and settling go on with it"
    assert driver.relaxing()
    assert driver.ended_by() is None, "no URL is left, but depths are not exact yet"
    driver.commit()
    driver.crash()
    driver.join(0)
    steps = []
    while driver.relaxing():
        assert driver.ended_by() is None
        before = driver.depths()
        driver.route()
        steps.append(moved(driver, before))
    assert steps == [5, 1]
    assert driver.depths() == {name: max(0, at - 1) for at, name in enumerate(names)} | {
        "a/1": 1,
        "b/": 0,
    }
    assert driver.ended_by() == "complete"
    assert driver.route() == 0
    expected = {numbers[f"a/{page}"]: page - 1 for page in range(2, 23)}
    assert dict(driver.pending_depth_changes()) == expected
    assert len(driver.pending_depth_changes(4)) == 4
    driver.assert_counts_agree()


def test_a_page_with_many_links_is_followed_in_parts(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99, relaxed_at_once=4, max_depth=3)
    chain(driver, 3)
    links = [f"c/{page}" for page in range(10)]
    visit(driver, "a/3", *links)
    assert all(driver.state(name) is UrlState.TOO_DEEP for name in links)
    visit(driver, "b/", "a/3")
    waiting = [driver.snapshot().waiting]
    while driver.relaxing():
        driver.route()
        waiting.append(driver.snapshot().waiting)
    assert waiting == [4, 8, 10], "they are part of the crawl now"
    assert sorted(map(driver.name, driver.take())) == links
    assert {driver.depths()[name] for name in links} == {2}


def test_links_that_a_new_visit_replaces_are_followed_before(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=99, relaxed_at_once=1, revisit_s=50.0)
    chain(driver, 8)
    visit(driver, "b/", "a/3", "a/6")
    driver.now += 60
    assert driver.relaxing()
    assert driver.depths()["a/7"] == 7
    driver.add_seeds("d/")
    visit(driver, "d/", "a/6")
    visit(driver, "a/6")
    driver.relax()
    assert driver.depths()["a/7"] == 2, "over the link that was seen before"


def test_in_strict_order_nothing_is_handed_out_before_depths_are_exact(
    open_store: OpenStore,
) -> None:
    driver = open_store(delay_s=0.0, worker_queue=1, relaxed_at_once=3, strict=True)
    driver.add_seeds("a/")
    names = ["a/", *(f"a/{page}" for page in range(1, 12))]
    depths = lambda name: float(driver.depths()[name])  # noqa: E731 -- nearest first

    def take() -> list[Task]:
        driver.score(depths)
        driver.route()
        return driver.lease(0, 1)

    for name, following in pairwise(names):
        (task,) = take()
        assert driver.name(task) == name
        driver.keep(task, [following, "a/z"] if name == "a/9" else [following])
    driver.add_seeds("a/5")
    assert driver.relaxing()
    assert take() == []
    driver.relax()
    tasks = []
    while found := take():
        tasks += found
        driver.miss(found[0])
    assert [(driver.name(task), task.depth) for task in tasks] == [("a/z", 5), ("a/11", 6)]


Edges = dict[int, tuple[bool, list[int]]]
"""For each page whether it is a redirect, and where it leads."""


@st.composite
def graphs(draw: st.DrawFn) -> Edges:
    size = draw(st.integers(2, 30))
    nodes = st.integers(0, size - 1)
    return {
        node: (True, [draw(nodes)])
        if draw(st.integers(0, 4)) == 0
        else (False, draw(st.lists(nodes, max_size=5, unique=True)))
        for node in range(size)
    }


def shortest(edges: Edges, seeds: list[int], max_depth: int | None) -> dict[int, int]:
    """Return how far everything is from a seed, over pages within the limit (Dijkstra)."""
    found: dict[int, int] = {}
    line = [(0, seed) for seed in seeds]
    while line:
        depth, node = heapq.heappop(line)
        if node in found:
            continue
        found[node] = depth
        if max_depth is None or depth <= max_depth:
            redirect, targets = edges[node]
            for target in targets:
                heapq.heappush(line, (depth + (not redirect), target))
    return found


class Crowd:
    """Some workers that crawl a graph, each step in any order."""

    def __init__(self, driver: StoreDriver, edges: Edges, workers: int, rng: random.Random) -> None:
        self.driver = driver
        self.edges = edges
        self.workers = workers
        self.rng = rng
        self.told: dict[int, int] = {}
        self.visited: list[str] = []

    def crawl(self) -> None:
        """Crawl to the end."""
        driver, rng = self.driver, self.rng
        driver.join(*range(self.workers))
        held: list[Task] = []
        while driver.ended_by() is None:
            driver.score(lambda _: rng.random() * 100)
            driver.route()
            for worker in rng.sample(range(self.workers), self.workers):
                held += driver.lease(worker, rng.randint(1, 4))
            rng.shuffle(held)
            for _ in range(min(rng.randint(1, 4), len(held))):
                self.settle(held.pop())
        self.told.update(driver.pending_depth_changes())

    def settle(self, task: Task) -> None:
        name = self.driver.name(task)
        self.visited.append(name)
        redirect, targets = self.edges[int(name.partition("/")[2])]
        names = [name_of(target) for target in targets]
        if redirect:
            self.driver.redirect(task, names[0])
        else:
            self.driver.keep(task, names)
            number = self.driver.records()[name].page_id
            assert number is not None
            self.told[number] = task.depth


def name_of(node: int) -> str:
    return f"h{node % 3}/{node}"


@pytest.mark.req("C5")
@given(
    edges=graphs(),
    seeds=st.lists(st.integers(0, 1), min_size=1, max_size=2, unique=True),
    max_depth=st.sampled_from([None, 0, 1, 2, 3]),
    workers=st.integers(1, 8),
    relaxed_at_once=st.sampled_from([1, 2, 200]),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=80)
@pytest.mark.parametrize("kind", ["sqlite", "sqlite with short heads", "redis"])
def test_whatever_the_order_every_depth_is_that_of_a_breadth_first_search(
    kind: str,
    make_store: Callable[[str, Path, FrontierRules], StoreDriver],
    *,
    edges: Edges,
    seeds: list[int],
    max_depth: int | None,
    workers: int,
    relaxed_at_once: int,
    seed: int,
) -> None:
    rules = FrontierRules(
        scheduler=SchedulerRules(delay_s=0.0, host_connections=3),
        max_depth=max_depth,
        similarity=None,
        relaxed_at_once=relaxed_at_once,
    )
    with TemporaryDirectory() as folder:
        driver = make_store(kind, Path(folder), rules)
        driver.add_seeds(*map(name_of, seeds))
        crowd = Crowd(driver, edges, workers, random.Random(seed))  # noqa: S311 -- repeatable
        crowd.crawl()
        expected = shortest(edges, seeds, max_depth)
        assert driver.depths() == {name_of(node): depth for node, depth in expected.items()}
        within = {n for n, depth in expected.items() if max_depth is None or depth <= max_depth}
        assert sorted(crowd.visited) == sorted(map(name_of, within)), "each once"
        for name, record in driver.records().items():
            too_deep = record.state is UrlState.TOO_DEEP
            assert too_deep == (name not in crowd.visited)
            if record.outcome is Outcome.FETCHED:
                assert record.page_id is not None
                assert crowd.told[record.page_id] == record.depth, "the modules know it"
        assert driver.page_numbers() == list(range(1, len(crowd.told) + 1))
        driver.setup.close()
