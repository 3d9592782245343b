"""The registry of workers: what each has to do, and what it told about its process."""

import msgspec

from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.scheduler import Scheduler
from gossamer.stores.views import WORKERS_NOTE, WorkerReport, WorkersNote, WorkerView


class WorkerRegistry:
    """The registry of the workers that take part."""

    def __init__(self, memory: CrawlMemory, scheduler: Scheduler) -> None:
        self._memory = memory
        self._scheduler = scheduler
        self._reports: dict[int, WorkerReport] = {}

    def keep_report(self, worker: int, report: WorkerReport) -> None:
        """Keep what a worker told."""
        self._reports[worker] = report

    def forget_gone(self, now: float) -> None:
        """Forget the reports of workers that do not take part any more."""
        gone = [worker for worker in self._reports if worker not in self._scheduler.agendas]
        for worker in gone:
            del self._reports[worker]
        if gone:
            self.note(now)

    def views(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        return [
            WorkerView(
                number=load.number,
                hosts=load.hosts,
                in_progress=load.in_progress,
                silent_s=now - load.seen_at,
                dead_in_s=load.seen_at + self._scheduler.rules.lease_s - now,
                report=self._reports.get(load.number),
            )
            for load in self._scheduler.workers()
        ]

    def close(self) -> None:
        """Remove what other processes know of the workers, who are gone."""
        self._memory.remove_note(WORKERS_NOTE)

    def note(self, now: float) -> None:
        """Let other processes know of all workers."""
        note = WorkersNote(now, self.views(now))
        self._memory.put(WORKERS_NOTE, msgspec.json.encode(note))
