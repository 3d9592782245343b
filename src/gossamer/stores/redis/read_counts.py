"""The counters of a crawl in Redis, read in one step.

Every step of the store counts what it changes (`keys`: counts, outcomes, depths, queue_counts). So
reading takes the same few commands, however many URLs there are.
"""

from collections import defaultdict
from collections.abc import Mapping

from gossamer.stores.reading import CrawlCounts, DepthCount
from gossamer.stores.reasons import cause_counts, outcome_sums, parsed_counts
from gossamer.stores.redis.alive import AT_WORK
from gossamer.stores.redis.counters import unpack_counters
from gossamer.stores.redis.crawl_client import CrawlClient
from gossamer.stores.url_record import UrlState

_STATES = {
    UrlState.UNSCORED: "unscored",
    UrlState.QUEUED: "queued",
    UrlState.ASSIGNED: "assigned",
    UrlState.LEASED: "in_progress",
    UrlState.TOO_DEEP: "too_deep",
}
"""The counter of each state; finished URLs are counted by outcome."""


async def read_counts(crawl: CrawlClient, lease_s: float) -> CrawlCounts:
    """Return the counters; a ValueError if they make no sense.

    The crawl is running if a worker gave a sign of life within the time of a lease.
    """
    async with crawl.client.pipeline(transaction=True) as pipe:
        pipe.time()
        pipe.zrevrange(crawl.key("seen"), 0, 0, withscores=True)
        pipe.get(crawl.key("counts"))
        for name in ("outcomes", "depths", "queue_counts"):
            pipe.hgetall(crawl.key(name))
        (seconds, micros), seen, packed, *tables = await pipe.execute()
    counts = unpack_counters(packed)
    outcomes, depths, queues = map(_numbers, tables)
    now = seconds + micros / 1e6
    running = counts["closed"] == AT_WORK and any(at + lease_s > now for _, at in seen)
    ended = parsed_counts({text: int(urls) for text, urls in outcomes.items()})
    states = {state: int(counts[name]) for state, name in _STATES.items()}
    return CrawlCounts(
        states=states | {UrlState.DONE: sum(urls for _, urls in ended)},
        outcomes=outcome_sums(ended),
        causes=cause_counts(ended),
        depths=_depths(depths),
        queues={int(queue): int(count) for queue, count in queues.items() if count},
        pages=int(counts["pages"]),
        visits=int(counts["visits"]),
        bytes=int(counts["bytes"]),
        received=int(counts["received"]),
        reading=int(counts["reading"]),
        listed=int(counts["listed"]),
        over_host_urls=int(counts["over_host_urls"]),
        short_at=int(counts["short_at"]),
        url_queue_peak=int(counts["url_queue_peak"]),
        hosts=int(counts["met"]),
        started_at=counts["started"] or None,
        last_at=counts["last"] or None,
        running=running,
        resting_s=max(0.0, counts["unsure"] - now),
        closed=not running and not counts["in_progress"] and not counts["taken_slots"],
        relaxing=counts["relaxing"] > 0 or counts["unadded"] > 0,
    )


def _numbers(table: Mapping[bytes, bytes]) -> defaultdict[str, float]:
    """Return a hash of numbers; a field that is not there is 0."""
    return defaultdict(float, {name.decode(): float(one) for name, one in table.items()})


def _depths(table: Mapping[str, float]) -> list[DepthCount]:
    """Return the counts by depth, from fields such as `urls:3`."""
    known = sorted({int(field.partition(":")[2]) for field in table})
    found = [
        DepthCount(
            depth=depth,
            urls=int(table.get(f"urls:{depth}", 0)),
            finished=int(table.get(f"done:{depth}", 0)),
            pages=int(table.get(f"pages:{depth}", 0)),
        )
        for depth in known
    ]
    return [one for one in found if one.urls]
