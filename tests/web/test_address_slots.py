"""One server with many names is one server."""

import asyncio
import subprocess
import sys
import tempfile

import pytest
from msgspec.structs import replace

from gossamer.download.address_slots import (
    PUBLIC_CONNECTIONS,
    WAIT_S,
    AddressBusyError,
    AddressLocks,
    AddressSlots,
)
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import KeepOpen, Reply, Web, most_at_once

pytestmark = pytest.mark.req("B3", "D19")

NAMES = [f"n{number}.test" for number in range(12)]


def fetch_all(web: Web, allowed: AddressPolicy, options: FetchOptions) -> list[Response]:
    async def run() -> list[Response]:
        async with Client(options, allowed, web.dns) as client:
            for _ in range(2):  # on new connections and on kept ones
                pages = [client.fetch(Url(f"http://{name}/")) for name in NAMES]
                responses = await asyncio.gather(*pages)
            return responses

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "host_connections", "most"), [(3, 1, 3), (3, 5, 5), (None, 1, len(NAMES))]
)
def test_many_names_of_an_address_share_its_slots(
    web: Web,
    allowed: AddressPolicy,
    patient: FetchOptions,
    limit: int | None,
    host_connections: int,
    most: int,
) -> None:
    """Without a limit there is none for what the operator has allowed, as here."""
    for name in NAMES:
        web.site(name).reply("/", Reply(body="page", delay_s=0.1))
    options = replace(patient, address_connections=limit, host_connections=host_connections)
    responses = fetch_all(web, allowed, options)
    assert {one.outcome for one in responses} == {Outcome.FETCHED}
    assert len(web.requests) == 2 * len(NAMES)
    assert 1 < most_at_once(web.requests) <= most


def test_who_waits_too_long_is_left_for_later(
    web: Web, allowed: AddressPolicy, patient: FetchOptions
) -> None:
    web.site("a.test").raw("/", KeepOpen())
    web.site("b.test").page("/")

    async def run() -> None:
        async with Client(replace(patient, address_connections=1), allowed, web.dns) as client:
            silent = asyncio.create_task(client.fetch(Url("http://a.test/")))
            while not web.requests:  # noqa: ASYNC110 -- the server has no event
                await asyncio.sleep(0.01)
            with pytest.raises(AddressBusyError):
                await client.fetch(Url("http://b.test/"))
            silent.cancel()
            await asyncio.gather(silent, return_exceptions=True)
            assert (await client.fetch(Url("http://b.test/"))).outcome is Outcome.FETCHED

    asyncio.run(run())
    assert patient.total_timeout_s > WAIT_S


def test_public_addresses_have_a_limit_and_own_ones_only_if_it_is_given() -> None:
    usual, given = AddressSlots(None), AddressSlots(2)
    for slots in (usual, given):
        slots.exempt("127.0.0.1")
    assert [usual.take("8.8.8.8") for _ in range(9)] == [True] * PUBLIC_CONNECTIONS + [False]
    assert all(usual.take("127.0.0.1") for _ in range(50))
    assert [given.take("127.0.0.1") for _ in range(3)] == [True, True, False]
    given.release("127.0.0.1")
    assert given.take("127.0.0.1")


def test_who_is_cancelled_at_its_turn_leaves_it_to_the_next() -> None:
    async def run() -> None:
        slots = AddressSlots(1)
        assert slots.take("8.8.8.8")
        until = asyncio.get_running_loop().time() + 30
        first, second = (asyncio.create_task(slots.wait("8.8.8.8", until)) for _ in range(2))
        await asyncio.sleep(0)
        slots.release("8.8.8.8")
        first.cancel()
        await asyncio.wait_for(second, 5)
        assert first.cancelled()

    asyncio.run(run())


HOLDER = """
import sys
from gossamer.download.address_slots import AddressLocks
print(AddressLocks(int(sys.argv[1])).take("8.8.8.8", 2, []), flush=True)
sys.stdin.read()
"""


def test_processes_share_slots_and_one_that_is_killed_frees_its_own() -> None:
    with tempfile.TemporaryFile() as file:
        number = file.fileno()
        slots = AddressSlots(2, locks=AddressLocks(number))
        with subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(number)],
            pass_fds=[number],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"0\n"
            assert [slots.take("8.8.8.8") for _ in range(2)] == [True, False]
            assert slots.take("8.8.4.4")
            slots.release("8.8.8.8")
            assert [slots.take("8.8.8.8") for _ in range(2)] == [True, False]
            other.kill()
        assert [slots.take("8.8.8.8") for _ in range(2)] == [True, False]
