"""The function library is sound, is there when it is needed, and leaves other versions alone."""

import asyncio
import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
from redis import exceptions

from gossamer.errors import CrawlError
from gossamer.stores.redis import library
from gossamer.stores.redis.constants import CONSTANTS
from gossamer.stores.redis.keys import COUNTERS, DEPTH_COUNTS, NAMES, key, prefix

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.unit.stores.redis.store.conftest import Stage

LUA = files("gossamer.stores.redis") / "lua"
MODULES = {name: (LUA / f"{name}.lua").read_text() for name in library.MODULES}
STEPS = {path.name.removesuffix(".lua"): path.read_text() for path in (LUA / "steps").iterdir()}
EVERYTHING = "\n".join([*MODULES.values(), *STEPS.values()])
READING = {
    *("catch_up", "get_note", "has_room", "pending_depth_changes", "snapshot"),
    *("read_hosts", "read_workers", "ready_hosts", "stored_body"),
}
"""The steps that a replica may carry out."""
NOW = 1_000_000.0


def test_every_module_is_in_the_library() -> None:
    there = {path.name.removesuffix(".lua") for path in LUA.iterdir() if path.is_file()}
    assert set(MODULES) == there


@pytest.mark.parametrize(
    ("table", "known"),
    [("const", set(CONSTANTS)), ("K", set(NAMES)), ("counts", set(COUNTERS))],
)
def test_what_is_named_is_there(table: str, known: set[str]) -> None:
    assert set(re.findall(rf"\b{table}\.(\w+)", EVERYTHING)) <= known


def test_every_name_is_used() -> None:
    assert set(CONSTANTS) == set(re.findall(r"\bconst\.(\w+)", EVERYTHING))
    assert set(NAMES) - {"leader", "messages"} == set(re.findall(r"\bK\.(\w+)", EVERYTHING))
    assert set(COUNTERS) == set(re.findall(r"\bcounts\.(\w+)", EVERYTHING))
    assert set(DEPTH_COUNTS) == set(re.findall(r"count_depth\(ctx, '(\w+)'", EVERYTHING))


@pytest.mark.parametrize("name", [*MODULES, *STEPS])
def test_a_file_uses_what_comes_before_it_and_no_globals(name: str) -> None:
    source = MODULES[name] if name in MODULES else STEPS[name]
    order = list(library.MODULES)
    before = order[: order.index(name) + 1] if name in MODULES else order
    local = set(re.findall(r"(?:local|for|function \w*\(?)[ (]([\w, ]+)", source))
    names = {one.strip() for many in local for one in many.split(",")}
    for module, function in re.findall(r"(?<![\w.:])(\w+)\.(\w+)\(", source):
        if module in MODULES and module not in names:
            assert module in before, f"{module} is not there yet"
            assert re.search(rf"(function )?\b{module}\.{function}\b( =|\()", MODULES[module])
    assert not re.search(r"^\w+ = ", source, re.MULTILINE), "that would be a global"


def test_the_name_tells_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library.source().startswith(f"#!lua name=gossamer_{library.digest()}\n")
    assert library.function_name("settle") == f"gossamer_settle_{library.digest()}"
    assert re.fullmatch(r"[0-9a-f]{16}", library.digest())


def test_key_names_are_all_different() -> None:
    assert len(set(NAMES.values())) == len(NAMES)
    assert prefix("x") == "gossamer:{x}:"
    assert key("x", "urls") == "gossamer:{x}:urls"


@pytest.mark.parametrize("start_redis", ["redis-server", "valkey-server"], indirect=True)
def test_the_server_knows_who_writes(start_redis: "StartServer") -> None:
    """What writes is refused by a full server and by a replica; so nothing may claim not to."""
    with start_redis().client as client:
        assert client.function_load(library.source()) == f"gossamer_{library.digest()}".encode()
        flags = {}
        (listed,) = client.function_list()
        fields = dict(zip(listed[::2], listed[1::2], strict=True))
        for function in fields[b"functions"]:
            one = dict(zip(function[::2], function[1::2], strict=True))
            flags[one[b"name"].decode()] = set(one[b"flags"])
    assert {library.function_name(step) for step in READING} == {
        name for name, found in flags.items() if found == {b"no-writes"}
    }
    assert all(found <= {b"no-writes"} for found in flags.values())
    names = set(STEPS) - {"notes"} | {"get_note", "put_note", "keep"}
    assert set(flags) == {library.function_name(name) for name in names}


