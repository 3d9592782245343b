"""A synthetic web of any size, generated from a few numbers, with a known result of its crawl.

    graph = GraphWeb(hosts=1000, pages=50_000, seed=7)
    with graph.serve_in_process() as served:
        ...crawl graph.seed_url with served.dns as the name table...
        traffic = served.report()
    for url, expected in graph.reachable().items():
        assert expected.allows(outcomes[url]) and expected.depth == depths[url]
    assert traffic.min_gap_s >= 1 and traffic.most_at_once == 1

Every page is a number. `Layout` maps it to host and path, `Fates` to its answer, `Pages` to its
links and their spellings: pure functions of the seed, so that nothing is stored but the few special
pages. `reachable` searches the same description without any of the crawler's code, and returns the
outcome and depth of each URL.
"""

from tests.webs.graph.oracle import Expected
from tests.webs.graph.process import GraphProcess
from tests.webs.graph.web import GraphWeb

__all__ = ["Expected", "GraphProcess", "GraphWeb"]
