"""The depth of a URL is the length of its shortest path over the links seen so far."""

import heapq
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier import DeskRules
from gossamer.model import Outcome
from gossamer.stores import StoreRules
from gossamer.stores.contract import Place, Task

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("B2")


def visit(lab: "Lab", name: str, *links: str) -> list[tuple[int, int]]:
    """Visit one URL, let the others wait; return which pages have come nearer."""
    tasks = {lab.name(task): task for task in lab.take()}
    settled = lab.keep(tasks.pop(name), links)
    for task in tasks.values():
        lab.put_back(task, None)
    return list(settled.nearer)


def test_a_shorter_path_brings_everything_behind_it_nearer(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=99)
    lab.plant("a/", "b/")
    visit(lab, "a/", "a/1")
    visit(lab, "a/1", "a/2")
    visit(lab, "a/2", "a/3")
    visit(lab, "a/3", "a/4", "a/1")
    assert lab.depths() == {"a/": 0, "b/": 0, "a/1": 1, "a/2": 2, "a/3": 3, "a/4": 4}
    numbers = {lab.name_of(page.url): page.id for page in lab.backend.pages()}
    nearer = visit(lab, "b/", "a/3")
    assert lab.depths() == {"a/": 0, "b/": 0, "a/1": 1, "a/2": 2, "a/3": 1, "a/4": 2}
    assert nearer == [(numbers["a/3"], 1)], "a/4 has not been fetched"
    assert lab.records()["a/3"].parent == lab.records()["b/"].id
    assert lab.records()["a/4"].parent == lab.records()["a/3"].id
    (task,) = lab.take()
    assert (lab.name(task), task.depth) == ("a/4", 2)


def test_what_was_beyond_the_limit_is_crawled_when_a_shorter_path_appears(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=99, max_depth=2)
    lab.plant("a/", "b/")
    visit(lab, "a/", "a/1")
    visit(lab, "a/1", "a/2")
    visit(lab, "a/2", "a/3")
    assert lab.place("a/3") is Place.BEYOND
    assert lab.snapshot().waiting == 1
    task = lab.take_one("b/")
    assert lab.keep(task, ["a/2"]).new_links == []
    assert lab.place("a/3") is Place.UNSCORED
    (task,) = lab.take()
    assert (lab.name(task), task.depth) == ("a/3", 2)
    assert lab.ended_by() is None
    lab.keep(task, ["a/4"])
    assert lab.place("a/4") is Place.BEYOND
    assert lab.ended_by() == "complete"
    lab.assert_counts_agree()


def test_a_link_to_what_is_beyond_the_limit_makes_it_new(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, host_connections=99, max_depth=1)
    lab.plant("a/", "b/")
    visit(lab, "a/", "a/1")
    visit(lab, "a/1", "a/2")
    task = lab.take_one("b/")
    assert lab.keep(task, ["a/2"]).new_links == [lab.key("a/2")]


