"""The Redis of the deployment files passes the checks that a crawl makes at its start."""

from contextlib import closing
from pathlib import Path
from typing import Any

from redis_servers import RedisServer, redis_program, wait_until

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.checks import check
from gossamer.stores.redis.connection import ServerFinding

PASSWORD = "0123abcd"  # noqa: S105 - the tests' own
Tree = dict[str, Any]


def started(arguments: list[str], folder: Path) -> list[ServerFinding]:
    """Start a server with these arguments and return what is found once it runs."""
    program = redis_program("redis-server")
    findings: list[ServerFinding] = []

    def is_up() -> bool:
        findings[:] = check(address)
        return not any(one.passing for one in findings)

    with closing(RedisServer(folder, program=program, arguments=arguments)) as server:
        server.start()
        address = RedisAddress(socket=str(server.socket), password=PASSWORD)
        wait_until(is_up)
    return findings


def test_the_one_of_compose(compose: Tree, tmp_path: Path) -> None:
    program, *arguments = compose["services"]["redis"]["command"]
    assert program == "redis-server"
    assert started(arguments, tmp_path) == []


def test_the_one_of_kubernetes(pods: dict[str, Tree], tmp_path: Path) -> None:
    (container,) = pods["gossamer-redis"]["containers"]
    program, *arguments = [
        word.replace("$(REDIS_PASSWORD)", PASSWORD) for word in container["args"]
    ]
    assert program == "redis-server"
    assert started(arguments, tmp_path) == []


def test_a_lax_one_would_be_noticed(compose: Tree, tmp_path: Path) -> None:
    _, *arguments = compose["services"]["redis"]["command"]
    lax = [word.replace("noeviction", "allkeys-lru") for word in arguments]
    assert [one.severity for one in started(lax, tmp_path)] == ["refuse"]
