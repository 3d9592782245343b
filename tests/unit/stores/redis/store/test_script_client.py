"""Calls go out together, come back one by one, and are repeated when they got lost."""

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest
from redis import exceptions
from redis._parsers import BaseParser
from redis.asyncio.connection import Connection, UnixDomainSocketConnection
from tcp_proxy import TcpProxy

from gossamer.errors import CrawlError
from gossamer.model import Outcome
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.redis.counters import unpack_counters
from gossamer.stores.redis.keys import prefix
from gossamer.stores.redis.script_client import ScriptClient

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.unit.stores.redis.store.conftest import Stage

pytestmark = pytest.mark.req("D16")

NOW = 1_000_000.0


class TroubledConnection(UnixDomainSocketConnection):
    """The next answers become errors, after the server has done what it was asked."""

    def __init__(self, stage: "Stage", error: exceptions.RedisError) -> None:
        assert stage.address.socket is not None
        super().__init__(path=stage.address.socket, protocol=2)
        self.error = error
        self.errors: list[Exception] = []
        """Those that come before it."""
        self.lose = 0
        self.then = ""
        """A command that the server gets when the first answer was lost."""

    async def read_response(
        self,
        disable_decoding: bool = False,
        timeout: float | None = None,  # noqa: ASYNC109 -- as the library has it
        *,
        disconnect_on_error: bool = True,
        push_request: bool | None = False,
    ) -> object:
        answer = await super().read_response(
            disable_decoding,
            timeout,
            disconnect_on_error=disconnect_on_error,
            push_request=push_request,
        )
        if self.lose:
            self.lose -= 1
            if self.then:
                await self.send_command(*self.then.split())
                await super().read_response()
                self.then = ""
            raise self.errors.pop(0) if self.errors else self.error
        return answer


def losing(stage: "Stage") -> TroubledConnection:
    return TroubledConnection(stage, exceptions.ConnectionError("lost on the way"))


def test_what_is_called_together_goes_out_together(stage: "Stage") -> None:
    async def story() -> int:
        store = await stage.open()
        await stage.add_seeds(store, *[f"h{number}/" for number in range(40)])
        tasks = await stage.take(store)
        assert len(tasks) == 40
        before = store.script_client.round_trips
        await asyncio.gather(*[stage.keep(store, task) for task in tasks])
        trips = store.script_client.round_trips - before
        assert (await store.snapshot(NOW)).pages == 40
        await store.close()
        return trips

    assert asyncio.run(story()) <= 6, "eighty calls"


