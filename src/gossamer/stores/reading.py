"""The reading contract: what every store tells about a crawl, without changing it.

`Store` is for processes that work on a crawl; a `CrawlReader` is for people and programs that want
to know how far it is. It reads a crawl that is running, has ended or was killed, and nobody waits
for it. What it reads of a file is one consistent snapshot; of a shared store, where others go on
meanwhile, the counters are, and each batch of a list.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol, Self, TypeAlias

import msgspec

from gossamer.config import StoreAddress
from gossamer.download.body import CodingError
from gossamer.model import CauseCount, Exchange, HostKey, Outcome, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.bodies.content import read_content
from gossamer.stores.bodies.places import BodyReader
from gossamer.stores.url_record import Attempt, PageRecord, Result, UrlRecord, UrlState

BUSY_HOSTS_NAME: Final = "busy-hosts"
"""Under which name they are among the metadata of a crawl."""
WORKERS_NOTE = "worker-views"
"""The note by which other processes know of the workers."""


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
    """One worker that takes part, for display."""

    number: int
    hosts: int
    """How many hosts it serves: those with URLs assigned to it or in progress there."""
    in_progress: int
    """How many URLs it works on."""
    silent_s: float
    """How long ago it last gave a sign of life."""
    dead_in_s: float = 0.0
    """When it counts as dead if it gives none, and others may have its hosts."""
    report: WorkerReport | None = None
    """What it told last; None if it has told nothing yet."""


class Numbering(msgspec.Struct, frozen=True):
    """Which numbers of pages are taken for good."""

    last_page: int
    """The largest number of a page."""
    gaps: frozenset[int]
    """The smaller numbers that are still free."""


class Counters(msgspec.Struct):
    """The counters of a crawl that are stored as notes, each under its name."""

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


def read_counters(note: Callable[[str], bytes | None]) -> Counters:
    """Read the counters from their notes."""
    return Counters(**{name: int(note(name) or b"0") for name in Counters.__struct_fields__})


class BusyHost(NamedTuple):
    """A host with much to do."""

    key: HostKey
    waiting: int
    """How many URLs with a score wait."""
    in_progress: int


def read_busy_hosts(packed: bytes | None) -> Sequence[BusyHost]:
    """Return the hosts that were stored, the busiest first; none if nothing was."""
    return () if packed is None else msgspec.msgpack.decode(packed, type=list[BusyHost])


class WorkersNote(msgspec.Struct, frozen=True):
    """All workers, as they are noted for other processes."""

    written_at: float
    workers: list[WorkerView]


def read_workers(note: bytes, now: float) -> list[WorkerView]:
    """Return the workers of a note, which have been silent since it was written."""
    found = msgspec.json.decode(note, type=WorkersNote)
    passed_s = max(0.0, now - found.written_at)
    return [
        msgspec.structs.replace(
            one, silent_s=one.silent_s + passed_s, dead_in_s=one.dead_in_s - passed_s
        )
        for one in found.workers
    ]


class KeptAnswer(msgspec.Struct, frozen=True):
    """The body of a page and its exchange."""

    body: bytes
    """Decoded."""
    wire_body: bytes
    """With its content codings, as it was received; the same if it had none."""
    exchange: Exchange | None


async def read_answer(bodies: BodyReader, stored: bytes, number: int) -> KeptAnswer:
    """Return what is kept of the answer for a page; CrawlError if it is damaged."""
    try:
        kept = read_content(await bodies.read(stored))
        body = kept.body()
        return KeptAnswer(body, kept.wire_body(body), kept.exchange())
    except CodingError as error:
        raise CrawlError(f"the stored body of page {number} is damaged: {error}") from error


State = Literal["waiting", "in_progress", "finished", "too_deep"]
"""Where a URL stands, for people: three of its states are waiting."""

ANY_STATE = frozenset(UrlState)


def state_of(state: UrlState) -> State:
    """Return what a state is called when shown to people."""
    match state:
        case UrlState.LEASED:
            return "in_progress"
        case UrlState.DONE:
            return "finished"
        case UrlState.TOO_DEEP:
            return "too_deep"
        case _:
            return "waiting"


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


class CrawlCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a crawl, a consistent snapshot."""

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
    running: bool
    """Whether a process works on the crawl."""
    closed: bool
    """Whether the last process that worked on it ended in order."""
    led_by: str | None = None
    """Which process has the lead of a shared crawl, and since when; None: nobody, or no other may.
    """
    relaxing: bool = False
    """Whether a shorter path was found that is not followed to its end: depths may decrease."""
    standbys: tuple[str, ...] = ()
    """Which processes stand by to take the lead over."""
    resting_s: float = 0.0
    """How long no host is asked yet, because the server of the store was restarted or replaced."""

    @property
    def urls(self) -> int:
        """How many URLs are known."""
        return sum(self.states.values())

    @property
    def unfinished(self) -> int:
        """How many URLs wait or are in progress."""
        return sum(self.states[one] for one in UrlState if one < UrlState.DONE)


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

    referrer: Url | None = None
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


