"""The pagerank scorer over real connections, with a service that has good days and bad ones."""

import asyncio
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme

from gossamer.coordinator.scoring import PageRankHttp, build_pagerank
from gossamer.download.options import FetchOptions
from gossamer.frontier.scorers.pagerank import Endpoint, PageRank, PageRankLimits
from gossamer.model import Candidate, HostKey, Url
from gossamer.model.errors import UsageError
from gossamer.testing import KeepOpen, Pause, Raw, Repeat, Reply, Reset, Web

pytestmark = pytest.mark.req("D4", "D15")

KEY = "s3cret"
PATH = "/api/v1.0/getPageRank"
RANKS = {"a.com": 10, "b.com": 7.5}
OPTIONS = FetchOptions(connect_timeout_s=40, total_timeout_s=40)


def candidates(*domains: str) -> list[Candidate]:
    return [
        Candidate(i, Url(f"http://{domain}/"), HostKey(domain), domain, 0, 1.0, 1.0)
        for i, domain in enumerate(domains)
    ]


def ranked(target: str) -> Reply:
    """Answer as Open PageRank does."""
    rows = [
        {
            "status_code": 200 if domain in RANKS else 404,
            "error": "" if domain in RANKS else "Domain not found",
            "page_rank_integer": round(RANKS.get(domain, 0)),
            "page_rank_decimal": RANKS.get(domain, 0),
            "rank": "6" if domain in RANKS else None,
            "domain": domain,
        }
        for domain in parse_qs(urlsplit(target).query)["domains[]"]
    ]
    document = {"status_code": 200, "response": rows, "last_updated": "28th Mar 2026"}
    return Reply(headers={"Content-Type": "application/json"}, body=json.dumps(document))


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        web.site("openpagerank.test")
        yield web


def days(web: Web, *bad: Reply | Raw) -> None:
    """Have the service give these answers first, and sound ones from then on."""
    left = list(bad)
    web.site("openpagerank.test").under(
        PATH, lambda target: left.pop(0) if left else ranked(target)
    )


async def hurried_sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / 20)


def scores(
    base_url: str, *domains: str, times: int = 1, budget_s: float = 2.0
) -> tuple[list[float], PageRank]:
    """Score these, several times if need be, with a scorer of their own."""

    async def run() -> tuple[list[float], PageRank]:
        limits = PageRankLimits(budget_s=budget_s)
        pagerank = PageRank(
            PageRankHttp(OPTIONS), Endpoint(KEY, base_url), limits, sleep=hurried_sleep
        )
        try:
            for _ in range(times):
                result = await pagerank.score(candidates(*domains))
        finally:
            await pagerank.close()
        return result, pagerank

    return asyncio.run(run())


def test_ranks_come_from_the_service_with_the_key_in_the_header(web: Web) -> None:
    days(web)
    result, _ = scores(web.base_url, "a.com", "b.com", "unknown.com", "a.com")
    assert result == [0, 25, 90, 0]
    [request] = web.requests
    assert request.method == "GET"
    assert parse_qs(urlsplit(request.path).query) == {
        "domains[]": ["a.com", "b.com", "unknown.com"]
    }
    assert request.headers.get("api-opr") == KEY
    assert (
        request.headers.get(
            "user-agent",
        )
        == OPTIONS.user_agent
    )
    assert KEY not in request.path


def test_250_domains_are_three_calls_on_one_connection(web: Web) -> None:
    days(web)
    names = [f"{number}.com" for number in range(250)]
    result, _ = scores(web.base_url, *names, times=3)
    assert len(result) == 250
    assert [request.path.count("domains") for request in web.requests] == [100, 100, 50]
    assert len({request.connection for request in web.requests}) == 1


