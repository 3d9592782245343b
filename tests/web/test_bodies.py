"""Which bodies are read, how much of them, and what is left of the rest."""

import asyncio
import gzip
import subprocess
import sys
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]  # it ships no types
import pytest
import zstandard
from msgspec.structs import replace

from gossamer.download.client import Client
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.robots import MAX_ROBOTS_BYTES
from gossamer.testing import KeepOpen, RawStep, Repeat, Reply, Web

pytestmark = pytest.mark.req("D8", "D19")

OK = b"HTTP/1.1 200 OK\r\n"
HTML = OK + b"Content-Type: text/html\r\n"
PAGE = b"<p>Gossamer</p>" * 1000


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", None])
def test_html_and_text_are_fetched_byte_for_byte(
    content_type: str | None, web: Web, fetch: Callable[..., Response]
) -> None:
    body = bytes(range(256)) * 50
    field = b"Content-Type: %s\r\n" % content_type.encode() if content_type else b""
    web.site("a.test").raw("/", OK + field + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    response = fetch()
    assert (response.outcome, response.status) == (Outcome.FETCHED, 200)
    assert response.body == body
    assert response.headers.get("content-type") == content_type


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "text/event-stream"])
def test_other_types_are_left_at_their_header(
    content_type: str, web: Web, fetch: Callable[..., Response]
) -> None:
    header = OK + f"Content-Type: {content_type}\r\n\r\n".encode()
    web.site("a.test").raw("/", header, Repeat(b"x" * 1000))
    response = fetch()
    assert (response.outcome, response.cause) == (Outcome.UNWANTED_TYPE, Cause.UNWANTED_TYPE)
    assert (response.status, response.body) == (200, b"")
    assert content_type in response.detail


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("coding", CODINGS)
def test_content_codings_are_offered_and_undone(
    coding: str, web: Web, fetch: Callable[..., Response]
) -> None:
    body = CODINGS[coding](PAGE)
    web.site("a.test").reply("/", Reply(headers={"Content-Encoding": coding}, body=body))
    assert fetch().body == PAGE
    assert coding in (web.requests[0].headers.get("accept-encoding") or "")


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_cut_short(coding: str, web: Web, fetch: Callable[..., Response]) -> None:
    bomb = CODINGS[coding](bytes(5_000_000))
    web.site("a.test").reply("/", Reply(headers={"Content-Encoding": coding}, body=bomb))
    response = fetch()
    assert (response.outcome, response.cause) == (Outcome.TOO_LARGE, Cause.BODY_TOO_LARGE)
    assert response.body == b""


def test_a_body_without_end_is_cut_short(web: Web, fetch: Callable[..., Response]) -> None:
    web.site("a.test").raw("/", HTML + b"\r\n", Repeat(b"x" * 10_000))
    assert fetch().cause is Cause.BODY_TOO_LARGE


def test_an_announced_length_over_the_limit_is_not_even_begun(
    web: Web, fetch: Callable[..., Response], patient: FetchOptions
) -> None:
    web.site("a.test").raw("/", HTML + b"Content-Length: 500001\r\n\r\n", KeepOpen())
    response = fetch(options=patient)
    assert response.cause is Cause.BODY_TOO_LARGE
    assert response.ended - response.started < 20, "no timeout ended it"


def test_the_limit_itself_is_allowed(
    web: Web, fetch: Callable[..., Response], quick: FetchOptions
) -> None:
    web.site("a.test").page("/", html=PAGE)
    assert fetch(options=replace(quick, max_body_bytes=len(PAGE))).body == PAGE
    too_small = replace(quick, max_body_bytes=len(PAGE) - 1)
    assert fetch(options=too_small).cause is Cause.BODY_TOO_LARGE


@pytest.mark.req("D19")
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_huge_robots_txt_is_read_as_far_as_asked(
    coding: str, web: Web, fetch: Callable[..., Response]
) -> None:
    text = b"Disallow: /private\n" * 50_000
    body = gzip.compress(text) if coding == "gzip" else text
    headers = {"Content-Encoding": coding, "Content-Type": "application/octet-stream"}
    web.site("a.test").reply("/robots.txt", Reply(headers=headers, body=body))
    response = fetch("/robots.txt", Accept.ANYTHING)
    assert (response.outcome, response.cause) == (Outcome.FETCHED, None)
    assert response.body == text[:MAX_ROBOTS_BYTES]


