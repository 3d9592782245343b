"""What a reader tells about a crawl: counters, hosts, workers, pages; `reader.py` reads them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, TypeAlias

import msgspec

from gossamer.config import StoreAddress
from gossamer.model import CauseCount, Exchange, HostKey, Outcome, Url
from gossamer.stores.url_record import UrlRecord, UrlState

BUSY_HOSTS_NAME: Final = "busy-hosts"
"""Where the busiest hosts are among the metadata of a crawl."""
WORKERS_NAME = "worker-views"
"""Where the workers are among the metadata of a crawl, for other processes."""


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one host, for display."""

    host: str
    waiting: int
    in_progress: int
    pages: int
    failures: int
    """How many requests failed."""
    next_in_s: float
    """How long until its next request; 0 or less: now."""
    delay_s: float = 0.0
    """The pause between two requests to it."""
    mean_ms: float
    """The mean duration of its requests."""


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker tells about its process."""

    pid: int
    machine: str
    """The name of the machine that it runs on."""
    memory: int
    """Its resident memory in bytes."""
    busy: float
    """The share of the time in which it ran or waited for a core lately, from 0 to 1."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that takes part; what it tells of its process is None until it has told it."""

    number: int
    pid: int | None = None
    machine: str | None = None
    """The name of the machine that it runs on."""
    hosts: int
    """How many hosts it serves: those with URLs assigned to it or in progress there."""
    in_progress: int
    """How many URLs it works on."""
    memory: int | None = None
    """Its resident memory in bytes."""
    busy: float | None = None
    """The share of the time in which it ran or waited for a core lately, from 0 to 1."""
    silent_s: float
    """How long ago it last gave a sign of life."""
    dead_in_s: float = 0.0
    """When it counts as dead if it gives none, and others may have its hosts."""


class Numbering(msgspec.Struct, frozen=True):
    """Which numbers of pages are taken for good."""

    last_page: int
    """The largest number of a page."""
    gaps: frozenset[int]
    """The smaller numbers that are still free."""


class Counters(msgspec.Struct):
    """The counters of a crawl that are among its metadata, each under its name."""

    visits: int = 0
    """How often a page was fetched and kept."""
    bytes: int = 0
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received."""
    short_at: int = 0
    """Under which limit of bytes the rest was too little for a task; 0: under none."""
    seeds_pending: int = 0
    """1 while seeds are still to be added."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    url_queue_peak: int = 0
    """How many URLs have waited for their score at most."""


def read_counters(metadata: Callable[[str], bytes | None]) -> Counters:
    """Read the counters from the metadata of a crawl."""
    return Counters(**{name: int(metadata(name) or b"0") for name in Counters.__struct_fields__})


class BusyHost(NamedTuple):
    """A host with much to do."""

    key: HostKey
    waiting: int
    """How many URLs with a score wait."""
    in_progress: int


def read_busy_hosts(packed: bytes | None) -> Sequence[BusyHost]:
    """Return the hosts that were stored, the busiest first; none if nothing was."""
    return () if packed is None else msgspec.msgpack.decode(packed, type=list[BusyHost])


class StoredWorkers(msgspec.Struct, frozen=True):
    """All workers, as they are stored for other processes."""

    written_at: float
    workers: list[WorkerView]


def read_workers(packed: bytes, now: float) -> list[WorkerView]:
    """Return stored workers, which have been silent since then."""
    stored = msgspec.json.decode(packed, type=StoredWorkers)
    passed_s = max(0.0, now - stored.written_at)
    return [
        msgspec.structs.replace(
            worker, silent_s=worker.silent_s + passed_s, dead_in_s=worker.dead_in_s - passed_s
        )
        for worker in stored.workers
    ]


class StoredResponse(msgspec.Struct, frozen=True):
    """The body of a page and its exchange, as they are read from the store."""

    body: bytes
    """Decoded."""
    wire_body: bytes
    """With its content codings, as it was received; the same if it had none."""
    exchange: Exchange | None


State = Literal["waiting", "in_progress", "finished", "too_deep"]
"""Where a URL stands, for people: three of its states are waiting."""

ANY_STATE = frozenset(UrlState)


def state_of(state: UrlState) -> State:
    """Return what a state is called when shown to people."""
    return _STATES.get(state, "waiting")