@pytest.mark.parametrize(
    "bad",
    [
        Reply(status=500),
        Reply(status=502, body="<html>Bad gateway</html>"),
        Reply(status=429, headers={"Retry-After": "1"}),
        Reply(status=503, headers={"Retry-After": "1"}),
        Reply(body="<html>Welcome to the hotel's network</html>"),
        Reply(body=b"\x1f\x8b\x08\x00" + b"\xff" * 100, headers={"Content-Encoding": "gzip"}),
        Reply(body='{"response": [{"domain": 1}]}'),
        Raw([Reset()]),
        Raw([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", Reset()]),
        Raw([b"SSH-2.0-OpenSSH_9.2\r\n"]),
        Raw([b"HTTP/1.1 200 OK\r\n", Repeat(b"X-Endless: header\r\n")]),
        Raw([b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n", Repeat(b" " * 65536)]),
        Raw([b"HTTP/1.1 200 OK\r\n\r\n", Repeat(b"[" * 65536)]),
    ],
)
def test_two_bad_answers_are_outlasted(web: Web, bad: Reply | Raw) -> None:
    days(web, bad, bad)
    result, pagerank = scores(web.base_url, "a.com", "b.com")
    assert result == [0, 25]
    assert len(web.requests) == 3
    assert pagerank.trouble == ""


def test_a_slow_answer_within_the_budget_is_waited_for(web: Web) -> None:
    web.site("openpagerank.test").under(
        PATH, lambda target: Raw([Pause(0.3), *_wire(ranked(target))])
    )
    assert scores(web.base_url, "b.com")[0] == [25]


def _wire(reply: Reply) -> list[bytes]:
    body = reply.body if isinstance(reply.body, bytes) else reply.body.encode()
    return [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body]


@pytest.mark.parametrize(
    "silence",
    [
        Raw([KeepOpen()]),
        Raw([b"HTTP/1.1 200 OK\r\n", KeepOpen()]),
        Raw([b"HTTP/1.1 200 OK\r\n\r\n", Repeat(b" ", every_s=0.02)]),
    ],
)
def test_a_service_that_never_ends_is_given_up_within_the_budget(web: Web, silence: Raw) -> None:
    web.site("openpagerank.test").reply(PATH, silence)
    started = time.monotonic()
    result, pagerank = scores(web.base_url, "a.com", "b.com", budget_s=0.3)
    assert result == [0, 0], "importance: both domains have the most credit"
    assert time.monotonic() - started < 20
    assert "TimeoutError" in pagerank.trouble


def test_a_service_that_is_down_costs_no_time() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        started = time.monotonic()
        result, pagerank = scores(base_url, "a.com", times=50)
    assert result == [0]
    assert time.monotonic() - started < 20
    assert "4 calls, 4 failed" in repr(pagerank)
    assert "breaker open" in repr(pagerank)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_is_not_sent_along_with_a_redirect(web: Web, status: int) -> None:
    with Web() as elsewhere:
        elsewhere.site("elsewhere.test").page("/")
        days(web, *[Reply(status=status, headers={"Location": elsewhere.base_url})] * 9)
        result, pagerank = scores(web.base_url, "a.com", times=5)
        assert elsewhere.requests == []
    assert result == [0]
    assert len(web.requests) == 1
    assert str(status) in pagerank.trouble


def test_a_refused_key_is_reported_and_not_tried_again(web: Web) -> None:
    days(web, *[Reply(status=401, body=f'{{"message": "Invalid API Key {KEY}"}}')] * 9)
    _, pagerank = scores(web.base_url, "a.com", times=5)
    assert len(web.requests) == 1
    assert "refused the key" in pagerank.trouble
    assert KEY not in pagerank.trouble + repr(pagerank)


def test_a_server_that_cannot_prove_who_it_is_does_not_get_the_key(tmp_path: Path) -> None:
    right, wrong = trustme.CA(), trustme.CA()
    file = tmp_path / "ca.pem"
    right.cert_pem.write_to_path(file)
    options = FetchOptions(total_timeout_s=2, ca_file=file)

    def ask(authority: trustme.CA) -> tuple[list[float], int]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)

        async def run(base_url: str) -> list[float]:
            pagerank = build_pagerank(KEY, options, url=base_url)
            try:
                return await pagerank.score(candidates("b.com"))
            finally:
                await pagerank.close()

        with Web(tls=context) as web:
            days(web)
            return asyncio.run(run(web.base_url)), len(web.requests)

    assert ask(right) == ([25], 1)
    assert ask(wrong) == ([0], 0)


def test_the_newer_protocol_is_spoken_with_keys_of_the_newer_kind() -> None:
    seen: list[tuple[str, str | None, object]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers["Authorization"], body))
            rows = [
                {"domain": name, "found": name in RANKS, "open_page_rank": RANKS.get(name)}
                for name in body["domains"]
            ]
            answer = json.dumps({"as_of": "2026-08-01", "results": rows, "invalid": []}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

    async def run(base_url: str) -> list[float]:
        pagerank = build_pagerank("opr_live_1", OPTIONS, url=base_url)
        try:
            first = await pagerank.score(candidates("a.com", "unknown.com"))
            return first + await pagerank.score(candidates("b.com"))
        finally:
            await pagerank.close()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            result = asyncio.run(run(f"http://127.0.0.1:{server.server_port}"))
        finally:
            server.shutdown()
            thread.join()
    assert result == [0, 90, 25]
    assert [(path, header) for path, header, _ in seen] == [
        ("/v1/domains/bulk", "Bearer opr_live_1")
    ] * 2
    assert seen[0][2] == {"domains": ["a.com", "unknown.com"], "include_history": False}


def test_without_a_key_the_other_scorer_is_named() -> None:
    for missing in (None, ""):
        with pytest.raises(UsageError, match="the scorer importance needs none"):
            build_pagerank(missing, OPTIONS)
