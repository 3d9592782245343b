"""What a crawl tells its watchers, and what every watcher can be told."""

import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import msgspec

from gossamer.coordinator.summary import Summary
from gossamer.frontier.contract import FrontierClient
from gossamer.model import Event, Level, Snapshot
from gossamer.model.errors import UsageError
from gossamer.modules.calls import describe
from gossamer.stores.crawl_views import HostView, WorkerView

HOSTS_SHOWN = 5
LOG = logging.getLogger("gossamer.observer")


@runtime_checkable
class Observer(Protocol):
    """Shows a crawl to somebody.

    It never raises and never stops the crawl: where the reader has gone away it falls silent.
    `say` may be called from any thread, the others only from the crawl's own.
    """

    @property
    def wants_events(self) -> bool:
        """Whether `event` does anything; there are many thousand a second to be spared."""

    def event(self, event: Event) -> None:
        """Take one step of the crawl."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Take the state of the crawl, about once a second.

        With it come a few hosts worth showing and all workers that take part, by number.
        """

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Take a message; the words may come from anywhere, they are made safe here."""

    def close(self, summary: Summary) -> None:
        """Take the last words; nothing follows."""


class Silence:
    """For programs that look at the summary themselves."""

    wants_events = False

    def event(self, event: Event) -> None:
        """Show nothing."""

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        """Show nothing."""

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        """Show nothing."""

    def close(self, summary: Summary) -> None:
        """Show nothing."""


ObserverLike = Observer | Callable[[Event], object]
"""What can be given as an observer."""


class EventObserver(Silence):
    """A plain function as an observer: it is called with every event, in the caller's process."""

    wants_events = True

    def __init__(self, function: Callable[[Event], object]) -> None:
        self._function = function
        self._has_failed = False

    def event(self, event: Event) -> None:
        """Call the function; what it raises stops nothing, and is logged the first time."""
        try:
            self._function(event)
        except Exception as error:  # noqa: BLE001 -- containing it is what this is for
            if not self._has_failed:
                self._has_failed = True
                LOG.warning(
                    "the observer failed at %s: %s; more failures are not shown",
                    event.url,
                    describe(error),
                )


def as_observer(observer: ObserverLike | None) -> Observer:
    """Return what was given as an observer; None is silence."""
    if observer is None:
        return Silence()
    if isinstance(observer, Observer):
        return observer
    if not callable(observer):
        raise UsageError(
            f"the observer is a {type(observer).__name__}: give a function that takes an Event, or "
            "an object with the methods of gossamer.coordinator.observer.Observer"
        )
    if inspect.iscoroutinefunction(observer):
        raise UsageError(
            "the observer is an async function, which nobody would await: declare it with 'def'"
        )
    return EventObserver(observer)


class RunProgress:
    """The progress of one run: what was there before it is part of no rate."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._visits_before = self._finished_before = 0
        self.pages_before = 0
        """How many pages were there before this run."""

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
