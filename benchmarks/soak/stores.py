"""The stores of a soak: a file in the crawl's directory, or a Redis of its own."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from fetch_servers import find_server
from redis import Redis
from redis_servers import RedisServer

STORES = ("embedded", "redis")


class SoakStore:
    """Where a crawl keeps its state."""

    def __init__(self, options: Sequence[str], client: "Redis | None" = None) -> None:
        self.options = options
        """What every command is told to find it."""
        self._client = client
        self.server = None if client is None else int(client.info("server")["process_id"])
        """The process of the server; None: it has none."""

    def data_mb(self) -> float:
        """Return what the data take, with their keys, as the server counts it; 0 without one."""
        if self._client is None:
            return 0.0
        memory = self._client.info("memory")
        return float(memory["used_memory"] - memory["mem_clients_normal"]) / 1e6


@contextmanager
def open_store(kind: str, folder: Path) -> Iterator[SoakStore]:
    """Give the store of a crawl in a folder."""
    if kind == "embedded":
        yield SoakStore(("--dir", str(folder / "crawl")))
        return
    program = find_server("redis-server")
    if program is None:
        sys.exit("no redis-server here: run 'make test', which fetches it")
    with closing(RedisServer(folder / "redis", program=program)) as server:
        options = ("--store", server.start().url, "--name", "soak")
        with server.client as client:
            yield SoakStore(options, client)
