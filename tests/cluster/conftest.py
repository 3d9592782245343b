"""A Redis, a small web on several hosts, processes that crawl it, and what must come of that."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Protocol

import pytest
from crawled import read_urls
from forked_commands import ForkedCommands
from redis_servers import PATIENCE_S, RedisServer, StartServer
from tests.cluster.crawl_result import CrawlResult, as_result, impolite, saved_files
from tests.cluster.process_crawl import DELAY_S, GossamerProcess, ProcessCrawl, seed_and_options
from tests.cluster.small_web import LEAVES, describe
from threaded_proxy import ThreadedProxy

from gossamer.testing import Web

ALWAYS = ("appendonly yes", "appendfsync always")


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    with closing(StartServer(tmp_path)) as start:
        yield start


@pytest.fixture
def server(start_server: StartServer) -> RedisServer:
    """A server that has on its disk whatever it has answered."""
    return start_server(*ALWAYS)


@pytest.fixture
def make_proxy() -> Iterator[Callable[[int], ThreadedProxy]]:
    """Put a proxy before a port."""
    proxies: list[ThreadedProxy] = []

    def make(port: int) -> ThreadedProxy:
        proxies.append(ThreadedProxy(port))
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.close()


@pytest.fixture
def make_web() -> Iterator[Callable[..., Web]]:
    """Serve the small web once more, or a larger one."""
    with ExitStack() as stack:

        def make(leaves_each: int = LEAVES, noise: int = 0) -> Web:
            web = stack.enter_context(Web())
            describe(web, leaves_each, noise)
            return web

        yield make


@pytest.fixture
def web(make_web: Callable[..., Web]) -> Web:
    """The small web."""
    return make_web()


class MakeCrawl(Protocol):
    """Makes a crawl over the store at a URL, of the small web or of another."""

    def __call__(self, url: str, web: Web | None = None) -> ProcessCrawl: ...


@pytest.fixture
def make_crawl(tmp_path: Path, web: Web, forked: ForkedCommands) -> Iterator[MakeCrawl]:
    small_web, made = web, list[ProcessCrawl]()

    def make(url: str, web: Web | None = None) -> ProcessCrawl:
        made.append(ProcessCrawl(tmp_path, web or small_web, url, forked))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def crawl(make_crawl: MakeCrawl, server: RedisServer) -> ProcessCrawl:
    """A crawl of the small web over the server."""
    return make_crawl(server.url)


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> CrawlResult:
    """What comes of the crawl in one process, with a file for a store."""
    return result_in_one_process(tmp_path_factory.mktemp("embedded"))


def result_in_one_process(folder: Path, leaves_each: int = LEAVES, noise: int = 0) -> CrawlResult:
    """Crawl a small web, or a larger one, without any of what the tests are about."""
    with Web() as web:
        describe(web, leaves_each, noise)
        arguments = ["crawl", *seed_and_options(web, folder, 1)]
        run = GossamerProcess(folder / "output", arguments, {})
        assert run.end(patience_s=PATIENCE_S + leaves_each) == 0, run.output
        records = [*read_urls(folder).values()]
        assert impolite(web.requests, DELAY_S) == []
        pages = [content.split(b"\n", 2) for content in saved_files(folder).values()]
        found = [(url.decode(), int(depth), body) for url, depth, body in pages]
        return as_result(web, records, found)