def test_a_robots_txt_that_breaks_off_is_a_failure(
    web: Web, fetch: Callable[..., Response]
) -> None:
    web.site("a.test").raw("/robots.txt", OK + b"Content-Length: 99\r\n\r\nDisallow: /")
    assert fetch("/robots.txt", Accept.ANYTHING).cause is Cause.CONNECTION_LOST


@pytest.mark.parametrize(
    "body",
    [
        [b"Content-Length: 900000\r\n\r\n", Repeat(b"x" * 1000)],
        [b"\r\n", Repeat(b"x" * 10_000)],
        [b"Content-Encoding: gzip\r\n\r\nthis is no gzip"],
        [b"Content-Encoding: foo\r\n\r\n", Repeat(b"x" * 10_000)],
        [b"Content-Length: 9\r\n\r\nhi"],
        [b"Transfer-Encoding: chunked\r\n\r\nzz"],
        [b"Content-Length: 9\r\n\r\nhi", KeepOpen()],
        [b"\r\n", Repeat(b"x", every_s=0.1)],
    ],
    ids=["long", "endless", "false gzip", "coding", "short", "chunks", "silent", "slow"],
)
def test_the_body_of_an_error_or_redirect_changes_nothing(
    body: list[RawStep], web: Web, allowed: AddressPolicy, patient: FetchOptions
) -> None:
    web.site("a.test").raw("/404", b"HTTP/1.1 404 Not Found\r\n", *body)
    web.site("a.test").raw("/302", b"HTTP/1.1 302 Found\r\nLocation: /new\r\n", *body)

    async def run() -> list[Response]:
        async with Client(patient, allowed, web.dns) as client:
            urls = [Url("http://a.test/404"), Url("http://a.test/302")]
            return await asyncio.gather(*map(client.fetch, urls))

    missing, moved = asyncio.run(run())
    assert (missing.outcome, missing.status, missing.body) == (Outcome.NOT_FOUND, 404, b"")
    assert (moved.outcome, moved.target) == (Outcome.REDIRECTED, "http://a.test/new")
    assert missing.ended - missing.started < 20, "no timeout ended it"
    assert moved.ended - moved.started < 20


def test_no_more_of_a_useless_body_is_read_than_a_connection_is_worth(
    web: Web, fetch: Callable[..., Response], patient: FetchOptions
) -> None:
    web.site("a.test").raw("/", b"HTTP/1.1 404 Not Found\r\n\r\n", Repeat(b"x" * 10_000))
    response = fetch(options=patient)
    assert response.outcome is Outcome.NOT_FOUND
    assert response.ended - response.started < 20, "no timeout ended it"


MEASURE = """
import asyncio, gzip, resource
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Reply, Web

def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def run(web):
    policy = AddressPolicy.parse(["127.0.0.0/8"])
    async with Client(FetchOptions(max_body_bytes=500_000), policy, web.dns) as client:
        urls = [Url(f"http://a.test/{path}") for path in ("bomb", "nested") * 15]
        responses = await asyncio.gather(*map(client.fetch, urls))
    assert {response.cause for response in responses} == {Cause.BODY_TOO_LARGE}

with Web() as web:
    bomb = gzip.compress(bytes(30_000_000))
    site = web.site("a.test")
    site.reply("/bomb", Reply(headers={"Content-Encoding": "gzip"}, body=bomb))
    nested = Reply(headers={"Content-Encoding": "gzip, gzip"}, body=gzip.compress(bomb))
    site.reply("/nested", nested)
    before = peak_kib()
    asyncio.run(run(web))
    print(peak_kib() - before)
"""


def test_thirty_bombs_at_a_time_take_no_more_memory_than_thirty_pages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, timeout=30
    )
    assert int(done.stdout) < 30 * 1000  # KiB; unfolded they would be 900 MB
