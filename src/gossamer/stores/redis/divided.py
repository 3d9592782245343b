"""A crawl in Redis that is divided into partitions, each of which may lie on another server.

Every partition holds the URLs of its registered domains with all that concerns them alone: queues,
hosts, leases, pages. What concerns two is done in two steps, so ordered that whoever dies between
them leaves nothing that is not put right later:

- A link into another partition goes into an outbox of the one that settles, in the same step, and
  from there to its own (`post`). So does the news that a page behind such a link is nearer.
- Numbers and contents are known to the centre. A page is claimed there with its lease; of several
  leases of a URL the newest counts. How a lease ended the centre hears from the outbox of the
  partition, where only the newest lease can be settled. A claim of which nothing is heard for a
  lease's time is asked about at its partition (`_disown`).
- If a claim is given up, the centre tells the partitions of those that were refused because of it.
  Whether they are still in work or finished by then, they are visited again.
- A lease costs a page of the largest size, granted by the centre to the partition. Grants and what
  was used of them are sums that only grow, so it does not matter which report arrives when. What
  the centre does not know yet is reserved in its eyes: never too little. Grants that are not used
  are called back when they are missing elsewhere.

An id is unique in the crawl, and tells its partition. In strict order each partition goes by its
own best URL. The clocks of the servers have to agree as well as those of one cluster do.
"""

import asyncio
from collections.abc import Sequence
from itertools import chain, zip_longest

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.model import Candidate, HostKey, Snapshot
from gossamer.stores.contract import (
    Claim,
    HostView,
    Leased,
    Link,
    Pace,
    Settled,
    Settlement,
    Task,
)
from gossamer.stores.ledger import REPEATED, StoreRules
from gossamer.stores.redis.centre import Centre
from gossamer.stores.redis.ending import Look, ended_by
from gossamer.stores.redis.messages import SettleAnswer
from gossamer.stores.redis.part import Part, PartLeased, Report
from gossamer.stores.redis.partitions import partition_of, partition_of_id, sorted_out
from gossamer.stores.redis.post import Address, Effects, Office, Post