def test_a_lost_answer_is_given_again_and_nothing_happens_twice(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        connection = losing(stage)
        shaky = stage.opened_over(connection)
        await stage.add_seeds(store, "a/1", "a/2", "a/3", "a/4")
        await store.join(0, NOW)
        await store.prioritise([(one, 50.0) for one in await store.candidates(9)])
        await store.route([range(10)] * 9, NOW)

        connection.lose = 1
        tasks = (await shaky.lease(0, 3, NOW)).tasks
        assert len(tasks) == 3
        assert (await store.snapshot(NOW)).in_progress == 3, "not six"

        settlement = await stage.kept(shaky, tasks[0], ["a/9"])
        connection.lose = 1
        settled = await shaky.settle(settlement, NOW)
        assert settled.accepted
        assert settled.new_links == [stage.link("a/9").key]
        assert not (await shaky.settle(settlement, NOW)).accepted, "this is another call"

        connection.lose = 1
        assert await shaky.release(tasks[1], None, NOW)
        connection.lose = 1
        assert await shaky.acquire_slot(stage.link("b/").host, "b.test", NOW) is None
        connection.lose = 1
        await shaky.release_slot(stage.link("b/").host, "b.test", HostFeedback(ended=NOW), NOW)

        snapshot = await store.snapshot(NOW)
        assert (snapshot.pages, snapshot.bytes, snapshot.in_progress) == (1, 10, 1)
        assert snapshot.outcomes == {"fetched": 1}
        (host,) = [host for host in await store.hosts(9, NOW) if host.host == "b.test"]
        assert host.in_progress == 0
        await shaky.script_client.close()
        await store.close()

    asyncio.run(story())


def test_a_claim_that_is_repeated_is_the_same(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        connection = losing(stage)
        shaky = stage.opened_over(connection)
        await stage.add_seeds(store, "a/1", "a/2")
        first, second = await stage.take(store)
        connection.lose = 2
        assert (await shaky.claim(first, b"x" * 16, None, NOW)).page_id == 1
        assert (await shaky.claim(second, b"y" * 16, None, NOW)).page_id == 2
        await shaky.script_client.close()
        await store.close()

    asyncio.run(story())


def test_a_broken_connection_is_made_again_and_told_once(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis(ports=("port",))
    monkeypatch.setattr(stage, "url", server.url)

    async def story() -> list[str]:
        told: list[str] = []
        is_told = asyncio.Event()

        def tell(words: str) -> None:
            told.append(words)
            is_told.set()

        await (await stage.open()).close()
        async with TcpProxy(("127.0.0.1", server.port)) as proxy:
            connection = Connection(host="127.0.0.1", port=proxy.port, protocol=2)
            script_client = ScriptClient(connection, prefix(stage.crawl), 20.0, tell)
            script_client.rules = stage.opened_over(connection).script_client.rules
            await script_client.ask("snapshot", NOW, b"\x90")
            proxy.refuse()
            proxy.cut()
            waiting = asyncio.gather(
                *[script_client.ask("snapshot", NOW, b"\x90") for _ in range(5)]
            )
            await is_told.wait()
            proxy.resume()
            answers = await waiting
            assert len(set(answers)) == 1
            await script_client.ask("snapshot", NOW, b"\x90")
            await script_client.close()
        return told

    assert len(asyncio.run(story())) == 1


def test_who_gets_no_answer_for_long_gives_up_with_a_word(stage: "Stage") -> None:
    async def story() -> None:
        connection = Connection(host="127.0.0.1", port=1, protocol=2)
        script_client = ScriptClient(connection, prefix(stage.crawl), 0.2, lambda _: None)
        with pytest.raises(CrawlError, match=r"did not answer for 0\.2 s"):
            await script_client.ask("snapshot", NOW, b"\x90")
        await script_client.close()

    asyncio.run(story())


def test_a_server_that_has_lost_the_library_gets_it_again(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "url", start_redis().url)

    async def story() -> None:
        store, other = await stage.open(), await stage.open()
        assert await stage.add_seeds(store, "a/1") == 1
        async with stage.client() as client:
            for _ in range(2):
                await client.function_flush("SYNC")
                both = (stage.add_seeds(one, "a/1", "a/2") for one in (store, other, store))
                await asyncio.gather(*both)
            assert (await store.snapshot(NOW)).waiting == 2
        await store.close()
        await other.close()

    asyncio.run(story())


def test_what_was_carried_out_is_not_done_again_where_the_library_is_missing(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer gets lost, and then the server has lost the library as well."""
    monkeypatch.setattr(stage, "url", start_redis().url)

    async def story() -> None:
        store = await stage.open()
        connection = losing(stage)
        shaky = stage.opened_over(connection)
        await stage.add_seeds(store, "a/1", "a/2")
        assert len(await stage.take(store)) == 2
        await shaky.snapshot(NOW)
        connection.lose = 1
        connection.then = "FUNCTION FLUSH SYNC"
        host = stage.link("b/").host
        assert await shaky.acquire_slot(host, "b.test", NOW) is None
        async with stage.client() as client:
            counts = unpack_counters(await client.get(stage.key("counts")))
            assert counts["taken_slots"] == 1, "not two"
        await shaky.script_client.close()
        await store.close()

    asyncio.run(story())


def test_what_was_carried_out_is_not_done_again_after_a_refusal(stage: "Stage") -> None:
    """The answer gets lost, and the repeated call is refused before it is answered."""

    async def story() -> None:
        store = await stage.open()
        connection = losing(stage)
        shaky = stage.opened_over(connection)
        await shaky.snapshot(NOW)
        refusal = BaseParser.parse_error("CLUSTERDOWN")  # type: ignore[no-untyped-call]
        connection.errors = [connection.error, refusal]
        connection.lose = 2
        host = stage.link("b/").host
        assert await shaky.acquire_slot(host, "b.test", NOW) is None
        async with stage.client() as client:
            counts = unpack_counters(await client.get(stage.key("counts")))
            assert counts["taken_slots"] == 1, "not two"
        await shaky.script_client.close()
        await store.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    "words",
    [
        "BUSY Redis is busy running a script.",
        "CLUSTERDOWN The cluster is down",
        "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down",
        "MOVED 3999 127.0.0.1:6381",
        "NOREPLICAS Not enough good replicas to write.",
        "READONLY You can't write against a read only replica.",
        "TRYAGAIN Multiple keys request during rehashing of slot",
    ],
)
def test_a_server_that_has_no_answer_for_now_is_waited_for(stage: "Stage", words: str) -> None:
    """Nothing was carried out: it is another call, not the same one repeated."""

    async def story() -> None:
        store = await stage.open()
        error = BaseParser.parse_error(words)  # type: ignore[no-untyped-call]
        connection = TroubledConnection(stage, error)
        slow = stage.opened_over(connection)
        await slow.snapshot(NOW)
        connection.lose = 2
        assert (await slow.snapshot(NOW)).waiting == 0
        await slow.script_client.close()
        await store.close()

    asyncio.run(story())


def test_a_step_that_fails_is_named(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        with pytest.raises(CrawlError, match="step settle"):
            await store.script_client.ask("settle", NOW, b"no message")
        assert (await store.snapshot(NOW)).waiting == 0, "the others go on"
        await store.close()

    asyncio.run(story())


def test_a_caller_that_goes_away_leaves_the_others_alone(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        leaving = asyncio.ensure_future(store.snapshot(NOW))
        staying = asyncio.ensure_future(stage.add_seeds(store, "a/1"))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == 1
        await store.close()

    asyncio.run(story())


def test_what_waits_when_the_client_goes_is_not_left_hanging(stage: "Stage") -> None:
    async def story() -> None:
        store = await stage.open()
        waiting = [asyncio.ensure_future(stage.add_seeds(store, f"a/{n}")) for n in range(300)]
        await asyncio.sleep(0)
        await store.script_client.close()
        async with asyncio.timeout(5):
            results = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(one, asyncio.CancelledError) for one in results)

    asyncio.run(story())


def test_outcomes_travel_by_their_names() -> None:
    """The names are what lies in the store: another order of the list changes nothing."""
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(Outcome.NOT_FOUND)) == "not_found"
