"""Real servers for the tests: each with its own directory and port, gone when the test is over."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
import redis
from fetch_servers import find_server
from redis.backoff import NoBackoff
from redis.retry import Retry

LOOPBACK = "127.0.0.1"
START_S = 20.0


class StartRedis(Protocol):
    """Start a server with these settings; return its port."""

    def __call__(self, *settings: str, directory: Path | None = None) -> int: ...


@pytest.fixture(scope="session")
def redis_program(request: pytest.FixtureRequest) -> Path:
    """Return redis-server, or the server that the test's parameter names."""
    name = getattr(request, "param", "redis-server")
    program = find_server(name)
    if program is not None:
        return program
    reason = f"no {name} here: run 'make test', which fetches it"
    if os.environ.get("CI") and name == "redis-server":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def start_redis(redis_program: Path, tmp_path: Path) -> Iterator[StartRedis]:
    running: list[subprocess.Popen[bytes]] = []

    def start(*settings: str, directory: Path | None = None) -> int:
        port = free_port()
        folder = directory or tmp_path / f"redis-{len(running)}"
        folder.mkdir(exist_ok=True)
        lines = (f"port {port}", f"bind {LOOPBACK}", f"dir {folder}", 'save ""', *settings)
        (folder / "redis.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
        log = (folder / "log").open("wb")
        with log:
            process = subprocess.Popen(
                [str(redis_program), str(folder / "redis.conf")], stdout=log, stderr=log
            )
        running.append(process)
        await_answer(process, port, folder / "log")
        return port

    yield start
    for process in running:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def await_answer(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until the server answers anything at all."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with redis.Redis(port=port, retry=Retry(NoBackoff(), 0)) as client:
                client.ping()
        except (redis.ResponseError, redis.AuthenticationError, redis.BusyLoadingError):
            return
        except redis.ConnectionError:
            time.sleep(0.01)
        else:
            return
    pytest.fail(f"redis-server did not start: {log.read_text(errors='replace')[-1000:]}")