class DividedStore:
    """One crawl, kept in partitions that any number of processes may use."""

    def __init__(
        self, parts: Sequence[Part], centre: Centre, rules: StoreRules, now: float
    ) -> None:
        self.rules = rules
        self.parts = parts
        self.centre = centre
        self._count = len(parts)
        self._started = now
        offices = [Office(part.courier, "part") for part in parts]
        self._post = Post([*offices, Office(centre.courier, "centre")])
        self._claims: dict[tuple[int, int], Claim] = {}
        """What the centre has answered, by URL and lease, until they are settled."""
        self._turn = 0
        self._granted = [0] * self._count

    def __repr__(self) -> str:
        return f"<DividedStore: {self._count} partitions>"

    def _part(self, url_id: int) -> Part:
        return self.parts[partition_of_id(url_id, self._count)]

    def _part_of(self, domain: str) -> Part:
        return self.parts[partition_of(domain, self._count)]

    # -- the frontier's side ---------------------------------------------------------------------

    async def plant(self, seeds: Sequence[Link], now: float) -> int:
        """Add seeds at depth 0; return how many are new."""
        lots = sorted_out(seeds, self._count)
        new = sum([await self.parts[to].plant(links, now) for to, links in lots.items()])
        await self.deliver_left(now)
        return new

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queues, which stay there until they are prioritised."""
        found = await asyncio.gather(*[part.candidates(limit) for part in self.parts])
        mixed = [one for one in chain.from_iterable(zip_longest(*found)) if one is not None]
        top = max((one.top_credit for one in mixed), default=0.0)
        return [msgspec.structs.replace(one, top_credit=top) for one in mixed[:limit]]

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queues into the priority queues; moved ones are left alone."""
        lots: dict[int, list[tuple[Candidate, float]]] = {}
        for one in scores:
            lots.setdefault(partition_of_id(one[0].id, self._count), []).append(one)
        await asyncio.gather(*[self.parts[to].prioritise(some) for to, some in lots.items()])

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Deal URLs to workers: in each partition for each draw."""
        return sum(await asyncio.gather(*[part.route(draws, now) for part in self.parts]))

    async def reap(self, now: float) -> int:
        """Give back what the dead have left, and forget what has expired."""
        found = sum(await asyncio.gather(*[part.reap(now) for part in self.parts]))
        await self._disown(now)
        await self.deliver_left(now)
        return found

    async def _disown(self, now: float) -> None:
        """Have claims dropped whose lease is over, and of which nobody told the centre."""
        lots: dict[int, list[tuple[int, int]]] = {}
        for url_id, lease in await self.centre.overdue(now):
            lots.setdefault(partition_of_id(url_id, self._count), []).append((url_id, lease))
        for to, claims in lots.items():
            await self.parts[to].disown(claims, now)

    async def deliver_left(self, now: float) -> None:
        """Deliver what lies in outboxes, whoever has sent it."""
        await self._post.deliver_since((await self.look()).undelivered(), now)

    # -- the workers' side -----------------------------------------------------------------------

    async def join(self, worker: int, now: float) -> None:
        """Let a worker take part, or say that it still does."""
        await asyncio.gather(*[part.join(worker, now) for part in self.parts])

    async def lease(self, worker: int, limit: int, now: float) -> Leased:
        """Hand out URLs whose hosts may be asked now, within the budgets."""
        tasks: list[Task] = []
        moments: list[float] = []
        self._turn += 1
        for step in range(self._count):
            partition = (self._turn + step) % self._count
            leased = await self._lease_from(partition, worker, limit - len(tasks), now)
            tasks += leased.tasks
            if leased.wake_at is not None:
                moments.append(leased.wake_at)
        return Leased(tasks, min(moments, default=None))

    async def _lease_from(self, partition: int, worker: int, limit: int, now: float) -> PartLeased:
        """Lease of one partition, and ask the centre for more if that is all that is missing."""
        part, granted = self.parts[partition], self._granted[partition]
        leased = await part.lease_granted(worker, limit, granted, now)
        want = limit - len(leased.tasks)
        if not leased.short or not await self._grant(partition, want, leased.report, now):
            return leased
        more = await part.lease_granted(worker, want, self._granted[partition], now)
        return msgspec.structs.replace(more, tasks=leased.tasks + more.tasks)

    async def _grant(self, partition: int, want: int, report: Report, now: float) -> bool:
        """Have more granted to a partition, if need be out of what others do not use."""
        total, given = await self.centre.grant(partition, want, [report], now)
        if not given:
            granted = await self.centre.granted(now)
            reports = await asyncio.gather(
                *[
                    part.reclaim(one, now)
                    for number, (part, one) in enumerate(zip(self.parts, granted, strict=True))
                    if number != partition
                ]
            )
            total, given = await self.centre.grant(partition, want, reports, now)
        self._granted[partition] = total
        return given > 0

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease was lost."""
        lots: dict[int, list[Task]] = {}
        for task in tasks:
            lots.setdefault(partition_of_id(task.url_id, self._count), []).append(task)
        found = [await self.parts[to].renew(some, now) for to, some in lots.items()]
        lost = [*chain.from_iterable(found)]
        for task in lost:
            self._claims.pop((task.url_id, task.lease), None)
        return lost

    async def claim(self, task: Task, digest: bytes, sketch: Sketch | None, now: float) -> Claim:
        """Give a page its number, unless the same content or one like it is kept."""
        if not await self._part(task.url_id).holds(task, now):
            return Claim(None, lost=True)
        answer = await self.centre.claim(task, digest, sketch, now)
        self._claims[task.url_id, task.lease] = answer
        return answer

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record everything that came of a task, if its lease is still the newest.

        Of links into other partitions, and of pages that came nearer there, it tells as far as
        this process has delivered the news.
        """
        task = settlement.task
        partition = partition_of_id(task.url_id, self._count)
        links = sorted_out(settlement.links, self._count)
        own = msgspec.structs.replace(settlement, links=links.pop(partition, []))
        claim = await self._claim_of(settlement, now)
        answer = await self.parts[partition].settle_part(own, claim, links, now)
        self._claims.pop((task.url_id, task.lease), None)
        effects = await self._post.deliver(partition, answer.posted, now)
        new = [own.links[place - 1].key for place in answer.new]
        for (to, some), number in zip(links.items(), answer.sent, strict=False):
            places = effects.new.get((Address(partition, to), number), [])
            new += [some[place - 1].key for place in places]
        return Settled(answer.accepted, new, _nearer(answer, effects))

    async def _claim_of(self, settlement: Settlement, now: float) -> Claim | None:
        """Return what the centre has answered to a task's claim; None: it made none."""
        task = settlement.task
        known = self._claims.get((task.url_id, task.lease))
        if known is None and (settlement.page or settlement.outcome in REPEATED):
            known = await self.centre.recall(task, now)
        return None if known is None or known.lost else known

    async def untold(self) -> list[tuple[int, int]]:
        """Return the pages of which the modules know a larger depth, with their depth."""
        found = await asyncio.gather(*[part.untold() for part in self.parts])
        return sorted(chain.from_iterable(found))

    async def told(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that the modules know the depth of these pages."""
        await asyncio.gather(*[part.told(pages) for part in self.parts])

    async def put_back(self, task: Task, pace: Pace | None, now: float) -> bool:
        """Give a task back undone; False if the lease was lost."""
        self._claims.pop((task.url_id, task.lease), None)
        partition = partition_of_id(task.url_id, self._count)
        was_ours = await self.parts[partition].put_back(task, pace, now)
        await self.deliver_left(now)
        return was_ours

    async def borrow(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take the host's place for a request without a task; None: now, else when to ask again."""
        return await self._part_of(domain).borrow(host, domain, now)

    async def hand_back(self, host: HostKey, domain: str, pace: Pace, now: float) -> None:
        """Give a borrowed place back."""
        await self._part_of(domain).hand_back(host, domain, pace, now)

    # -- keeping and counting --------------------------------------------------------------------

    async def look(self) -> Look:
        """Return the counters of every partition and of the centre, not of one moment."""
        centre = asyncio.ensure_future(self.centre.counts())
        parts = await asyncio.gather(*[part.counts() for part in self.parts])
        return Look(parts, await centre)

    async def snapshot(self, now: float) -> Snapshot:
        """Count: the sums are those of one moment when the crawl is over."""
        look = await self.look()
        ended = await self._ended_by(look)
        outcomes: dict[str, int] = {}
        for name, count in chain.from_iterable(part.outcomes for part in look.parts):
            outcomes[name] = outcomes.get(name, 0) + count
        outcomes = {name: count for name, count in outcomes.items() if count}
        return Snapshot(
            waiting=sum(part.waiting for part in look.parts),
            in_work=sum(part.in_work for part in look.parts),
            finished=sum(outcomes.values()),
            pages=sum(part.pages for part in look.parts),
            bytes=sum(part.bytes for part in look.parts),
            outcomes=outcomes,
            hosts=sum(part.hosts for part in look.parts),
            elapsed_s=now - self._started,
            pages_per_s=0.0,
            ended_by=ended,
            max_pages=self.rules.max_pages,
            max_bytes=self.rules.max_bytes,
        )

    async def ended_by(self) -> str | None:
        """Tell what ended the crawl; None while it goes on."""
        return await self._ended_by(await self.look())

    async def _ended_by(self, look: Look) -> str | None:
        return ended_by(look, await self.look(), self.rules) if look.is_quiet else None

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, and the slowest ones, at most so many of each."""
        found = await asyncio.gather(*[part.hosts(limit, now) for part in self.parts])
        hosts = [*chain.from_iterable(found)]
        busy = sorted(hosts, key=lambda host: (-host.in_work, -host.waiting))[:limit]
        slow = sorted(hosts, key=lambda host: -host.mean_ms)[:limit]
        return busy + [host for host in slow if host not in busy]

    async def commit(self) -> None:
        """Do nothing: what was answered is as durable as the servers make it."""

    async def close(self) -> None:
        """Say that this process ends in order, and let go."""
        try:
            await asyncio.gather(*[part.close() for part in self.parts])
        finally:
            await self.let_go()

    async def let_go(self) -> None:
        """Let go of all connections without a word."""
        for part in self.parts:
            await part.courier.close()
        await self.centre.courier.close()


def _nearer(answer: SettleAnswer, effects: Effects) -> list[tuple[int, int]]:
    found = dict(answer.nearer)
    for page, depth in effects.nearer.items():
        found[page] = min(depth, found.get(page, depth))
    return [*found.items()]
