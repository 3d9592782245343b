"""The Redis of the deployment files passes the checks that a crawl makes at its start."""

import asyncio
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from fetch_servers import find_server

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.checks import Finding
from gossamer.stores.redis.probe import check

LOOPBACK = "127.0.0.1"
START_S = 20.0
PASSWORD = "0123abcd"  # noqa: S105 - the tests' own
Tree = dict[str, Any]


def started(arguments: list[str], folder: Path) -> list[Finding]:
    """Start a server with these arguments and return what is found once it runs."""
    program = find_server("redis-server")
    if program is None:
        reason = "no redis-server here: run 'make test', which fetches it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
    place = ["--port", str(port), "--bind", LOOPBACK, "--dir", str(folder)]
    process = subprocess.Popen([str(program), *arguments, *place], stdout=subprocess.DEVNULL)
    address = RedisAddress(host=LOOPBACK, port=port, password=PASSWORD)
    try:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and process.poll() is None:
            findings = asyncio.run(check(address))
            if not any(one.passing for one in findings):
                return findings
            time.sleep(0.02)
        pytest.fail(f"redis-server does not run with {arguments}")
    finally:
        process.kill()
        process.wait()


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
