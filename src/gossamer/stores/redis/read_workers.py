"""The workers of a crawl in Redis: what each has to do, and what it told about its process."""

from collections import defaultdict

from gossamer.errors import CrawlError
from gossamer.stores.figures import WorkerView
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.messages import read_report
from gossamer.stores.redis.records import UNREADABLE

_WORKER, _HOST = slice(14, 19), slice(19, 23)
"""Where a lease has the numbers of its worker and its host (`lua/leases.lua`)."""


async def read_workers(crawl: CrawlClient, lease_s: float) -> list[WorkerView]:
    """Return the workers that gave a sign of life within the time of a lease, by number."""
    async with crawl.client.pipeline(transaction=True) as pipe:
        pipe.time()
        pipe.zrange(crawl.key("seen"), 0, -1, withscores=True)
        pipe.hgetall(crawl.key("reports"))
        pipe.hvals(crawl.key("leases"))
        (seconds, micros), seen, reports, leases = await pipe.execute()
    now = seconds + micros / 1e6
    alive = {int(worker): now - at for worker, at in seen if at + lease_s > now}
    async with crawl.client.pipeline(transaction=False) as pipe:
        for worker in alive:
            pipe.smembers(f"{crawl.key('served')}{worker}")
        served = await pipe.execute()
    working = defaultdict[int, list[int]](list)
    for lease in leases:
        working[int.from_bytes(lease[_WORKER])].append(int.from_bytes(lease[_HOST]))
    try:
        told = {int(worker): read_report(report) for worker, report in reports.items()}
    except UNREADABLE as error:
        raise CrawlError(f"what the workers told cannot be read: {error}") from error
    views = [
        WorkerView(
            number=worker,
            hosts=len({*map(int, hosts), *working[worker]}),
            in_progress=len(working[worker]),
            silent_s=alive[worker],
            dead_in_s=lease_s - alive[worker],
            report=told.get(worker),
        )
        for worker, hosts in zip(alive, served, strict=True)
    ]
    return sorted(views, key=lambda one: one.number)
