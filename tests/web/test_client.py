"""The client as a whole: kept connections, many at a time, cancelled and closed at any moment."""

import asyncio
import gc
import logging
import sys

import pytest
import uvloop
from msgspec.structs import replace

from gossamer.download.client import Client
from gossamer.download.options import Accept, FetchOptions, user_agent
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import KeepOpen, Repeat, Reply, Web

HOME = Url("http://a.test/")
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def test_a_request_says_who_asks_and_what_for(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    async def run() -> None:
        options = replace(quick, user_agent=user_agent("https://example.org/bot"))
        async with Client(options, allowed, web.dns) as client:
            await client.fetch(Url("http://a.test/a/./b?q=%7C|#"))
            await client.fetch(Url("http://a.test/robots.txt"), Accept.ANYTHING)

    asyncio.run(run())
    for request in web.requests:
        assert request.method == "GET"
        assert request.headers.get("user-agent") == user_agent("https://example.org/bot")
        assert "text/html" in (request.headers.get("accept") or "")
        assert {name for name, _ in request.headers.fields} == {
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
        }
    assert web.requests[0].path == "/a/./b?q=%7C|"


@pytest.mark.req("D8")
def test_a_connection_is_used_again_after_pages_errors_and_redirects(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    site = web.site("a.test")
    site.page("/")
    site.redirect("/old", "/")
    site.reply("/missing", Reply(status=404, body="x" * 60_000))
    site.reply("/broken", Reply(status=500, headers={"Content-Encoding": "gzip"}, body="no gzip"))
    site.status("/empty", 204)

    async def run() -> list[Outcome]:
        async with Client(quick, allowed, web.dns) as client:
            paths = ["/", "/old", "/missing", "/broken", "/empty", "/"]
            urls = [Url(f"http://a.test{path}") for path in paths]
            return [(await client.fetch(url)).outcome for url in urls]

    assert asyncio.run(run()) == [
        Outcome.FETCHED,
        Outcome.REDIRECTED,
        Outcome.NOT_FOUND,
        Outcome.SERVER_ERROR,
        Outcome.BAD_HTTP,
        Outcome.FETCHED,
    ]
    assert len({request.connection for request in web.requests}) == 1


def test_hosts_that_rest_keep_their_connections(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    hosts = [f"h{number}.test" for number in range(30)]
    for host in hosts:
        web.site(host).page("/")

    async def run() -> None:
        async with Client(replace(quick, connections=2), allowed, web.dns) as client:
            for host in hosts * 2:
                await client.fetch(Url(f"http://{host}/"))

    asyncio.run(run())
    assert len(web.requests) == 60
    assert len({request.connection for request in web.requests}) == 30


@pytest.mark.req("D19")
def test_a_connection_is_not_used_again_when_it_cannot_be_trusted(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    evil = HTML + b"Content-Length: 4\r\n\r\nevil"
    site = web.site("a.test")
    site.page("/", text="good")
    site.raw("/smuggled", HTML + b"Content-Length: 2\r\n\r\nhi" + evil, KeepOpen())
    site.raw("/long-error", b"HTTP/1.1 404 Not Found\r\n\r\n", Repeat(evil))
    site.raw("/too-large", HTML + b"\r\n", Repeat(evil))
    site.raw("/image", b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n", Repeat(evil))
    site.raw("/bodiless", b"HTTP/1.1 304 Not Modified\r\n\r\n" + evil, KeepOpen())

    async def run() -> None:
        async with Client(quick, allowed, web.dns) as client:
            for path in ("/smuggled", "/long-error", "/too-large", "/image", "/bodiless"):
                assert (await client.fetch(Url(f"http://a.test{path}"))).body in (b"", b"hi")
                assert b"good" in (await client.fetch(HOME)).body

    asyncio.run(run())


@pytest.mark.req("D19")
def test_a_client_is_as_good_as_new_after_every_kind_of_failure(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    site = web.site("a.test")
    site.page("/", text="good")
    site.raw("/silent", KeepOpen())
    site.raw("/garbage", b"garbage")
    site.raw("/broken", HTML + b"Content-Length: 9\r\n\r\nhi")
    site.raw("/endless", HTML + b"\r\n", Repeat(b"x" * 9999))
    urls = ["http://a.test/silent", "http://a.test/garbage", "http://a.test/broken"]
    urls += ["http://a.test/endless", "http://127.0.0.1:1/", "http://b.test/", "http://[::1]/"]
    urls += ["http://a*b.test/"]

    async def run() -> None:
        async with Client(replace(quick, connections=1), allowed, web.dns) as client:
            for url in urls:
                assert (await client.fetch(Url(url))).cause is not None
                assert b"good" in (await client.fetch(HOME)).body

    asyncio.run(run())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.req("D8")
def test_two_hundred_at_a_time(
    loop: str, web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    for number in range(200):
        web.site(f"h{number}.test").page("/", text=f"page of {number}.")

    async def run() -> list[Response]:
        # All connect at the same moment, which a busy machine may not accept in time.
        options = replace(
            quick,
            connections=200,
            connect_timeout_s=20,
            first_byte_timeout_s=20,
            total_timeout_s=20,
        )
        async with Client(options, allowed, web.dns) as client:
            urls = [Url(f"http://h{number}.test/") for number in range(200)]
            return await asyncio.gather(*map(client.fetch, urls))

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        responses = runner.run(run())
    for number, response in enumerate(responses):
        assert response.outcome is Outcome.FETCHED
        assert f"page of {number}.".encode() in response.body


def test_no_more_connections_than_allowed(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").reply("/", Reply(body="x", delay_s=0.02))

    async def run() -> None:
        async with Client(replace(quick, connections=3), allowed, web.dns) as client:
            await asyncio.gather(*(client.fetch(HOME) for _ in range(12)))

    asyncio.run(run())
    spans = [(request.started, request.ended) for request in web.requests]
    for moment, _ in spans:
        assert sum(started <= moment < ended for started, ended in spans) <= 3


def test_a_cancelled_fetch_lets_go_of_its_connection_at_once(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").raw("/silent", KeepOpen())
    web.site("a.test").page("/")

    async def run() -> None:
        patient = replace(quick, connections=1, first_byte_timeout_s=30, total_timeout_s=30)
        async with Client(patient, allowed, web.dns) as client:
            fetching = asyncio.create_task(client.fetch(Url("http://a.test/silent")))
            await asyncio.to_thread(web.wait_for_requests, 1)
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            assert (await client.fetch(HOME)).outcome is Outcome.FETCHED

    asyncio.run(run())
    # The server notices that the client left; before, the request would have had no end.
    assert web.requests[0].ended < web.requests[1].ended


def test_whoever_cancels_is_heard_even_when_time_runs_out_that_very_moment(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").raw("/silent", KeepOpen())

    async def run() -> None:
        async with Client(quick, allowed, web.dns) as client:
            fetching = asyncio.create_task(client.fetch(Url("http://a.test/silent")))
            await asyncio.to_thread(web.wait_for_requests, 1)
            [(transfer, future)] = client._watchdog._watched.items()
            transfer.stop(Cause.FIRST_BYTE_TIMEOUT)
            future.cancel()
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching

    asyncio.run(run())


def test_fetching_within_a_timeout_of_ones_own(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").raw("/silent", KeepOpen())

    async def run() -> Response:
        async with Client(quick, allowed, web.dns) as client:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.fetch(Url("http://a.test/silent"))
            return await client.fetch(Url("http://a.test/silent"))

    assert asyncio.run(run()).cause is Cause.FIRST_BYTE_TIMEOUT


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_closing_in_the_middle_is_clean(
    loop: str,
    web: Web,
    allowed: AddressPolicy,
    quick: FetchOptions,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    web.site("a.test").raw("/silent", KeepOpen())

    async def run() -> list[Response | BaseException]:
        async with Client(replace(quick, connections=5), allowed, web.dns) as client:
            url = Url("http://a.test/silent")
            fetching = [asyncio.create_task(client.fetch(url)) for _ in range(10)]
            await asyncio.to_thread(web.wait_for_requests, 5)
        with pytest.raises(RuntimeError, match="closed"):
            await client.fetch(url)
        return await asyncio.gather(*fetching, return_exceptions=True)

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with caplog.at_level(logging.WARNING), asyncio.Runner(loop_factory=factory) as runner:
        ended = runner.run(run())
        gc.collect()
    assert all(isinstance(end, asyncio.CancelledError) for end in ended)
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_nothing_is_left_behind(
    web: Web,
    allowed: AddressPolicy,
    quick: FetchOptions,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A socket left open warns when it is collected, and a callback that raises prints."""
    web.site("a.test").page("/")
    web.site("a.test").raw("/broken", HTML + b"Content-Length: 9\r\n\r\nhi")

    async def run() -> None:
        async with Client(quick, allowed, web.dns) as client:
            for url in (HOME, Url("http://a.test/broken"), Url("http://127.0.0.1:1/")):
                await client.fetch(url)

    unraisable: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, unraisable.append
    try:
        asyncio.run(run())
        gc.collect()
    finally:
        sys.unraisablehook = hook
    assert unraisable == []
    assert capfd.readouterr().err == ""
