"""kill -9 between two slices of the links of a page: all of them are there, and once."""

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from redis_servers import RedisServer

from gossamer.frontier import depths
from gossamer.testing import Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

pytestmark = pytest.mark.req("B1", "B9", "D16")

CONNECTIONS = 8
QUICK_COMMITS = {"commit_every_s": 0.005}


class Listed(msgspec.Struct, frozen=True):
    """A URL as `gossamer pages --all --json` lists it."""

    url: str
    outcome: str | None
    depth: int


def hub(web: Web, links: int) -> str:
    """Describe a page with so many links; return its URL."""
    site = web.site("127.0.0.1")
    leaves = [f"/{number}" for number in range(links)]
    site.page("/", links=leaves)
    for leaf in leaves:
        site.page(leaf, text=leaf)
    return f"{web.base_url}/"


def options(*store: object) -> list[object]:
    pace = ["--delay", "0s", "--host-connections", CONNECTIONS, "--workers", 1]
    return [*pace, "--similarity", "off", *store]


def listed(gossamer: "Gossamer", *store: object) -> list[Listed]:
    """Return all URLs of the crawl, which must be sound as it is."""
    gossamer.start("verify", *store).succeed()
    run = gossamer.start("pages", "--all", "--json", *store)
    run.succeed()
    return [msgspec.json.decode(line, type=Listed) for line in run.output.splitlines()]


def assert_complete(found: list[Listed], url: str, links: int) -> None:
    leaves = [Listed(f"{url}{number}", "fetched", 1) for number in range(links)]
    by_url = sorted(found, key=lambda one: one.url)
    assert by_url == sorted([Listed(url, "fetched", 0), *leaves], key=lambda one: one.url)


def asked(web: Web) -> Counter[str]:
    return Counter(record.path for record in web.requests if record.path != "/robots.txt")


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The options that name a crawl, in a file or in a server of its own."""
    if request.param == "sqlite":
        yield ["--dir", str(tmp_path / "crawl")]
        return
    with closing(RedisServer(tmp_path / "redis")) as server:
        yield ["--store", server.start().url, "--name", "slices"]


@pytest.mark.parametrize("passing", [1, 2])
def test_there_are_none_of_them_before_all_are_there(
    passing: int, gossamer: "Gossamer", web: Web, store: list[str]
) -> None:
    """The page is fetched again, and its links are added from the first one on."""
    links = 3 * depths.LINKS_AT_ONCE + 1
    url = hub(web, links)
    step = {"step": "after Frontier._add_slice", "passing": passing}
    assert gossamer.start("crawl", url, *options(*store), **step, **QUICK_COMMITS).was_killed()
    assert listed(gossamer, *store) == [Listed(url, None, 0)]
    gossamer.start("crawl", url, *options(*store)).succeed()
    assert_complete(listed(gossamer, *store), url, links)
    requests = asked(web)
    assert requests.pop("/") == 2
    assert {*requests.values()} == {1}
