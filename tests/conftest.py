"""Fixtures and plugins for every test."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
import pytest
from forked_commands import ForkedCommands
from redis_servers import RedisServer

pytest_plugins = ["requirement_table", "chaos_rounds"]
pytest.register_assert_rewrite(
    "tests.cluster.process_crawl",
    "tests.contract.driver",
    "tests.contract.model",
    "tests.contract.steps",
    "tests.contract.stored_rows",
)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def docs_site() -> Path:
    """Return a folder of over 500 real HTML pages, with an index.html."""
    given = os.environ.get("GOSSAMER_DOCS")
    site = Path(given) if given else ROOT / ".cache" / "docs" / "site"
    if (site / "index.html").is_file():
        return site
    reason = "no documentation site: run 'make test', or set GOSSAMER_DOCS to a folder of HTML"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def search_docs(docs_site: Path) -> Callable[[int | None], dict[str, int]]:
    """Return a search over the files of the documentation site, served as http://docs.test/.

    It gives every page within a depth, with its depth: breadth first, with another parser and
    other URL code than the crawler's.
    """

    @cache
    def links_of(name: str) -> list[str]:
        document = lxml.html.fromstring((docs_site / name).read_bytes())
        hrefs = [element.get("href") for element in document.iter("a", "area")]
        url = f"http://docs.test/{name}"
        return [urljoin(url, href.strip()).partition("#")[0] for href in hrefs if href]

    def file_of(url: str) -> Path:
        return docs_site / unquote(urlsplit(url).path[1:])

    def search(depth: int | None) -> dict[str, int]:
        home = "http://docs.test/index.html"
        depths = {home: 0}
        line = deque([home])
        while line:
            url = line.popleft()
            if depths[url] == depth or file_of(url).suffix != ".html":
                continue
            for link in links_of(file_of(url).name):
                inside = link.startswith("http://docs.test/")
                is_page = file_of(link).is_file() and file_of(link).suffix in {".html", ".txt"}
                if inside and is_page and link not in depths:
                    depths[link] = depths[url] + 1
                    line.append(link)
        return depths

    return search


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one Redis for all tests of a process; each of them uses crawls of its own.

    TEST_REDIS_SERVER names another one: valkey-server.
    """
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    with closing(server):
        yield server.start().url


@pytest.fixture(scope="session")
def forked() -> Iterator[ForkedCommands]:
    """Our commands, ready to be run."""
    with closing(ForkedCommands()) as commands:
        yield commands
