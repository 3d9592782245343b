"""The description: what it promises of the web as a whole."""

import subprocess
import sys
from collections import Counter

import msgspec
import pytest
from tests.webs.graph import GraphWeb
from tests.webs.graph.fates import Fate
from tests.webs.graph.process import ROOT

from gossamer.model import Outcome
from gossamer.model.errors import UsageError

DIGEST = """
import hashlib, sys
from tests.webs.graph import GraphWeb
graph = GraphWeb(hosts=20, pages=1000, calendars=1, seed=int(sys.argv[1]))
pages = [graph.contents.html(page) for page in range(graph.pages)]
whole = repr((pages, sorted(graph.fates.redirects.items()), graph.reachable()))
print(hashlib.sha256(whole.encode()).hexdigest())
"""


def digest(seed: int, hash_seed: int) -> str:
    """Everything a web is, drawn together by a Python with its own salt for hashes."""
    made = subprocess.run(
        [sys.executable, "-c", DIGEST, str(seed)],
        env={"PYTHONHASHSEED": str(hash_seed)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


def test_the_same_numbers_make_the_same_web_in_every_process() -> None:
    assert digest(seed=7, hash_seed=1) == digest(seed=7, hash_seed=2)
    assert digest(seed=7, hash_seed=1) != digest(seed=8, hash_seed=1)


def test_a_few_hosts_are_large_and_many_small() -> None:
    sizes = GraphWeb().layout.sizes
    assert (len(sizes), sum(sizes)) == (1000, 50_000)
    assert max(sizes) == sizes[0] > 2000
    assert sorted(sizes)[500] < 50
    assert min(sizes) >= 1
    assert set(GraphWeb(hosts=10, pages=1000, skew=0).layout.sizes) == {100}
    assert set(GraphWeb(hosts=9, pages=9, redirects=0, missing=0, failing=0).layout.sizes) == {1}


def test_shares_are_as_asked() -> None:
    graph = GraphWeb(redirects=0.05, missing=0.02, failing=0.01)
    fates = Counter(graph.fates.of(page) for page in range(graph.pages))
    assert fates[Fate.REDIRECT] == 2500
    assert (fates[Fate.MISSING], fates[Fate.GONE]) == (800, 200)
    assert (fates[Fate.SERVER_ERROR], fates[Fate.RESET], fates[Fate.SILENT]) == (477, 20, 3)
    assert len(graph.robots) == 200
    assert {graph.fates.of(home) for home in graph.layout.firsts} == {Fate.FOUND}


def test_redirects_come_to_a_page_or_go_round() -> None:
    fates = GraphWeb().fates
    lengths = Counter[int]()
    for start in fates.redirects:
        seen = [start]
        while (page := fates.redirects.get(seen[-1])) is not None and page not in seen:
            seen.append(page)
        assert (page is not None) == (start in fates.looping)
        lengths[len(seen) - (page is None)] += page is None
        assert page is not None or fates.of(seen[-1]) is Fate.FOUND
    assert len(fates.looping) == 150
    assert set(lengths) - {0} >= {1, 2, 3, 4, 5}
    assert max(lengths) == 5
    assert not GraphWeb(loops=False).fates.looping


def test_redirects_stay_on_their_host_and_leave_it() -> None:
    graph = GraphWeb()
    host_of = graph.layout.host_of
    stay = Counter(host_of(one) == host_of(other) for one, other in graph.fates.redirects.items())
    assert min(stay.values()) > 300


def test_nearly_everything_can_be_reached_and_nothing_twice() -> None:
    expected = GraphWeb().reachable()
    assert len(expected) > 0.98 * 50_000
    outcomes = Counter(one.outcome for one in expected.values())
    assert set(outcomes) == {
        *(Outcome.FETCHED, Outcome.REDIRECTED, Outcome.NOT_FOUND, Outcome.GONE),
        *(Outcome.SERVER_ERROR, Outcome.TIMED_OUT, Outcome.CONNECTION_FAILED),
        Outcome.ROBOTS_DENIED,
    }
    assert max(one.depth for one in expected.values()) >= 10


def test_a_calendar_is_as_deep_as_it_is_long() -> None:
    graph = GraphWeb(hosts=20, pages=1000, calendars=1, redirects=0, robots_hosts=0)
    (calendar,) = graph.calendar_hosts
    expected = graph.reachable(graph.layout.url(graph.layout.firsts[calendar]), max_depth=1000)
    assert max(one.depth for one in expected.values()) == graph.layout.sizes[calendar] - 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"hosts": 0},
        {"hosts": 11, "pages": 10},
        {"redirects": -0.1},
        {"slow_hosts": 1.1},
        {"silent": -1},
        {"redirects": 0.5, "missing": 0.5},
        {"hosts": 10, "pages": 20, "redirects": 0.6},
    ],
)
def test_numbers_that_describe_no_web(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        msgspec.convert(wrong, GraphWeb)
