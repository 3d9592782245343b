"""The servers that tests start: each listens where it says, and nobody else there."""

import socket
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
import redis
import redis_servers
from redis_servers import LOOPBACK, RedisServer, free_ports


def process_id(client: "redis.Redis") -> int:
    with client:
        return int(client.info("server")["process_id"])


def test_another_port_is_tried_when_somebody_was_quicker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((LOOPBACK, 0)) as quicker:
        taken: int = quicker.getsockname()[1]
        offers = iter([{"port": taken}, {"port": taken}])

        def offered(names: Iterable[str]) -> dict[str, int]:
            return next(offers, None) or free_ports(names)

        monkeypatch.setattr(redis_servers, "free_ports", offered)
        with closing(RedisServer(tmp_path, ports=("port",))) as server:
            server.start()
            assert server.port != taken
            assert next(offers, None) is None
            assert process_id(redis.Redis(port=server.port)) == process_id(server.client)


def test_a_server_that_is_started_again_has_the_same_addresses_and_data(tmp_path: Path) -> None:
    with closing(RedisServer(tmp_path, "appendonly yes", ports=("port",))) as server:
        server.start()
        before = (server.url, server.tcp_url)
        with server.client as client:
            client.set("a", "b")
        server.kill()
        server.start()
        assert (server.url, server.tcp_url) == before
        with redis.Redis(port=server.port) as client:
            assert client.get("a") == b"b"


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        closing(RedisServer(tmp_path, "no-such-setting yes")) as server,
        pytest.raises(pytest.fail.Exception, match="no-such-setting"),
    ):
        server.start()
