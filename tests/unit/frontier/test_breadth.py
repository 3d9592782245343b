import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier import BreadthFirst, Task
from gossamer.model import Url

Graph = dict[Url, tuple[list[Url], Url | None]]
"""Each page's links, or where it redirects to."""


def url(name: object) -> Url:
    return Url(f"http://a.test/{name}")


def crawl(graph: Graph, seed: Url) -> dict[Url, int]:
    """Visit everything; return the depth at which each URL was handed out."""
    frontier = BreadthFirst(seed)
    visited: dict[Url, int] = {}
    while task := frontier.next():
        assert task.url not in visited, "handed out twice"
        visited[task.url] = task.depth
        links, target = graph[task.url]
        if target is not None:
            frontier.add_redirect(target, task)
        else:
            for link in links:
                frontier.add_link(link, task)
    assert frontier.waiting == 0
    return visited


def shortest(graph: Graph, seed: Url) -> dict[Url, int]:
    """Dijkstra, written apart: a link costs 1, a redirect 0."""
    best = {seed: 0}
    heap = [(0, seed)]
    while heap:
        depth, page = heapq.heappop(heap)
        if depth > best[page]:
            continue
        links, target = graph[page]
        edges = [(link, 1) for link in links] if target is None else [(target, 0)]
        for other, cost in edges:
            if depth + cost < best.get(other, len(graph) + 1):
                best[other] = depth + cost
                heapq.heappush(heap, (depth + cost, other))
    return best


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 12))
    node = st.integers(0, size - 1).map(url)
    page: st.SearchStrategy[tuple[list[Url], Url | None]] = st.one_of(
        st.tuples(st.lists(node, max_size=4), st.none()),
        st.tuples(st.just([]), node),
    )
    return {url(i): draw(page) for i in range(size)}


@pytest.mark.req("C5")
@given(graphs())
def test_every_reachable_page_is_handed_out_once_at_its_shortest_depth(graph: Graph) -> None:
    assert crawl(graph, url(0)) == shortest(graph, url(0))


def test_a_redirect_lifts_a_waiting_page_to_its_own_depth() -> None:
    graph: Graph = {
        url(0): ([url(1), url("old")], None),
        url(1): ([url("new")], None),
        url("old"): ([], url("new")),
        url("new"): ([], None),
    }
    assert crawl(graph, url(0))[url("new")] == 1


@pytest.mark.req("F7")
def test_a_known_link_is_refused_at_once() -> None:
    frontier = BreadthFirst(url(0))
    seed = frontier.next()
    assert seed == Task(url(0), 0)
    assert frontier.add_link(url(1), seed)
    assert not frontier.add_link(url(1), seed)
    assert not frontier.add_link(url(0), seed)
    assert not frontier.add_redirect(url(0), seed)


def test_hops_count_along_a_chain_of_redirects_and_begin_anew_with_a_link() -> None:
    frontier = BreadthFirst(url(0))
    task = frontier.next()
    for step in range(1, 4):
        assert task is not None
        frontier.add_redirect(url(step), task)
        task = frontier.next()
    assert task is not None
    assert task.hops == 3
    frontier.add_link(url("page"), task)
    after = frontier.next()
    assert after is not None
    assert after.hops == 0


def test_it_shows_its_counters() -> None:
    frontier = BreadthFirst(url(0))
    seed = frontier.next()
    assert seed is not None
    frontier.add_link(url(1), seed)
    assert repr(frontier) == "<BreadthFirst: 2 seen, 1 visited, 1 waiting>"
