"""A web that misbehaves, and a client in a hurry."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from gossamer.download.client import Client
from gossamer.download.options import Accept, FetchOptions
from gossamer.model import Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web


@pytest.fixture
def quick() -> FetchOptions:
    """Options of a client with little patience, so that tests need little too."""
    return FetchOptions(
        connect_timeout_s=0.4,
        first_byte_timeout_s=0.3,
        silence_timeout_s=0.3,
        total_timeout_s=0.8,
        max_body_bytes=500_000,
    )


@pytest.fixture
def patient() -> FetchOptions:
    """Options of a client that would wait far longer than anything takes on a busy machine."""
    return FetchOptions(
        connect_timeout_s=40,
        first_byte_timeout_s=40,
        silence_timeout_s=40,
        total_timeout_s=40,
        max_body_bytes=500_000,
    )


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        web.site("a.test")
        yield web


@pytest.fixture
def allowed(web: Web) -> AddressPolicy:
    """Allow the simulated web, and nothing else on this machine."""
    address, port = web.address
    return AddressPolicy.parse([f"{address}:{port}"])


@pytest.fixture
def fetch(web: Web, allowed: AddressPolicy, quick: FetchOptions) -> Callable[..., Response]:
    """Fetch one path of a.test with a client of its own."""

    async def run(path: str, accept: Accept, options: FetchOptions) -> Response:
        async with Client(options, allowed, web.dns) as client:
            return await client.fetch(Url(web.url("a.test", path)), accept)

    def fetch(
        path: str = "/", accept: Accept = Accept.PAGE, options: FetchOptions = quick
    ) -> Response:
        return asyncio.run(run(path, accept, options))

    return fetch
