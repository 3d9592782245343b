"""Fixtures and the table of requirements, for every test."""

import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
import pytest
from fetch_servers import find_server

pytest_plugins = ["requirement_table"]

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

    TEST_REDIS_SERVER names another one: redis-server-6.2 or valkey-server.
    """
    name = os.environ.get("TEST_REDIS_SERVER", "redis-server")
    program = find_server(name)
    if program is None:
        reason = f"no {name} here: run 'make test', which fetches it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    settings = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    log = folder / "log"
    command = [str(program), *settings, "--appendonly", "no", "--logfile", str(log)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        _await_port(port, server, log)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def _await_port(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    pytest.fail(f"redis-server did not start: {log.read_text(errors='replace')[-1000:]}")
