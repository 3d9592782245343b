"""All bodies that arrive at once are bounded together, and none is lost by that."""

import asyncio

import pytest
from msgspec.structs import replace

from gossamer.download.client import Client
from gossamer.download.large_bodies import LARGE_BYTES, BodyRoom, LargeBodies
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Repeat, Reply, Web

pytestmark = pytest.mark.req("D8", "D19")

HOSTS = [f"{letter}.test" for letter in "abcdefgh"]
PIECE_BYTES = 100_000
BODY = b"<p>Gossamer</p>" * 200_000  # 3 MB


class CountedRooms:
    """How many bodies were large at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._large: set[BodyRoom] = set()
        self.most = 0
        self.largest_that_waited = 0
        admits, leave = BodyRoom.admits, BodyRoom.leave

        def counted_admits(room: BodyRoom, size: int) -> bool:
            admitted = admits(room, size)
            if room.is_large:
                self._large.add(room)
            if not admitted:
                self.largest_that_waited = max(self.largest_that_waited, size)
            self.most = max(self.most, len(self._large))
            return admitted

        def counted_leave(room: BodyRoom) -> None:
            self._large.discard(room)
            leave(room)

        monkeypatch.setattr(BodyRoom, "admits", counted_admits)
        monkeypatch.setattr(BodyRoom, "leave", counted_leave)


def fetch_all(web: Web, options: FetchOptions, allowed: AddressPolicy) -> list[Response]:
    async def program() -> list[Response]:
        async with Client(options, allowed, web.dns) as client:
            return await asyncio.gather(*(client.fetch(Url(f"http://{one}/")) for one in HOSTS))

    return asyncio.run(program())


@pytest.mark.parametrize("at_once", [1, 3])
def test_large_bodies_wait_for_each_other(
    at_once: int,
    web: Web,
    patient: FetchOptions,
    allowed: AddressPolicy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = CountedRooms(monkeypatch)
    for host in HOSTS:
        web.site(host).reply("/", Reply(body=BODY))
    limits = {"max_body_bytes": 4_000_000, "max_file_bytes": 4_000_000}
    options = replace(patient, **limits, max_held_bytes=at_once * 4_000_000)
    responses = fetch_all(web, options, allowed)
    assert [one.outcome for one in responses] == [Outcome.FETCHED] * len(HOSTS)
    assert {one.body for one in responses} == {BODY}
    assert counted.most == at_once
    assert LARGE_BYTES < counted.largest_that_waited <= LARGE_BYTES + PIECE_BYTES


def test_who_waits_for_room_has_as_much_time_as_the_others(
    web: Web, patient: FetchOptions, allowed: AddressPolicy
) -> None:
    """What the system does not buffer of a body is sent when it may go on."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 16000000\r\n\r\n"
    for host in HOSTS:
        web.site(host).raw("/", head, Repeat(BODY[:1_000_000], every_s=0.05, times=16))
    limits = {"max_body_bytes": 16_000_000, "max_file_bytes": 16_000_000}
    options = replace(patient, **limits, max_held_bytes=16_000_000, total_timeout_s=2.0)
    responses = fetch_all(web, options, allowed)
    assert [one.cause for one in responses] == [None] * len(HOSTS)
    assert max(one.ended - one.started for one in responses) > options.total_timeout_s


def test_one_that_is_too_large_ends_and_makes_room(
    web: Web, patient: FetchOptions, allowed: AddressPolicy
) -> None:
    for host in HOSTS:
        web.site(host).raw("/", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", Repeat(BODY))
    limits = {"max_body_bytes": 2_000_000, "max_file_bytes": 2_000_000}
    responses = fetch_all(web, replace(patient, **limits, max_held_bytes=2_000_000), allowed)
    assert {one.cause for one in responses} == {Cause.BODY_TOO_LARGE}


def test_a_server_that_stalls_holds_the_others_only_until_its_time_is_over(
    web: Web, quick: FetchOptions, allowed: AddressPolicy
) -> None:
    stalling = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3000000\r\n\r\n"
    web.site(HOSTS[0]).raw("/", stalling + BODY[: 2 * LARGE_BYTES], Repeat(b"", every_s=1))
    for host in HOSTS[1:]:
        web.site(host).page("/")
    limits = {"max_body_bytes": 4_000_000, "max_file_bytes": 4_000_000}
    stalled, *others = fetch_all(web, replace(quick, **limits, max_held_bytes=1), allowed)
    assert stalled.outcome is Outcome.TIMED_OUT
    assert {one.outcome for one in others} == {Outcome.FETCHED}


def test_there_is_always_room_for_one() -> None:
    assert LargeBodies(10_000_000, 1)._free == 1