def test_a_redirect_costs_no_depth(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(delay_s=0.0, max_depth=1)
    lab.plant("a/")
    visit(lab, "a/", "a/1")
    (task,) = lab.take()
    lab.redirect(task, "a/2")
    (task,) = lab.take()
    assert (lab.name(task), task.depth, task.hops) == ("a/2", 1, 1)
    lab.redirect(task, "a/3")
    (task,) = lab.take()
    assert (lab.name(task), task.depth, task.hops) == ("a/3", 1, 2)
    lab.keep(task, ["a/4"])
    assert lab.place("a/4") is Place.BEYOND


def test_a_link_needs_fewer_redirects_than_a_chain(open_lab: "Callable[..., Lab]") -> None:
    """Whether a chain is too long must not depend on the order of the crawl."""
    lab = open_lab(delay_s=0.0, host_connections=99)
    lab.plant("a/", "b/")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.keep(tasks["a/"], ["a/1"])
    lab.redirect(lab.take_one("a/1"), "a/2")
    target = lab.take_one("a/2")
    assert target.hops == 1
    lab.keep(tasks["b/"], ["a/2"])
    lab.redirect(target, "a/3")
    assert lab.take_one("a/3").hops == 1, "one redirect since the link to a/2"


def test_a_page_in_work_is_told_of_its_shorter_path_when_it_is_settled(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=99)
    lab.plant("a/", "b/")
    tasks = {lab.name(task): task for task in lab.take()}
    lab.keep(tasks["a/"], ["a/1"])
    visit(lab, "a/1", "a/2")
    deep = lab.take_one("a/2")
    assert deep.depth == 2
    lab.keep(tasks["b/"], ["a/2"])
    ((number, depth),) = lab.keep(deep, ["a/3"]).nearer
    assert (number, depth) == (lab.records()["a/2"].page_id, 1)
    assert lab.depths()["a/3"] == 2


def test_the_modules_are_told_of_shorter_paths_also_after_a_crash(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=99)
    lab.plant("a/", "b/")
    visit(lab, "a/", "a/1")
    visit(lab, "a/1", "a/2")
    visit(lab, "a/2")
    number = lab.records()["a/2"].page_id
    assert number is not None
    assert lab.untold() == []
    assert visit(lab, "b/", "a/2") == [(number, 1)]
    lab.commit()
    for restart in (lab.crash, lab.reopen):
        restart()
        lab.join(0)
        assert lab.untold() == [(number, 1)]
    lab.told([(number, 1)])
    lab.commit()
    lab.crash()
    assert lab.untold() == []


def test_a_planted_url_is_at_depth_0_however_far_away_it_was(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(delay_s=0.0, host_connections=99)
    lab.plant("a/")
    visit(lab, "a/", "a/1")
    visit(lab, "a/1", "a/2")
    assert lab.plant("a/1") == 0
    assert lab.depths() == {"a/": 0, "a/1": 0, "a/2": 1}


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

    def __init__(self, lab: "Lab", edges: Edges, workers: int, rng: random.Random) -> None:
        self.lab = lab
        self.edges = edges
        self.workers = workers
        self.rng = rng
        self.told: dict[int, int] = {}
        self.visited: list[str] = []

    def crawl(self) -> None:
        """Crawl to the end."""
        lab, rng = self.lab, self.rng
        lab.join(*range(self.workers))
        held: list[Task] = []
        while lab.ended_by() is None:
            lab.score(lambda _: rng.random() * 100)
            lab.route()
            for worker in rng.sample(range(self.workers), self.workers):
                held += lab.lease(worker, rng.randint(1, 4))
            rng.shuffle(held)
            for _ in range(rng.randint(1, len(held))):
                self.settle(held.pop())

    def settle(self, task: Task) -> None:
        name = self.lab.name(task)
        self.visited.append(name)
        redirect, targets = self.edges[int(name.partition("/")[2])]
        names = [name_of(target) for target in targets]
        if redirect:
            settled = self.lab.redirect(task, names[0])
        else:
            settled = self.lab.keep(task, names)
            number = self.lab.records()[name].page_id
            assert number is not None
            self.told[number] = task.depth
        self.told.update(settled.nearer)


def name_of(node: int) -> str:
    return f"h{node % 3}/{node}"


@pytest.mark.req("C5")
@given(
    edges=graphs(),
    seeds=st.lists(st.integers(0, 1), min_size=1, max_size=2, unique=True),
    max_depth=st.sampled_from([None, 0, 1, 2, 3]),
    workers=st.integers(1, 8),
    seed=st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=80)
@pytest.mark.parametrize("kind", ["memory", "sqlite with a tiny cache", "redis"])
def test_whatever_the_order_every_depth_is_that_of_a_breadth_first_search(
    kind: str,
    make_lab: "Callable[[str, Path, StoreRules], Lab]",
    *,
    edges: Edges,
    seeds: list[int],
    max_depth: int | None,
    workers: int,
    seed: int,
) -> None:
    rules = StoreRules(
        desk=DeskRules(delay_s=0.0, host_connections=3), max_depth=max_depth, similarity=None
    )
    with TemporaryDirectory() as folder:
        lab = make_lab(kind, Path(folder), rules)
        lab.plant(*map(name_of, seeds))
        crowd = Crowd(lab, edges, workers, random.Random(seed))  # noqa: S311 -- repeatable
        crowd.crawl()
        expected = shortest(edges, seeds, max_depth)
        assert lab.depths() == {name_of(node): depth for node, depth in expected.items()}
        within = {n for n, depth in expected.items() if max_depth is None or depth <= max_depth}
        assert sorted(crowd.visited) == sorted(map(name_of, within)), "each once"
        for name, record in lab.records().items():
            beyond = record.place is Place.BEYOND
            assert beyond == (name not in crowd.visited)
            if record.outcome is Outcome.FETCHED:
                assert record.page_id is not None
                assert crowd.told[record.page_id] == record.depth, "the modules know it"
        assert lab.page_numbers() == list(range(1, len(crowd.told) + 1))
        lab.backend.close()