def test_it_is_loaded_where_it_is_missing(stage: "Stage") -> None:
    async def story() -> None:
        async with stage.client() as client:
            await client.function_flush("SYNC")
            role = f"{stage.key('leader')}frontier"
            assert await library.call(client, "lead", role, "me", 1000) == 1
            assert await library.call(client, "lead", role, "you", 1000) == 0

    asyncio.run(story())


def test_another_error_is_not_hidden(stage: "Stage") -> None:
    async def story() -> None:
        async with stage.client() as client:
            with pytest.raises(exceptions.ResponseError):
                await library.call(client, "lead", f"{stage.key('leader')}x", "me", "never")

    asyncio.run(story())


def test_two_versions_share_a_server(stage: "Stage") -> None:
    async def story() -> None:
        async with stage.client() as client:
            other = "0" * 16
            await client.function_load(library.source().replace(library.digest(), other))
            store = await stage.open()
            assert await stage.add_seeds(store, "a/1") == 1
            await client.function_delete(f"gossamer_{other}")
            assert await stage.add_seeds(store, "a/1", "a/2") == 1
            await store.close()

    asyncio.run(story())


def test_a_server_that_was_restarted_still_has_it(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis("appendonly yes", "appendfsync always")
    monkeypatch.setattr(stage, "url", server.url)

    async def first() -> None:
        store = await stage.open()
        await stage.add_seeds(store, "a/1")
        await store.close()

    asyncio.run(first())
    server.kill()
    server.start()
    with server.client as client:
        assert len(client.function_list()) == 1


def test_a_replica_has_it_and_answers_what_only_reads(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    primary = start_redis("repl-diskless-sync-delay 0", ports=("port",))
    replica = start_redis(f"replicaof 127.0.0.1 {primary.port}")
    replica.await_link()
    monkeypatch.setattr(stage, "url", primary.url)

    async def story() -> None:
        store = await stage.open()
        assert await stage.add_seeds(store, "a/1") == 1
        with primary.client as client:
            assert client.wait(1, 5000) == 1
        monkeypatch.setattr(stage, "url", replica.url)
        onlooker = stage.opened_over(stage.connection())
        assert (await onlooker.snapshot(NOW)).waiting == 1
        await onlooker.let_go()
        async with stage.client() as client:
            role = f"{stage.key('leader')}frontier"
            with pytest.raises(exceptions.ReadOnlyError):
                await library.call(client, "lead", role, "me", 1000)
        await store.close()

    asyncio.run(story())


def test_a_full_server_takes_nothing_and_still_tells(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis()
    monkeypatch.setattr(stage, "url", server.url)

    async def story() -> None:
        store = await stage.open()
        assert await stage.add_seeds(store, "a/1") == 1
        with server.client as client:
            client.config_set("maxmemory", 1)
            with pytest.raises(CrawlError, match="accepts no more data"):
                await stage.add_seeds(store, "a/2")
            assert (await store.snapshot(NOW)).waiting == 1
            client.config_set("maxmemory", 0)
        assert await stage.add_seeds(store, "a/2") == 1
        await store.close()

    asyncio.run(story())


def test_who_may_not_load_it_is_told(
    stage: "Stage", start_redis: "StartServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis("user default on nopass ~* +@all -function|load")
    monkeypatch.setattr(stage, "url", server.url)

    async def story() -> None:
        store = await stage.open()
        with pytest.raises(
            CrawlError, match=r"FUNCTION LOAD .*NOPERM|FUNCTION LOAD .*no permission"
        ):
            await stage.add_seeds(store, "a/1")
        await store.let_go()

    asyncio.run(story())
