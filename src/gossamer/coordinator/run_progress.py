"""How far a crawl is, and how fast it is in this run."""

from collections.abc import Callable

import msgspec

from gossamer.coordinator.observer import HostView, Observer
from gossamer.frontier.contract import FrontierClient
from gossamer.model import Snapshot

HOSTS_SHOWN = 5


class RunProgress:
    """The progress of one run: what was there before it is part of no rate."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._visits_before = self._finished_before = 0
        self.pages_before = 0
        """How many pages were there before this run."""

    def start(self) -> None:
        """Let the time of the run begin now."""
        self._started = self._clock()

    async def note_before(self, store: FrontierClient) -> Snapshot:
        """Return what is there before anything is done."""
        before = await store.snapshot(self._clock())
        self.pages_before, self._visits_before = before.pages, before.visits
        self._finished_before = before.finished
        return before

    async def snapshot(self, store: FrontierClient) -> Snapshot:
        """Return the counters of the crawl, with the time and the rates of this run."""
        snapshot = await store.snapshot(self._clock())
        elapsed_s = max(self._clock() - self._started, 1e-9)
        return msgspec.structs.replace(
            snapshot,
            elapsed_s=elapsed_s,
            pages_per_s=(snapshot.visits - self._visits_before) / elapsed_s,
            urls_per_s=(snapshot.finished - self._finished_before) / elapsed_s,
        )

    async def slowest_hosts(self, store: FrontierClient) -> list[HostView]:
        """Return the slowest hosts, as far as they have pages, the slowest first."""
        hosts = await store.hosts(HOSTS_SHOWN, self._clock())
        slowest = sorted(hosts, key=lambda host: -host.mean_ms)[:HOSTS_SHOWN]
        return [host for host in slowest if host.pages]

    async def show(
        self, store: FrontierClient, observer: Observer, unwritten: int | None = None
    ) -> None:
        """Show how far the crawl is, or how much of its outputs is left to write."""
        now = self._clock()
        hosts = await store.hosts(HOSTS_SHOWN, now)
        workers = await store.workers(now)
        snapshot = msgspec.structs.replace(await self.snapshot(store), unwritten=unwritten)
        observer.tick(snapshot, hosts, workers)
