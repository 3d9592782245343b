"""Exact depth without a barrier: whatever the order of the answers, the shortest way counts."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count

import msgspec
import pytest
from crawled import Crawled, PageRecorder
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import gossamer
from gossamer.testing import Reply, Web

MOST_NODES = 12


class WebNode(msgspec.Struct, frozen=True):
    """A URL of a random web."""

    links: tuple[int, ...]
    redirect: bool
    """Whether it leads to its first link at once."""
    delay_ms: int


class Example(msgspec.Struct, frozen=True):
    """A random web, and how to crawl it."""

    nodes: tuple[WebNode, ...]
    max_depth: int | None
    workers: int
    hosts: int
    scorer: str

    def leads_on(self, number: int) -> bool:
        """Tell whether asking for the URL leads to another at once."""
        return self.nodes[number].redirect and bool(self.nodes[number].links)


def shortest(example: Example) -> dict[int, int]:
    """Return how far every URL is that a crawl must ask for: a search in the order of depth."""
    depths: dict[int, int] = {}
    line = deque([(0, 0)])
    while line:
        number, depth = line.popleft()
        if number in depths or (example.max_depth is not None and depth > example.max_depth):
            continue
        depths[number] = depth
        if example.leads_on(number):
            line.appendleft((example.nodes[number].links[0], depth))
        else:
            line.extend((link, depth + 1) for link in example.nodes[number].links)
    return depths


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """Draw a long way through all nodes, with shortcuts; a few of the nodes are slow."""
    size = draw(st.integers(1, MOST_NODES))
    nodes = []
    for number in range(size):
        onward = [number + 1] if number + 1 < size and draw(st.integers(0, 7)) else []
        shortcuts = draw(st.lists(st.integers(0, size - 1), max_size=2))
        links = draw(st.permutations(onward + shortcuts))
        delay_ms = draw(st.sampled_from([0, 0, 0, 2, 5, 15]))
        nodes.append(WebNode(tuple(links), draw(st.integers(0, 5)) == 5, delay_ms))
    return Example(
        nodes=tuple(nodes),
        max_depth=draw(st.none() | st.integers(0, 6)),
        workers=draw(st.integers(1, 8)),
        hosts=draw(st.sampled_from([1, 3, MOST_NODES])),
        scorer=draw(st.sampled_from(["fifo", "depth", "page-number", "importance"])),
    )


@pytest.fixture(scope="module")
def busy_web() -> Iterator[Web]:
    with Web() as running:
        yield running


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    """Numbers for the hosts of the examples, which share one server."""
    return count()


def describe(web: Web, name: str, example: Example) -> list[str]:
    """Put an example on the web and return its URLs."""
    size = len(example.nodes)
    places = [(f"{name}-{number % example.hosts}.test", f"/{number}") for number in range(size)]
    urls = [f"http://{host}{path}" for host, path in places]
    for number, node in enumerate(example.nodes):
        host, path = places[number]
        delay_s = node.delay_ms / 1000
        if example.leads_on(number):
            location = {"Location": urls[node.links[0]]}
            web.site(host).reply(path, Reply(status=302, headers=location, delay_s=delay_s))
        else:
            body = "".join(f"<a href='{urls[link]}'>on</a>" for link in node.links)
            web.site(host).reply(path, Reply(body=body + path, delay_s=delay_s))
    return urls


@pytest.mark.req("B2", "C5")
@given(example=examples())
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink is of no use: time counts
)
def test_every_page_within_the_limit_at_its_shortest_depth(
    busy_web: Web, numbers: Iterator[int], chaos_seed: int, example: Example
) -> None:
    urls = describe(busy_web, f"e{next(numbers)}", example)
    recorder = PageRecorder()
    asyncio.run(
        gossamer.crawl(
            urls[0],
            module=recorder,
            dns=busy_web.dns,
            allow_network=["127.0.0.1"],
            delay="0s",
            scope="any",
            similarity="off",
            depth=example.max_depth,
            workers=example.workers,
            host_connections=4,
            ignore_robots=[url.split("/")[2] for url in urls],
            scorer=example.scorer,
        )
    )
    expected = shortest(example)
    asked = [one.path for one in busy_web.requests]
    busy_web.clear_requests()
    assert sorted(asked) == sorted(f"/{number}" for number in expected)
    told = {page.url: recorder.depths[page.id] for page in recorder.pages}
    fetched = [number for number in expected if not example.leads_on(number)]
    assert told == {urls[number]: expected[number] for number in fetched}
    assert sorted(recorder.depths) == list(range(1, len(fetched) + 1))


@pytest.mark.req("B2")
@pytest.mark.parametrize("delays_ms", [(0, 60), (60, 0)])
def test_a_shorter_way_that_turns_up_late(
    web: Web, crawl: Callable[..., Crawled], delays_ms: tuple[int, int]
) -> None:
    """The long way is quick and the short one slow, or the other way round: it is all the same."""
    slow, long = delays_ms
    site = web.site("a.test")
    site.page("/", links=["/short", "/long1"])
    site.reply("/short", Reply(body="<a href=/hub>on</a>", delay_s=slow / 1000))
    site.reply("/long1", Reply(body="<a href=/long2>on</a>", delay_s=long / 1000))
    site.redirect("/long2", "/long3")
    site.page("/long3", links=["/hub"])
    site.page("/hub", links=["/moved"])
    site.redirect("/moved", "/deep")
    site.page("/deep", links=["/last"])
    site.page("/last", links=["/too_deep"])
    site.page("/too_deep")
    crawled = crawl("http://a.test/", depth=4, host_connections=4)
    depths = {url.removeprefix("http://a.test"): depth for url, depth in crawled.depths().items()}
    assert depths == {
        "/": 0,
        "/short": 1,
        "/long1": 1,
        "/long3": 2,
        "/hub": 2,
        "/deep": 3,
        "/last": 4,
    }
    told = {page.url: crawled.reported_depths[page.id] for page in crawled.pages}
    assert told == crawled.depths()
    assert crawled.outcome("http://a.test/too_deep") is None
    assert "/too_deep" not in [record.path for record in web.requests]
