"""What a Redis tells about its work: CPU, commands, and memory for each kind of key."""

from collections import defaultdict

from redis.asyncio import Redis

from gossamer.stores.redis.row_keys import NAMES, RowKeys

SAMPLES = 1000
"""Of how many fields of a hash the size is taken; of a smaller one all."""
KEYS_AT_ONCE = 5000


async def used_cpu_s(client: Redis) -> float:
    """Return how much CPU the server has used, all its threads together."""
    told = await client.info("cpu")
    return float(told["used_cpu_user"]) + float(told["used_cpu_sys"])


async def commands(client: Redis) -> int:
    """Return how many commands the server has carried out."""
    return int((await client.info("stats"))["total_commands_processed"])


async def used_bytes(client: Redis) -> int:
    """Return how much memory the server uses."""
    return int((await client.info("memory"))["used_memory"])


async def bytes_by_kind(client: Redis, crawl: str) -> dict[str, int]:
    """Return how many bytes the keys of each kind take, with their names."""
    found: defaultdict[str, int] = defaultdict(int)
    start = len(RowKeys(crawl).prefix)
    keys = [name async for name in client.scan_iter(count=KEYS_AT_ONCE)]
    for first in range(0, len(keys), KEYS_AT_ONCE):
        some = keys[first : first + KEYS_AT_ONCE]
        async with client.pipeline(transaction=False) as pipe:
            for name in some:
                pipe.memory_usage(name, samples=SAMPLES)
            sizes = await pipe.execute()
        for name, size in zip(some, sizes, strict=True):
            found[_kind_of(name[start:])] += size or 0  # it may have expired meanwhile
    return dict(found)


def _kind_of(name: bytes) -> str:
    head, colon, _ = name.partition(b":")
    kind = (head + colon).decode(errors="replace")
    return kind if kind in {*NAMES.values(), "queued:", "messages:", "body:"} else "other"
