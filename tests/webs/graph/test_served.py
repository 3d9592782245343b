"""What is served, walked with the standard library alone, against what the oracle says."""

import http.client
import socket
import subprocess
import sys
import urllib.robotparser
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from tests.webs.graph import Expected, GraphProcess, GraphWeb
from tests.webs.graph.process import ROOT, serve_in_process

from gossamer.model import Outcome, Url
from gossamer.model.errors import GossamerError
from gossamer.testing import Web
from gossamer.urls import resolve

GRAPH = GraphWeb(hosts=12, pages=600, reset=3, silent=1, slow_s=0.002, slow_hosts=0.2, calendars=1)

PATIENCE_S = 2.0
"""Long enough for a busy machine; one page in the whole web takes all of it."""

OUTCOMES = {200: Outcome.FETCHED, 404: Outcome.NOT_FOUND, 410: Outcome.GONE}


class LinkParser(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hrefs += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]


def normal(base: str, href: str) -> str:
    """The standard library's idea of a link, and by hand what it leaves undone."""
    parts = urlsplit(urljoin(base, href.strip().replace("\\", "/")))
    path = unquote(urlsplit(urljoin("http://x/", parts.path or "/")).path)
    return f"http://{parts.hostname}{path}{'?' if parts.query else ''}{parts.query}"


class Walker:
    """A crawler of twenty lines: breadth first, one request after the other."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._robots: dict[str, urllib.robotparser.RobotFileParser] = {}

    def walk(self, seed: str) -> dict[str, Expected]:
        found: dict[str, Expected] = {}
        level, depth = [seed], 0
        while level:
            links: list[str] = []
            while level:
                url = level.pop()
                if url not in found:
                    outcome, target, more = self._visit(url)
                    found[url] = Expected(outcome, depth)
                    level += [target] if target else []
                    links += more
            level, depth = links, depth + 1
        return found

    def _visit(self, url: str) -> tuple[Outcome, str | None, list[str]]:
        host = urlsplit(url).netloc
        if host not in self._robots:
            rules = self._robots[host] = urllib.robotparser.RobotFileParser()
            status, _, text = self._get(f"http://{host}/robots.txt")
            rules.parse(text.splitlines() if status == 200 else [])
        if not self._robots[host].can_fetch("walker", url):
            return Outcome.ROBOTS_DENIED, None, []
        try:
            status, headers, text = self._get(url)
        except TimeoutError:
            return Outcome.TIMED_OUT, None, []
        except ConnectionResetError:
            return Outcome.CONNECTION_FAILED, None, []
        if "location" in headers:
            return Outcome.REDIRECTED, normal(url, headers["location"]), []
        links = [normal(url, href) for href in LinkParser(text).hrefs]
        return OUTCOMES.get(status, Outcome.SERVER_ERROR), None, links

    def _get(self, url: str) -> tuple[int, Mapping[str, str], str]:
        parts = urlsplit(url)
        client = http.client.HTTPConnection(*self._address, timeout=PATIENCE_S)
        try:
            client.request("GET", url.partition(parts.netloc)[2], headers={"Host": parts.netloc})
            response = client.getresponse()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return response.status, headers, response.read().decode()
        finally:
            client.close()


@pytest.fixture(scope="module")
def served() -> Iterator[GraphProcess]:
    with GRAPH.serve_in_process() as process:
        yield process


def test_a_walk_finds_what_the_oracle_says(served: GraphProcess) -> None:
    walked = Walker(served.address).walk(GRAPH.seed_url)
    expected = GRAPH.reachable()
    assert walked == {url: Expected(one.outcome, one.depth) for url, one in expected.items()}
    assert len(walked) > 550
    assert len({one.outcome for one in walked.values()}) == 8

    report = served.report()
    asked = [url for url, one in expected.items() if one.outcome is not Outcome.ROBOTS_DENIED]
    assert report.requests == len(asked) + GRAPH.hosts
    assert report.repeated == {}
    assert report.most_at_once == 1
    assert report.min_gap_s is not None
    assert report.min_gap_s > 0
    assert set(report.hosts) == set(served.dns)


def test_the_table_of_names_knows_the_hosts_and_no_others(served: GraphProcess) -> None:
    address, port = served.address
    assert served.dns["h0011.test"] == f"{address}:{port}"
    assert "h0012.test" not in served.dns
    assert len(served.dns) == 12


def test_every_spelling_of_a_link_means_its_page() -> None:
    layout = GRAPH.layout
    spellings = set()
    for page in range(GRAPH.pages):
        url = Url(layout.url(page))
        hrefs = LinkParser(GRAPH.contents.html(page)).hrefs
        targets = [Url(layout.url(target)) for target in GRAPH.contents.targets(page)]
        assert [resolve(href, url) for href in hrefs] == targets
        assert [normal(url, href) for href in hrefs] == targets
        spellings.update(hrefs)
    text = "\n".join(spellings)
    for oddity in (
        "TEST/",
        ":80/",
        "HTTP:",
        "/./",
        "/../",
        "#part",
        "%7E",
        "\\\\",
        "#top",
        "&view",
    ):
        assert oddity in text


def test_it_can_be_described_on_a_web_of_the_test() -> None:
    graph = GraphWeb(hosts=4, pages=60, seed=3, silent=0)
    with Web() as web:
        graph.describe(web)
        assert list(web.dns) == graph.layout.host_names
        found = Walker(web.address).walk("http://h0003.test/")
    assert {url: one.depth for url, one in found.items()} == {
        url: one.depth for url, one in graph.reachable("http://h0003.test/").items()
    }


def test_slow_hosts_take_their_time() -> None:
    graph = GraphWeb(hosts=2, pages=20, slow_hosts=0.5, slow_s=0.1)
    with Web() as web:
        graph.describe(web)
        walker = Walker(web.address)
        for name in ("h0000.test", "h0001.test"):
            assert walker._get(f"http://{name}/")[0] == 200
            (record,) = web.requests_to(name)
            assert (record.ended - record.started >= 0.1) == (name == "h0001.test")


def test_other_spellings_of_a_path_are_not_served(served: GraphProcess) -> None:
    walker = Walker(served.address)
    for path in (
        "/./p1.html",
        "/%7Eauthor/p4.html",
        "/p01.html",
        "/p2.html",
        "/p1.html?",
        "/p9999",
    ):
        assert walker._get(f"http://h0000.test{path}")[0] == 404


def test_a_server_that_cannot_start_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(GossamerError, match="ended too early"),
        serve_in_process(b'{"hosts": 3, "sites": 9}', []),
    ):
        pass
    assert "unknown field `sites`" in capfd.readouterr().err


def test_the_server_leaves_when_its_owner_is_killed() -> None:
    program = (
        "import time; from tests.webs.graph import GraphWeb\n"
        "with GraphWeb(hosts=1, pages=9).serve_in_process() as served:\n"
        "    print(served.address[1], flush=True)\n"
        "    time.sleep(60)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as owner:
        assert owner.stdout is not None
        connection = socket.create_connection(("127.0.0.1", int(owner.stdout.readline())), 10)
        owner.kill()
    with connection:
        assert connection.recv(1) == b"", "the server hangs up when it leaves"
