"""A redis-server for one benchmark: its own port, nothing on the disk, ended with it."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from fetch_servers import find_server

LOOPBACK = "127.0.0.1"
START_S = 10.0


@contextmanager
def own_redis(*settings: str) -> Iterator[str]:
    """Give the address of a server that nobody else uses."""
    program = find_server("redis-server")
    if program is None:
        sys.exit("no redis-server here: run 'make bench-redis', which fetches it")
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="gossamer-redis-") as folder:
        place = ["--port", str(port), "--bind", LOOPBACK, "--dir", folder]
        kept = ["--save", "", "--appendonly", "no", "--logfile", "log", *settings]
        process = subprocess.Popen([str(program), *place, *kept])
        try:
            _wait_for(port)
            yield f"redis://{LOOPBACK}:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    give_up_at = time.monotonic() + START_S
    while True:
        try:
            with redis.Redis(port=port, socket_timeout=1) as client:
                client.ping()
        except redis.ConnectionError:
            if time.monotonic() >= give_up_at:
                sys.exit(f"redis-server does not answer within {START_S:g} s")
            time.sleep(0.02)
        else:
            return
