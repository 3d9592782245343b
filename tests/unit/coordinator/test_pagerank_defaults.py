"""Both dialects of Open PageRank, asked as the defaults of the options say, byte for byte."""

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from gossamer.config import load
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.scoring import load_scorer
from gossamer.model import Candidate, HostKey, Url

pytestmark = pytest.mark.req("D4")

CLASSIC = b"GET /api/v1.0/getPageRank?domains%5B%5D=a.com&domains%5B%5D=b.com HTTP/1.1\r\n"
BULK = b"POST /v1/domains/bulk HTTP/1.1\r\n"
CLASSIC_KEY, BULK_KEY = "s3cret", "opr_live_1"


class RankService(ThreadingHTTPServer):
    """Open PageRank in both dialects; it keeps the first line of each request, and its key."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RankHandler)
        self.asked: list[tuple[bytes, str, str]] = []


class RankHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RankService

    def do_GET(self) -> None:
        rows = [
            {"domain": name, "status_code": 200, "page_rank_decimal": rank}
            for name, rank in (("a.com", 10), ("b.com", 7.5))
        ]
        self._answer({"response": rows}, self.headers["API-OPR"])

    def do_POST(self) -> None:
        domains = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["domains"]
        assert domains == ["a.com", "b.com"]
        rows = [
            {"domain": name, "found": True, "open_page_rank": rank}
            for name, rank in (("a.com", 10), ("b.com", 7.5))
        ]
        self._answer({"results": rows}, self.headers["Authorization"])

    def _answer(self, document: object, key: str) -> None:
        line = f"{self.requestline}\r\n".encode("latin-1")
        self.server.asked.append((line, self.headers["Host"], key))
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Say nothing."""


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[RankService]:
    with RankService() as service:
        if tls is not None:
            service.socket = tls.wrap_socket(service.socket, server_side=True)
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


def scores(dns: dict[str, str] | None, **options: str) -> list[float]:
    """Score two domains with the options of a crawl, all others at their defaults."""
    given = {"seeds": ["http://a.com/"], "scope": "any", **options}

    async def run() -> list[float]:
        scorer = load_scorer(Plan(load(given, {}).options), dns)
        try:
            assert scorer.name == "pagerank"
            return await scorer.score(
                [
                    Candidate(1, Url(f"http://{one}/"), HostKey(one), one, 0, 0.0, 1.0)
                    for one in ("a.com", "b.com")
                ]
            )
        finally:
            await scorer.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("key", "host", "line", "header"),
    [
        (CLASSIC_KEY, "openpagerank.com", CLASSIC, CLASSIC_KEY),
        (BULK_KEY, "openpagerank.keywordseverywhere.com", BULK, f"Bearer {BULK_KEY}"),
    ],
    ids=["classic", "bulk"],
)
def test_the_key_alone_leads_to_the_right_url(
    key: str, host: str, line: bytes, header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with serving(context) as service:
        table = {host: f"127.0.0.1:{service.server_port}"}
        assert scores(table, pagerank_key=key) == [0, 25]
    assert service.asked == [(line, host, header)]


@pytest.mark.parametrize(
    ("key", "line"), [(CLASSIC_KEY, CLASSIC), (BULK_KEY, BULK)], ids=["classic", "bulk"]
)
@pytest.mark.parametrize("path", ["", "/", "/api/v1.0/getPageRank", "/v1/domains/bulk/"])
def test_a_url_that_is_given_may_have_the_path_or_not(key: str, line: bytes, path: str) -> None:
    with serving() as service:
        url = f"http://127.0.0.1:{service.server_port}{path}"
        assert scores(None, pagerank_key=key, pagerank_url=url) == [0, 25]
    assert [first for first, _, _ in service.asked] == [line]
