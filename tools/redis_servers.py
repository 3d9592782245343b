"""Redis servers of their own for tests: they can be killed, started again and cut off."""

import asyncio
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest
import redis
from fetch_servers import find_server
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.testing import TcpProxy

LOOPBACK = "127.0.0.1"
PATIENCE_S = 45.0


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class RedisServer:
    """A redis-server that may be killed and started again, on the same port and data."""

    def __init__(self, folder: Path, *settings: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._settings = settings
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://{LOOPBACK}:{self.port}"

    @property
    def client(self) -> "redis.Redis":
        """A client that tries nothing twice."""
        return redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0), socket_timeout=10)

    @property
    def log_file(self) -> Path:
        """The part of the append-only file that grows."""
        (found,) = self.folder.glob("appendonlydir/*.incr.aof")
        return found

    def start(self) -> Self:
        """Start it, with the data that it has; TEST_REDIS_SERVER may name a valkey-server."""
        name = os.environ.get("TEST_REDIS_SERVER", "redis-server")
        program = find_server(name)
        if program is None:
            reason = f"no {name} here: run 'make test', which fetches it"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        place = ["--port", str(self.port), "--bind", LOOPBACK, "--dir", str(self.folder)]
        kept = ["--save", "", "--logfile", str(self.folder / "log"), *self._settings]
        self._process = subprocess.Popen([str(program), *place, *kept])
        wait_until(self._answers)
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text()[-1000:]
        try:
            with self.client as client:
                client.ping()
        except redis.AuthenticationError:
            return True
        except redis.ConnectionError:
            return False
        return True

    def await_link(self) -> None:
        """Wait until a replica has all that its primary has."""
        with self.client as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")

    def signal(self, number: signal.Signals) -> None:
        """Send its process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def wait_until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


class StartServer(msgspec.Struct):
    """Starts servers that end with the test."""

    folder: Path
    servers: list[RedisServer] = msgspec.field(default_factory=list)

    def __call__(self, *settings: str) -> RedisServer:
        """Start one more."""
        server = RedisServer(self.folder / f"redis-{len(self.servers)}", *settings)
        self.servers.append(server)
        return server.start()


class Proxy:
    """A `TcpProxy` in a thread of its own; its methods may be called from here."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._proxy = TcpProxy((LOOPBACK, port))
        self._run(self._proxy.__aenter__())

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://{LOOPBACK}:{self._proxy.port}"

    def act(self, what: Callable[[TcpProxy], object]) -> None:
        """Have something done to the connections."""

        async def act() -> None:
            what(self._proxy)

        self._run(act())

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._proxy.port

    def close(self) -> None:
        """End it with its thread."""
        self._run(self._proxy.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE_S)
