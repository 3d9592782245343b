"""The agendas of all workers, and the common one of the shared hosts."""

import math
from collections.abc import Iterable
from itertools import count

import msgspec

from gossamer.frontier.agenda import Agenda, Entry
from gossamer.frontier.hosts import ANYONE, Host
from gossamer.frontier.leases import Lease
from gossamer.frontier.scheduler_rules import SchedulerRules

ASK_AGAIN_S = 0.05
"""When to ask again for what others may release at any time."""


class WorkerLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker has to do."""

    number: int
    hosts: int
    """How many hosts it serves: those with URLs assigned to it or in progress there."""
    in_progress: int
    seen_at: float
    """When it last gave a sign of life."""


class Agendas:
    """The agendas of the workers that take part, by number; `ANYONE` has the common one."""

    def __init__(self, rules: SchedulerRules) -> None:
        self._rules = rules
        self._tickets = count(1)
        self._agendas: dict[int, Agenda] = {}
        self._common = Agenda(self._tickets, math.inf, strict=rules.strict)

    def __len__(self) -> int:
        return len(self._agendas)

    def __contains__(self, worker: int | None) -> bool:
        return worker in self._agendas

    def __getitem__(self, worker: int) -> Agenda:
        return self._common if worker == ANYONE else self._agendas[worker]

    def of(self, host: Host) -> Agenda:
        """Return the agenda of the worker to which URLs of the host are assigned."""
        assert host.worker is not None
        return self[host.worker]

    def join(self, worker: int, now: float) -> None:
        """Add a worker, or note that it is still alive."""
        agenda = self._agendas.get(worker)
        if agenda is None:
            self._agendas[worker] = Agenda(self._tickets, now, strict=self._rules.strict)
        else:
            agenda.seen_at = max(agenda.seen_at, now)

    def remove(self, worker: int) -> None:
        """Remove a worker to which nothing is assigned."""
        del self._agendas[worker]

    def least_loaded(self) -> int | None:
        """Return the worker with the least to do whose queue has room; None: no queue has.

        What is in progress counts as well: a worker that hangs has it for long, and one whose only
        host rests between two pages has a queue as empty as one without a host.
        """
        return min(
            (worker for worker in self._agendas if self.space(worker) > 0),
            key=lambda worker: (self._agendas[worker].to_do, worker),
            default=None,
        )

    def space(self, worker: int) -> int:
        """Return how many URLs the worker's queue has room for."""
        return self._rules.worker_queue - self[worker].load

    def first(self, worker: int, now: float) -> Entry | None:
        """Return the entry of the host to fetch from now, the worker's own or a shared one.

        Shared hosts of which the worker has its share are skipped: no more than it has leases.
        """
        own = self._agendas[worker].first(now)
        if not self._common.load:
            return own
        share, workers = self._rules.share, len(self)
        shared = self._common.first(
            now, lambda host: host.shares.get(worker, 0) >= share(host, workers)
        )
        return min((one for one in (own, shared) if one is not None), default=None)

    def wake_at(self, worker: int, now: float) -> float | None:
        """Return when the worker has to ask again, if `first` returns nothing now."""
        own = self._agendas[worker].wake_at()
        if not self._common.load:
            return own
        shared = self._common.wake_at()
        return min(one for one in (own, shared, now + ASK_AGAIN_S) if one is not None)

    def silent(self, since: float) -> list[int]:
        """Return the workers without a sign of life since then."""
        return [worker for worker, agenda in self._agendas.items() if agenda.seen_at <= since]

    def loads(self, leases: Iterable[Lease]) -> list[WorkerLoad]:
        """Return what each worker has to do, by number."""
        working: dict[int, list[Host]] = {worker: [] for worker in self._agendas}
        for lease in leases:
            working[lease.worker].append(lease.host)
        return [
            WorkerLoad(
                number=worker,
                hosts=len({*agenda.served, *working[worker]}),
                in_progress=len(working[worker]),
                seen_at=agenda.seen_at,
            )
            for worker, agenda in sorted(self._agendas.items())
        ]

    def ready_hosts(self, since: float) -> int:
        """Return how many hosts wait for their worker since then, and how many shared ones wait."""
        due = sum(agenda.count_due(since) for agenda in self._agendas.values())
        return due + len(self._common.served)
