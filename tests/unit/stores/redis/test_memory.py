"""How much memory a crawl takes: exact in a small store, and estimated in a large one."""

import pytest
from redis_servers import StartServer

from gossamer.stores.redis import crawls
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.row_keys import RowKeys

PAGES = 3000


def test_it_is_exact_or_nearly_so(
    start_redis: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, mine, other = start_redis(), RowKeys("mine"), RowKeys("other")
    with server.client as client:
        pipe = client.pipeline(transaction=False)
        for number in range(PAGES):
            pipe.set(mine.queued(number, 0), b"x" * 1000)
            pipe.set(other.queued(number, 0), b"x" * 5000)
        pipe.hset(mine.urls, mapping={str(number): "x" * 100 for number in range(PAGES)})
        pipe.execute()
        queue = client.memory_usage(mine.queued(1, 0))
        exact = PAGES * queue + client.memory_usage(mine.urls)

    assert crawls.memory_of(parse_address(server.url), "mine") == pytest.approx(exact, rel=0.02)
    monkeypatch.setattr(crawls, "MOST_MEASURED", 1000)
    assert crawls.memory_of(parse_address(server.url), "mine") == pytest.approx(exact, rel=0.2)
