"""A web of any size that is described by a few numbers, served on demand, and known in advance.

    graph = GraphWeb(hosts=1000, pages=50_000, seed=7)
    with graph.serve_in_process() as served:
        ...crawl graph.seed_url with served.dns as the table of names...
        traffic = served.report()
    for url, expected in graph.reachable().items():
        assert expected.allows(outcomes[url]) and expected.depth == depths[url]
    assert traffic.min_gap_s >= 1 and traffic.most_at_once == 1

Every page is a number. `Layout` says on which host and path it is, `Fates` what asking for it comes
to, `Pages` which links it has and how they are spelt: pure functions of the seed, so that nothing
is kept but the few pages that are special. `reachable` searches the same description without any
of the crawler's code and tells each URL's outcome and depth.
"""

from gossamer.testing.graph.oracle import Expected
from gossamer.testing.graph.process import GraphProcess
from gossamer.testing.graph.web import GraphWeb

__all__ = ["Expected", "GraphProcess", "GraphWeb"]