class CrawlReader(Protocol):
    """Reads one crawl; whoever opened it closes it."""

    @property
    def where(self) -> str:
        """What the crawl is called where it is shown."""

    @property
    def name(self) -> str | None:
        """The name of the crawl in a shared store; None: it is the only one of its file."""

    @property
    def directory(self) -> Path | None:
        """Where modules have written, as far as that is known."""

    # -- the crawl -------------------------------------------------------------------------------

    async def note(self, name: str) -> bytes | None:
        """Return a note that is kept with the crawl."""

    async def counts(self) -> CrawlCounts:
        """Return the counters."""

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do."""

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number; none if no process works on the crawl."""

    # -- lists -----------------------------------------------------------------------------------

    def urls(
        self, states: Collection[UrlState] = ANY_STATE, outcome: Outcome | None = None
    ) -> AsyncIterator[ListedUrl]:
        """Yield the URLs in one of the states, in the order of discovery.

        With an outcome only those that ended so.
        """

    def pages(self) -> AsyncIterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""

    def depths(self) -> AsyncIterator[tuple[int, int]]:
        """Yield the numbers of the kept pages, each with the depth of its page."""

    def aliases(self) -> AsyncIterator[tuple[Url, int]]:
        """Yield the URLs that lead to a page of another one, each with the number of that page.

        They redirect to it, or to what repeats it, or repeat it themselves.
        """

    # -- the log of results ----------------------------------------------------------------------

    async def results(self, after: int, limit: int) -> list[Result]:
        """Return the first results of the log that come after a number, in their order."""

    async def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""

    # -- one page --------------------------------------------------------------------------------

    async def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""

    async def page(self, number: int) -> PageRecord | None:
        """Return a kept page; None if no page has that number."""

    async def content(self, number: int) -> bytes | None:
        """Return a page's body, decoded; None if it has expired."""

    async def answer(self, number: int) -> KeptAnswer | None:
        """Return what is kept of the answer for a page; None if it has expired."""

    async def arrival(self, number: int) -> Arrival:
        """Return how the crawl came to a page."""

    # -- one URL ---------------------------------------------------------------------------------

    async def url(self, key: bytes) -> UrlRecord | None:
        """Return what is known of the URL filed under that key."""

    async def ends(self, keys: Sequence[bytes]) -> list[UrlRecord | None]:
        """Return for each key the URL filed under it, or where the redirects from there ended.

        If they lead in a circle, that is one of them. None: the URL is not known.
        """

    async def attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""

    async def path(self, url_id: int) -> list[Step]:
        """Return the shortest path from a seed to a URL, both included."""

    async def timing(self, host: HostKey, now: float) -> HostTiming | None:
        """Return when a host may be asked again; None if the host is not known."""

    async def ahead_of(self, url: UrlRecord) -> int:
        """Return how many URLs surely come before a waiting one.

        Before one without a score: those that were queued for scoring earlier. Before one in a
        priority queue: those of its host in the same queue with a better score, and what is
        assigned or in progress at its host.
        """
