"""A request receives no more than it may, and what it received is counted, whatever comes of it."""

import asyncio
import gzip
from collections.abc import Callable

import pytest

from gossamer.download.client import Client
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.robots import MAX_ROBOTS_BYTES
from gossamer.policy.size_limits import DRAIN_BYTES, Allowance
from gossamer.testing import KeepOpen, Repeat, Reply, Web

pytestmark = pytest.mark.req("D14")

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = b"<p>Gossamer</p>" * 1000
ENDLESS = (HTML + b"\r\n", Repeat(b"x" * 1000))
Fetch = Callable[..., Response]


@pytest.fixture
def fetch_within(web: Web, allowed: AddressPolicy, patient: FetchOptions) -> Fetch:
    """Fetch the home of a.test within an allowance."""

    async def run(allowance: Allowance, accept: Accept) -> Response:
        async with Client(patient, allowed, web.dns) as client:
            return await client.fetch(Url(web.url("a.test", "/")), accept, allowance)

    def fetch(allowance: Allowance, accept: Accept = Accept.PAGE) -> Response:
        return asyncio.run(run(allowance, accept))

    return fetch


def test_what_counts_is_what_was_sent_not_what_it_decodes_to(web: Web, fetch_within: Fetch) -> None:
    packed = gzip.compress(PAGE)
    web.site("a.test").reply("/", Reply(body=packed, headers={"Content-Encoding": "gzip"}))
    allowance = Allowance(len(packed))
    assert fetch_within(allowance).body == PAGE
    assert (allowance.received, allowance.left) == (len(packed), 0)


@pytest.mark.parametrize("status", [301, 404, 500])
@pytest.mark.parametrize(("limit", "received"), [(10**6, 20_000), (5000, 5000)])
def test_an_answer_without_a_page_counts_too(
    web: Web, fetch_within: Fetch, status: int, limit: int, received: int
) -> None:
    body, allowance = b"x" * 20_000, Allowance(limit)
    web.site("a.test").reply("/", Reply(status=status, body=body, headers={"Location": "/b"}))
    assert fetch_within(allowance).status == status, "that is known without the rest"
    assert allowance.received == received


def test_a_page_that_says_it_is_too_large_is_not_begun(web: Web, fetch_within: Fetch) -> None:
    web.site("a.test").raw("/", HTML + b"Content-Length: 15000\r\n\r\n", KeepOpen())
    allowance = Allowance(14_999, is_last=True)
    response = fetch_within(allowance)
    assert (response.cause, response.outcome) == (Cause.OVER_BUDGET, Outcome.TOO_LARGE)
    assert (allowance.received, allowance.is_short) == (0, True)


@pytest.mark.parametrize("accept", [Accept.PAGE, Accept.ANYTHING])
def test_one_that_does_not_say_so_is_broken_off_at_the_last_byte(
    web: Web, fetch_within: Fetch, accept: Accept
) -> None:
    web.site("a.test").raw("/", *ENDLESS)
    allowance = Allowance(14_999)
    assert fetch_within(allowance, accept).cause is Cause.OVER_BUDGET
    assert (allowance.received, allowance.left) == (14_999, 0)


def test_of_a_sitemap_that_is_longer_the_beginning_counts(web: Web, fetch_within: Fetch) -> None:
    web.site("a.test").raw("/", *ENDLESS)
    allowance = Allowance(14_999)
    assert fetch_within(allowance, Accept.SITEMAP).outcome is Outcome.FETCHED
    assert (allowance.received, allowance.left) == (14_999, 0)


def test_the_own_limit_of_a_request_comes_first(web: Web, fetch_within: Fetch) -> None:
    """A page that is too large is no fault of the budget, and a long robots.txt is cut."""
    web.site("a.test").raw("/", *ENDLESS)
    allowance = Allowance(MAX_ROBOTS_BYTES + DRAIN_BYTES)
    assert fetch_within(allowance).cause is Cause.BODY_TOO_LARGE
    assert 500_000 < allowance.received < 500_000 + DRAIN_BYTES
    allowance = Allowance(MAX_ROBOTS_BYTES + DRAIN_BYTES)
    assert len(fetch_within(allowance, Accept.ANYTHING).body) == MAX_ROBOTS_BYTES
    assert MAX_ROBOTS_BYTES < allowance.received < MAX_ROBOTS_BYTES + DRAIN_BYTES


def test_the_requests_of_a_task_share_its_allowance(web: Web, fetch_within: Fetch) -> None:
    web.site("a.test").reply("/", Reply(body=PAGE))
    heard: list[int] = []
    allowance = Allowance(len(PAGE) + 100, on_received=heard.append)
    assert fetch_within(allowance).outcome is Outcome.FETCHED
    assert fetch_within(allowance).cause is Cause.OVER_BUDGET
    assert (allowance.received, sum(heard)) == (len(PAGE), len(PAGE))
    allowance.end()
    assert (allowance.left, sum(heard)) == (0, 0), "it is accounted for, and over"
