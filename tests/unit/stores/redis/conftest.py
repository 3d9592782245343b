"""Real servers for the tests: each with its own directory, gone when the test is over."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis_servers import StartServer, redis_program
from tests.unit.stores.redis.row_stage import ExecProxy, RowStage


@pytest.fixture
def start_redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartServer]:
    """Start servers: each a redis-server, or what the test's parameter names."""
    program = redis_program(getattr(request, "param", "redis-server"))
    with closing(StartServer(tmp_path, program)) as start:
        yield start


@pytest.fixture
def stage(start_redis: StartServer) -> Iterator[RowStage]:
    """Make a crawl in a Redis of its own."""
    server = start_redis()
    stage = RowStage(server, ExecProxy(server))
    with closing(stage):
        yield stage