_STATES: Final[Mapping[UrlState, State]] = {
    UrlState.LEASED: "in_progress",
    UrlState.DONE: "finished",
    UrlState.TOO_DEEP: "too_deep",
}


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which crawl to read."""

    address: StoreAddress
    name: str | None = None
    """What the crawl is called in a shared store; None: the only one there."""
    directory: Path | None = None
    """The directory of the crawl; None: that of its file, or else the only crawl around here."""


class DepthCount(msgspec.Struct, frozen=True, kw_only=True):
    """The URLs of one depth."""

    depth: int
    urls: int
    finished: int
    pages: int
    """How many of them have a page."""


class Presence(msgspec.Struct, frozen=True, kw_only=True):
    """Who works on a crawl."""

    running: bool = False
    """Whether a process works on it."""
    closed: bool = False
    """Whether the last process that worked on it ended in order."""
    led_by: str | None = None
    """Which process has the lead of a shared crawl, and since when."""
    standbys: tuple[str, ...] = ()
    """Which processes stand by to take it over."""
    now: float | None = None
    """The time by the clock of the crawl; None: it goes by that of this machine."""
    resting_s: float = 0.0
    """How long no host is asked yet, because the server of the store was restarted or replaced."""


class CrawlCounts(Counters, kw_only=True):
    """The counters of a crawl, a consistent snapshot; with those that are stored by name."""

    states: dict[UrlState, int]
    """How many URLs are in each state; every state is there."""
    outcomes: dict[str, int]
    """How the finished URLs ended."""
    causes: list[CauseCount]
    """Why downloads failed, the most frequent cause first."""
    depths: list[DepthCount]
    """In the order of depth."""
    queues: dict[int, int]
    """How many URLs with a score wait, by priority queue."""
    pages: int
    visits: int
    """How often a page was fetched and kept."""
    bytes: int
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received, as they were sent."""
    short_at: int = 0
    """Under which limit of bytes the rest was too little for a task; 0: under none."""
    seeds_pending: int = 0
    """1 while seeds are still to be added."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    url_queue_peak: int = 0
    """How many URLs have waited for their score at most."""
    hosts: int
    started_at: float | None
    """When the first attempt ended; None: there was none."""
    last_at: float | None
    """When the last attempt ended."""
    relaxing: bool = False
    """Whether a shorter path was found that is not followed to its end: depths may decrease."""
    running: bool
    """This and what follows: as in `Presence`."""
    closed: bool
    led_by: str | None = None
    standbys: tuple[str, ...] = ()
    resting_s: float = 0.0

    @property
    def urls(self) -> int:
        """How many URLs are known."""
        return sum(self.states.values())

    @property
    def unfinished(self) -> int:
        """How many URLs wait or are in progress."""
        return sum(self.states[state] for state in UrlState if state < UrlState.DONE)


class ListedUrl(msgspec.Struct, frozen=True):
    """A URL in a list."""

    record: UrlRecord
    bytes: int | None
    """The size of its page, if it has one."""
    original: Url | None
    """The URL of the page that it repeats, if it repeats one that is kept."""


ALIAS_OUTCOMES: Final = frozenset({Outcome.REDIRECTED, Outcome.DUPLICATE, Outcome.SIMILAR})
"""How URLs end whose content may be the page of another one."""

StepKind: TypeAlias = Literal["seed", "link", "redirect", "sitemap"]


class Step(msgspec.Struct, frozen=True):
    """A URL on the path from a seed."""

    url: Url
    depth: int
    over: StepKind
    """How it was reached: as a seed, over a link, over a redirect or over a sitemap."""


class Arrival(msgspec.Struct, frozen=True):
    """How a crawl came to a page, over the shortest path."""

    found_on: Url | None = None
    """The page with the link, or the sitemap that lists it; None: a seed."""
    redirected_from: tuple[Url, ...] = ()
    """What redirected to it, in order."""

    @classmethod
    def over(cls, path: Sequence[Step]) -> Self:
        """Return how the last URL of a path was reached; the path may begin anywhere."""
        redirects: list[Url] = []
        for before, step in zip(path[-2::-1], path[::-1], strict=False):
            if step.over in {"link", "sitemap"}:
                return cls(before.url, tuple(redirects[::-1]))
            redirects.append(before.url)
        return cls(None, tuple(redirects[::-1]))


class HostTiming(msgspec.Struct, frozen=True, kw_only=True):
    """When a host may be asked again, and why not sooner."""

    delay_s: float
    ready_in_s: float
    """0: now."""
    failures: int
    """How many requests have failed in a row."""
