"""A redis-server for one benchmark: reached over TCP, nothing on the disk, ended with it."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fetch_servers import find_server
from redis_servers import RedisServer


@contextmanager
def own_redis(*settings: str) -> Iterator[str]:
    """Give the address of a server that nobody else uses; each setting is a line of redis.conf."""
    program = find_server("redis-server")
    if program is None:
        sys.exit("no redis-server here: run 'make bench-redis', which fetches it")
    with tempfile.TemporaryDirectory(prefix="gossamer-redis-") as folder:
        server = RedisServer(Path(folder), *settings, program=program, ports=("port",))
        with closing(server):
            yield server.start().tcp_url
