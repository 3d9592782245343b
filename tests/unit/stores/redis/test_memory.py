"""How much memory a crawl takes: exact in a small store, and estimated in a large one."""

import pytest
from redis_servers import StartServer

from gossamer.stores.redis import memory
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.row_keys import key

PAGES = 3000


def test_it_is_exact_or_nearly_so(
    start_redis: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_redis()
    with server.client as client:
        pipe = client.pipeline(transaction=False)
        for number in range(PAGES):
            pipe.set(f"{key('mine', 'content')}{number}", b"x" * 1000)
            pipe.set(f"{key('other', 'content')}{number}", b"x" * 5000)
        pipe.hset(key("mine", "urls"), mapping={str(number): "x" * 100 for number in range(PAGES)})
        pipe.execute()
        content = client.memory_usage(f"{key('mine', 'content')}1")
        exact = PAGES * content + client.memory_usage(key("mine", "urls"))

    assert memory.memory_of(parse_address(server.url), "mine") == pytest.approx(exact, rel=0.02)
    monkeypatch.setattr(memory, "MOST_KEYS", 1000)
    assert memory.memory_of(parse_address(server.url), "mine") == pytest.approx(exact, rel=0.2)
