"""Depths are held against the links: the same verdict as a search would give."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.views.verify_urls import DepthCheck, Node

Links = dict[int, list[int]]


def searched(links: Links, redirects: set[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return depth and parent of everything that is reached from 1: breadth first, plainly."""
    depth, parent = {1: 0}, {1: 0}
    line = deque([1])
    while line:
        one = line.popleft()
        step = 0 if one in redirects else 1
        for other in links.get(one, []):
            if depth[one] + step < depth.get(other, len(links) + 2):
                depth[other], parent[other] = depth[one] + step, one
                (line.append if step else line.appendleft)(other)
    return depth, parent


def complaints(
    links: Links, redirects: set[int], depth: dict[int, int], parent: dict[int, int]
) -> list[str]:
    nodes = [
        Node(one, depth[one], parent[one], one in redirects, False, False) for one in sorted(depth)
    ]
    graph = DepthCheck(nodes, str)
    return [*graph.shortcuts(links.items()), *graph.broken_paths()]


@st.composite
def webs(draw: st.DrawFn) -> tuple[Links, set[int], dict[int, int], dict[int, int]]:
    """A web of which every page is reached; pages are numbered as they are found."""
    size = draw(st.integers(1, 12))
    ids = st.integers(1, size)
    redirects = draw(st.sets(st.integers(2, size), max_size=4)) if size > 1 else set()
    links = {
        one: draw(st.lists(ids, unique=True, max_size=1 if one in redirects else 5))
        for one in range(1, size + 1)
    }
    depth, _ = searched(links, redirects)
    number = {one: place for place, one in enumerate(sorted(depth), start=1)}
    kept = {number[one]: [number[other] for other in links[one]] for one in sorted(depth)}
    found = {number[one] for one in redirects if one in number}
    return kept, found, *searched(kept, found)


@settings(max_examples=200, deadline=None)
@given(webs(), st.data())
def test_depths_are_right_exactly_if_a_search_finds_them(
    web: tuple[Links, set[int], dict[int, int], dict[int, int]], data: st.DataObject
) -> None:
    links, redirects, depth, parent = web
    assert complaints(links, redirects, depth, parent) == []
    changed = data.draw(st.sampled_from(sorted(depth)))
    wrong = data.draw(st.integers(0, 15).filter(lambda one: one != depth[changed]))
    if changed != 1:  # that a seed has the depth 0 is another rule
        assert complaints(links, redirects, {**depth, changed: wrong}, parent) != []


def test_redirects_in_a_circle_are_no_path() -> None:
    links = {1: [], 2: [3], 3: [2]}
    found = complaints(links, {2, 3}, {1: 0, 2: 1, 3: 1}, {1: 0, 2: 3, 3: 2})
    assert found == ["2 was found over itself: its parents form a circle"]


def test_a_link_that_was_forgotten_still_counts_as_a_path() -> None:
    nodes = [Node(1, 0, None, False, True, False), Node(2, 1, 1, False, False, False)]
    graph = DepthCheck(nodes, str)
    assert [*graph.shortcuts([(1, [])]), *graph.broken_paths()] == []


@pytest.mark.req("B2")
@pytest.mark.parametrize(
    ("is_relaxing", "depth", "sound"), [(True, 7, True), (True, 1, False), (False, 7, False)]
)
def test_links_that_are_still_to_be_followed_may_lead_farther_than_they_could(
    is_relaxing: bool, depth: int, sound: bool
) -> None:
    nodes = [
        Node(1, 0, None, False, False, False),
        Node(2, 1, 1, False, False, is_relaxing),
        Node(3, depth, 2, False, False, False),
    ]
    graph = DepthCheck(nodes, str)
    found = [*graph.shortcuts([(1, [2]), (2, [3])]), *graph.broken_paths()]
    assert (found == []) == sound
