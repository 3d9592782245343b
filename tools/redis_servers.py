"""Redis servers of their own for tests and benchmarks: they can be killed and started again.

A server listens on a Unix socket in a folder of its own, which nobody else can take. Where a test
needs TCP, it listens at a port as well. It cannot be told to choose one itself (port 0 means none),
so a free one is looked for, and another one if somebody was quicker.
"""

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self

import msgspec
import pytest
import redis
from fetch_servers import find_server
from redis.backoff import NoBackoff
from redis.retry import Retry

LOOPBACK = "127.0.0.1"
PATIENCE_S = 45.0
ATTEMPTS = 20
TAKEN = "Address already in use"


def redis_program(name: str | None = None) -> Path:
    """Return the program of a server, or skip the test; TEST_REDIS_SERVER names the default."""
    name = name or os.environ.get("TEST_REDIS_SERVER", "redis-server")
    program = find_server(name)
    if program is not None:
        return program
    reason = f"no {name} here: run 'make test', which fetches it"
    if os.environ.get("CI") and name == "redis-server":
        pytest.fail(reason)
    pytest.skip(reason)


class RedisServer:
    """A server that may be killed and started again, with the same addresses and data."""

    def __init__(
        self,
        folder: Path,
        *settings: str,
        program: Path | None = None,
        arguments: Sequence[str] = (),
        ports: Sequence[str] = (),
    ) -> None:
        """Each setting is a line of redis.conf, each of `ports` the name of one that is a port.

        The arguments are words of the command line, which count more than the settings.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.ports = dict.fromkeys(ports, 0)
        self._program = program or redis_program()
        self._settings = settings
        self._arguments = arguments
        # The path of a socket has 104 bytes at most; that of a test's folder may be longer.
        self._socket_folder = tempfile.TemporaryDirectory(prefix="redis-")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """Its Unix socket."""
        return Path(self._socket_folder.name, "socket")

    @property
    def url(self) -> str:
        """Its address: that of its socket."""
        return f"unix://{self.socket}"

    @property
    def port(self) -> int:
        """The port at which it listens as well."""
        return self.ports["port"]

    @property
    def tcp_url(self) -> str:
        """Its address over TCP."""
        return f"redis://{LOOPBACK}:{self.port}"

    @property
    def client(self) -> "redis.Redis":
        """A client that tries nothing twice."""
        retry = Retry(NoBackoff(), 0)
        return redis.Redis(unix_socket_path=str(self.socket), retry=retry, socket_timeout=10)

    @property
    def append_only_file(self) -> Path:
        """The part of the append-only file that grows."""
        (found,) = self.folder.glob("appendonlydir/*.incr.aof")
        return found

    def start(self) -> Self:
        """Start it, with the data that it has."""
        is_first = not any(self.ports.values())
        for _ in range(ATTEMPTS):
            if is_first:
                self.ports = free_ports(self.ports)
            self._launch()
            if self._answers():
                return self
            said = self._log().read_text(errors="replace")
            if not (is_first and TAKEN in said):  # who started again is known by its ports
                break
        pytest.fail(f"{self._program.name} did not start: {said[-1000:]}")

    def _launch(self) -> None:
        own = {"port": 0, "bind": LOOPBACK, "dir": self.folder, "unixsocket": self.socket}
        lines = [f'{name} "{value}"' for name, value in {**own, **self.ports}.items()]
        config = self.folder / "redis.conf"
        config.write_text("\n".join([*lines, 'save ""', *self._settings, ""]), encoding="utf-8")
        with self._log().open("wb") as log:
            command = [str(self._program), str(config), *self._arguments]
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def _log(self) -> Path:
        return self.folder / "log"

    def _answers(self) -> bool:
        """Wait until it answers anything at all on its socket, and so listens at its ports too."""
        deadline = time.monotonic() + PATIENCE_S
        while self._process is not None and self._process.poll() is None:
            assert time.monotonic() < deadline, "it neither answers nor ends"
            try:
                with self.client as client:
                    client.ping()
            except (redis.ResponseError, redis.AuthenticationError, redis.BusyLoadingError):
                return True
            except redis.ConnectionError:
                time.sleep(0.01)
            else:
                return True
        return False

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

    def close(self) -> None:
        """End it for good."""
        self.kill()
        self._socket_folder.cleanup()


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """Return a port for each name at which nobody listens just now."""
    listeners = {name: socket.create_server((LOOPBACK, 0)) for name in names}
    found = {name: one.getsockname()[1] for name, one in listeners.items()}
    for listener in listeners.values():
        listener.close()
    return found


def wait_until(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


class StartServer(msgspec.Struct):
    """Starts servers that end with the test."""

    folder: Path
    program: Path | None = None
    servers: list[RedisServer] = msgspec.field(default_factory=list)

    def __call__(
        self,
        *settings: str,
        folder: Path | None = None,
        ports: Sequence[str] = (),
        arguments: Sequence[str] = (),
    ) -> RedisServer:
        """Start one more, with the data of a folder."""
        folder = folder or self.folder / f"redis-{len(self.servers)}"
        server = RedisServer(
            folder, *settings, program=self.program, arguments=arguments, ports=ports
        )
        self.servers.append(server)
        return server.start()

    def close(self) -> None:
        """End them all."""
        for server in self.servers:
            server.close()
