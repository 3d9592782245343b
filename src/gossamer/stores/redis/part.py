"""One partition of a divided crawl: the contract's steps, as far as they concern it alone."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from gossamer.stores.contract import Claim, Link, Settlement, Task
from gossamer.stores.redis import messages
from gossamer.stores.redis.messages import Lot, SettleAnswer, SettleMessage, TaskRow, pack
from gossamer.stores.redis.scripts import Kind, script
from gossamer.stores.redis.store import RedisStore

Report = tuple[int, int, int, int]
"""A partition, and how much it has given back, kept and downloaded in all."""

_read_leased = msgspec.msgpack.Decoder(tuple[list[TaskRow], float | bool, bool, Report]).decode
_read_report = msgspec.msgpack.Decoder(Report).decode


class PartMessage(SettleMessage, frozen=True, kw_only=True):
    """A settlement, as a partition takes it: with the centre's answer and the links elsewhere."""

    claimed: bool
    twin: int | None
    digest: str
    """Of the kept page, in hexadecimal digits."""
    abroad: list[Lot]


class PartLeased(msgspec.Struct, frozen=True):
    """What a worker got of a partition."""

    tasks: list[Task]
    wake_at: float | None
    short: bool
    """Something more could be asked for, if more was granted."""
    report: Report


class Part(RedisStore):
    """One partition. What it sends to others lies in its outboxes until it is delivered."""

    kind: ClassVar[Kind] = "part"

    async def lease_granted(self, worker: int, limit: int, granted: int, now: float) -> PartLeased:
        """Hand out URLs, at most as many as the centre has granted in all and are not used."""
        answer = await self._ask("lease", now, (worker, limit, granted))
        rows, wake_at, short, report = _read_leased(answer)
        tasks = [messages.task_of(row) for row in rows]
        return PartLeased(tasks, None if isinstance(wake_at, bool) else wake_at, short, report)

    async def reclaim(self, granted: int, now: float) -> Report:
        """Give back to the centre what was granted and is not in use."""
        report: Report = _read_report(await self._ask("reclaim", now, [granted]))
        return report

    async def holds(self, task: Task, now: float) -> bool:
        """Tell whether the task's lease is the newest of its URL."""
        return messages.read_truth(await self._ask("holds", now, (task.url_id, task.lease)))

    async def disown(self, claims: Sequence[tuple[int, int]], now: float) -> None:
        """Have those claims dropped, URL and lease, whose lease is over."""
        await self._ask("disown", now, claims)

    async def settle_part(
        self,
        settlement: Settlement,
        claim: Claim | None,
        abroad: Mapping[int, Sequence[Link]],
        now: float,
    ) -> SettleAnswer:
        """Record what came of a task; its links are those that stay in this partition.

        `claim` is what the centre has answered, None if it was not asked.
        """
        task, page, links = settlement.task, settlement.page, settlement.links
        step = (task.depth, task.hops + 1) if settlement.redirect else (task.depth + 1, 0)
        connection = self.courier.connections
        packed = messages.bundle(links, self._known.on(connection).recognise(links, *step, now))
        bundles = {to: messages.bundle(some, {}) for to, some in abroad.items()}
        lots = [_lot(to, bundles[to], some) for to, some in abroad.items()]
        kept = (messages.page_note(page), page.content) if page else (b"", b"")
        elsewhere = [b"".join(one.keys) for one in bundles.values()]

        def arguments(own: messages.Bundle) -> tuple[bytes, ...]:
            message = _message(settlement, own, claim, lots)
            return (pack(message), b"".join(own.keys), *kept, *elsewhere)

        self._now = now
        reply = await self.courier.ask(
            script("settle", self.kind),
            now,
            *arguments(packed),
            elsewhere=lambda: arguments(messages.bundle(links, {})),
        )
        answer = messages.read_settled(reply)
        if answer.learnt and connection == self.courier.connections:
            self._known.meet(packed.keys, answer.learnt, answer.depth, answer.hops, now)
        return answer


def _lot(to: int, links: messages.Bundle, found: Sequence[Link]) -> Lot:
    return Lot(
        to=to,
        hosts=links.hosts,
        links=links.links,
        places=links.places,
        domains=messages.domains_of(found),
    )


def _message(
    settlement: Settlement, links: messages.Bundle, claim: Claim | None, abroad: list[Lot]
) -> PartMessage:
    plain = messages.settle_message(settlement, links)
    is_sure = claim is not None and claim.page_id == plain.page_id
    return PartMessage(
        **msgspec.structs.asdict(plain),
        claimed=claim is not None and (plain.page_id is None or is_sure),
        twin=claim.twin_of if claim is not None and plain.duplicate else None,
        digest=settlement.page.digest.hex() if settlement.page else "",
        abroad=abroad,
    )
