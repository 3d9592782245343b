"""What a Redis tells about its work: time for each step, memory for each kind of key."""

from collections import defaultdict
from collections.abc import Mapping
from statistics import median

import msgspec
from gossamer.stores.redis.library import function_name
from redis.asyncio import Redis

from gossamer.stores.redis.row_keys import NAMES, prefix

STEPS = ("candidates", "prioritise", "route", "lease", "keep")
MOST_CALLS = 1_000_000
SHORTEST_US = 20
"""Every step takes longer, and hardly anything that a step calls: to note that as well would make
the step slower."""
SAMPLES = 1000
"""Of how many fields of a hash the size is taken; of a smaller one all."""
KEYS_AT_ONCE = 5000


class Work(msgspec.Struct, frozen=True):
    """What a server has done between two moments."""

    steps_us: Mapping[str, float]
    """By step: the median duration of its calls, as often as there were any. Now and then a call
    is interrupted by whatever else the machine does; that is not its cost."""
    cpu_s: float
    """With what it takes to read calls and write answers."""


class Stopwatch:
    """Has the server note how long each call takes, between `start` and `stop`."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._cpu_s = 0.0

    async def start(self) -> None:
        await self._client.config_set("slowlog-max-len", MOST_CALLS)
        await self._client.slowlog_reset()
        self._cpu_s = await self._used_cpu_s()
        await self._client.config_set("slowlog-log-slower-than", SHORTEST_US)

    async def stop(self) -> Work:
        await self._client.config_set("slowlog-log-slower-than", -1)
        cpu_s = await self._used_cpu_s() - self._cpu_s
        names = {function_name(step).encode(): step for step in STEPS}
        took_us: defaultdict[str, list[int]] = defaultdict(list)
        for entry in await self._client.slowlog_get(MOST_CALLS):
            words = entry["command"].split(b" ", 2)
            step = names.get(words[1]) if words[0] == b"FCALL" else None
            if step is not None:
                took_us[step].append(entry["duration"])
        await self._client.slowlog_reset()
        return Work({step: median(times) * len(times) for step, times in took_us.items()}, cpu_s)

    async def _used_cpu_s(self) -> float:
        told = await self._client.info("cpu")
        return float(told["used_cpu_user"]) + float(told["used_cpu_sys"])


async def used_bytes(client: Redis) -> int:
    return int((await client.info("memory"))["used_memory"])


async def bytes_by_kind(client: Redis, crawl: str) -> dict[str, int]:
    """Return how many bytes the keys of each kind take, with their names."""
    found: defaultdict[str, int] = defaultdict(int)
    start = len(prefix(crawl))
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
    return kind if kind in NAMES.values() else "other"
