"""The hosts of a crawl in Redis: which have most to do, when each may be asked, what waits there.

All times go by the server's clock, as in the steps of the store.
"""

import msgspec

from gossamer.frontier import QueueTable, SchedulerRules
from gossamer.frontier.hosts import ANYONE
from gossamer.policy.auto_delay import FIRST_DELAY_S
from gossamer.stores.figures import HostView
from gossamer.stores.reading import HostTiming
from gossamer.stores.redis.counters import unpack_counters
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.redis.records import HostRow, name_of
from gossamer.stores.rules import StoreRules
from gossamer.stores.url_record import UrlRecord, UrlState

SAMPLE = 1000
"""How many hosts are read from the front of each queue."""
_HOST_BYTES = 4
"""A lease ends with the number of its host (`lua/leases.lua`)."""


class HostClock(msgspec.Struct, frozen=True):
    """Says when hosts may be asked, by one clock."""

    now: float
    unsure: float
    """Until when nobody knows which hosts were asked; 0: that is known."""
    rules: SchedulerRules

    def delay_s(self, host: HostRow) -> float:
        """Return the pause between two requests to a host."""
        return delay_of(host, self.rules)

    def next_in_s(self, host: HostRow) -> float:
        """Return how long until a host may be asked again; less than 0: it is ready."""
        at = max(host.next, self.unsure + self.delay_s(host)) if self.unsure else host.next
        return at - self.now

    def view(self, host: HostRow) -> HostView:
        """Return what is worth showing of a host."""
        return HostView(
            host=host.name,
            waiting=host.waiting,
            in_progress=host.in_progress,
            pages=host.pages,
            failures=host.failed,
            next_in_s=self.next_in_s(host),
            delay_s=self.delay_s(host),
            mean_ms=1000 * host.took / host.requests if host.requests else 0.0,
        )

    def timing(self, host: HostRow) -> HostTiming:
        """Return when a host may be asked again."""
        return HostTiming(
            delay_s=self.delay_s(host),
            ready_in_s=max(0.0, self.next_in_s(host)),
            failures=host.failures,
        )


def delay_of(host: HostRow, rules: SchedulerRules) -> float:
    """Return the pause between two requests to a host, as in `lua/hosts.lua`."""
    limits = rules.limits(host.name)
    adapted_s = (host.delay or FIRST_DELAY_S) if limits.auto_delay else 0.0
    return max(limits.delay_s, host.crawl_delay, adapted_s)


async def read_clock(crawl: CrawlClient, rules: StoreRules) -> HostClock:
    """Return the clock of the crawl's hosts, as it is now."""
    async with crawl.client.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.get(crawl.key("counts"))
        (seconds, micros), counts = await pipe.execute()
    return HostClock(seconds + micros / 1e6, unpack_counters(counts)["unsure"], rules.scheduler)


async def find_busy_hosts(crawl: CrawlClient, queues: int) -> set[int]:
    """Return the numbers of hosts of which URLs with a score wait or are in progress.

    No index lists hosts by how much they have to do. So those at the front of every queue are
    read: all of them, up to a thousand hosts in a queue.
    """
    async with crawl.client.pipeline(transaction=False) as pipe:
        pipe.hvals(crawl.key("leases"))
        pipe.zrange(crawl.key("seen"), 0, SAMPLE - 1)
        pipe.smembers(crawl.key("crowded"))
        pipe.zrange(crawl.key("parked"), 0, SAMPLE - 1)
        for queue in range(queues):
            pipe.lrange(f"{crawl.key('ring')}{queue}", 0, SAMPLE - 1)
        leases, workers, crowded, *lists = await pipe.execute()
    async with crawl.client.pipeline(transaction=False) as pipe:
        for worker in (*map(int, workers), ANYONE):
            pipe.smembers(f"{crawl.key('served')}{worker}")
        for worker in crowded:
            pipe.lrange(f"{crawl.key('away')}{worker.decode()}", 0, SAMPLE - 1)
        lists += await pipe.execute()
    leased = {int.from_bytes(lease[-_HOST_BYTES:], "big") for lease in leases}
    return leased.union(*({*map(int, names)} for names in lists))


async def host_number(crawl: CrawlClient, host: str) -> int:
    """Return the number of a host; 0 if it is not known."""
    found = await crawl.client.hget(crawl.key("host_ids"), host)
    return abs(int(found or 0))  # less than 0 while it has no URL


async def count_ahead(crawl: CrawlClient, rules: StoreRules, url: UrlRecord, host: int) -> int:
    """Return how many waiting URLs of its host come before one that has a score."""
    queued, assigned = (f"{crawl.key(name)}{host}" for name in ("queued", "assigned"))
    low = QueueTable(rules.scheduler.queues).rows()[url.queue or 0].low
    name = name_of(url.id)
    async with crawl.client.pipeline(transaction=True) as pipe:
        pipe.zrank(queued, name)
        pipe.zcount(queued, "-inf", f"({low!r}")
        pipe.zcard(assigned)
        pipe.zrank(assigned, name)
        rank, in_better_queues, all_assigned, assigned_rank = await pipe.execute()
    if url.state is UrlState.ASSIGNED:
        return int(assigned_rank or 0)
    before = int(rank) - int(in_better_queues) if rank is not None else 0
    return int(all_assigned) + before
