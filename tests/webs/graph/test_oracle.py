"""The oracle, against hand-made graphs and against its own definition."""

from collections.abc import Mapping

import pytest
from tests.webs.graph import Expected, GraphWeb
from tests.webs.graph.fates import Fate, Fates
from tests.webs.graph.oracle import Oracle

from gossamer.model import Outcome, Url
from gossamer.model.errors import UsageError


class Redirects(Fates):
    """Fates that a test has chosen page by page."""

    def __init__(self, fates: dict[int, Fate], redirects: dict[int, int]) -> None:
        super().__init__(fates, pages=100, draw=lambda: 0.0, loops=False)
        self.redirects = redirects


def oracle(links: Mapping[int, list[int]], redirects: dict[int, int], **fates: Fate) -> Oracle:
    special = {int(page[1:]): fate for page, fate in fates.items()}
    special |= dict.fromkeys(redirects, Fate.REDIRECT)
    return Oracle(
        Redirects(special, redirects),
        host_of=lambda page: page // 10,
        targets=lambda page: links.get(page, []),
        is_denied=lambda page: page == 9,
    )


def depths(found: Mapping[int, Expected]) -> dict[int, int]:
    return {page: expected.depth for page, expected in found.items()}


def test_the_shortest_way_counts() -> None:
    search = oracle({0: [1, 2], 1: [3], 3: [4], 2: [4, 0], 4: [4, 1]}, {})
    assert depths(search.reachable(0, "any", None)) == {0: 0, 1: 1, 2: 1, 3: 2, 4: 2}
    assert depths(search.reachable(3, "any", None)) == {3: 0, 4: 1, 1: 2}


def test_a_redirect_costs_no_depth() -> None:
    # 0 → 1 ⇒ 2 ⇒ 3 → 4, and the long way 0 → 5 → 6 → 3.
    search = oracle({0: [5, 1], 3: [4], 5: [6], 6: [3]}, {1: 2, 2: 3})
    assert depths(search.reachable(0, "any", None)) == {0: 0, 1: 1, 2: 1, 3: 1, 4: 2, 5: 1, 6: 2}


def test_the_depth_limit_holds_for_links_only() -> None:
    search = oracle({0: [1], 2: [3]}, {1: 2})
    assert set(search.reachable(0, "any", 0)) == {0}
    assert set(search.reachable(0, "any", 1)) == {0, 1, 2}


def test_nothing_is_found_behind_pages_that_are_not_fetched() -> None:
    links = {page: [50 + page] for page in range(1, 10)} | {0: list(range(1, 10))}
    fates = {"p1": Fate.MISSING, "p2": Fate.GONE, "p3": Fate.SERVER_ERROR, "p4": Fate.SILENT}
    found = oracle(links, {}, p5=Fate.RESET, **fates).reachable(0, "any", None)
    assert {page: found[page].outcome for page in (1, 2, 3, 4, 5, 9)} == {
        1: Outcome.NOT_FOUND,
        2: Outcome.GONE,
        3: Outcome.SERVER_ERROR,
        4: Outcome.TIMED_OUT,
        5: Outcome.CONNECTION_FAILED,
        9: Outcome.ROBOTS_DENIED,
    }
    assert {page for page in found if page > 50} == {56, 57, 58}


def test_a_crawl_that_keeps_to_its_host() -> None:
    search = oracle({0: [1, 10, 2], 2: [3], 10: [4]}, {1: 11, 3: 0})
    found = search.reachable(0, "host", None)
    assert depths(found) == {0: 0, 1: 1, 2: 1, 3: 2}
    assert (found[1].outcome, found[3].outcome) == (Outcome.OUT_OF_SCOPE, Outcome.REDIRECTED)
    assert set(search.reachable(0, "any", None)) == {0, 1, 2, 3, 4, 10, 11}


def test_rings_end() -> None:
    assert depths(oracle({0: [1]}, {1: 2, 2: 3, 3: 1}).reachable(0, "any", None)) == {
        0: 0,
        1: 1,
        2: 1,
        3: 1,
    }


def test_a_redirect_in_a_ring_may_end_in_either_way() -> None:
    assert Expected(Outcome.REDIRECTED, 1, loops=True).allows(Outcome.BAD_REDIRECT)
    assert Expected(Outcome.REDIRECTED, 1, loops=True).allows(Outcome.REDIRECTED)
    assert not Expected(Outcome.REDIRECTED, 1).allows(Outcome.BAD_REDIRECT)
    assert any(expected.loops for expected in GraphWeb(hosts=10, pages=2000).reachable().values())


def test_only_a_url_of_the_web_is_a_seed() -> None:
    graph = GraphWeb(hosts=3, pages=60)
    assert graph.seed_url == "http://h0000.test/"
    assert graph.reachable("http://h0002.test/")[Url("http://h0002.test/")].depth == 0
    for wrong in ("http://h0003.test/", "https://h0000.test/", "http://h0000.test/p99.html", ""):
        with pytest.raises(UsageError):
            graph.reachable(wrong)
