"""The rows of a crawl: what a database must do for the frontier. There is no rule in it.

The frontier has in memory what its rules ask most, and collects what they change (`Changes`). A
database writes all of that or nothing (`Rows.write`), reads single rows back, and yields everything
that is held in memory when a crawl is opened.

A URL that is assigned or in progress is stored as queued, with a lease beside it if it has one: so
whoever opens the crawl finds it waiting, unless it takes over the lease.
"""

import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from gossamer.model import HostKey, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.url_record import Attempt, UrlState

T = TypeVar("T")

OPTIONS_NAME: Final = "options"
"""Where its options are among the metadata; a crawl that has none has not begun."""
PAUSED_UNTIL_NAME: Final = "paused_until"
"""Until when no host is asked, because a server may have forgotten who asks them."""
PATIENCE_S: Final = 60.0
"""How long a store that does not answer is waited for before the crawl is given up."""

ALL: Final = 2**62
"""More than any number of a row."""

Item: TypeAlias = tuple[float, int]
"""A URL in a queue: its score and its id. The smallest goes first."""


class UrlRow(msgspec.Struct, array_like=True, gc=False):
    """Everything that is stored of a URL, but for its attempts and its links."""

    id: int
    url: Url
    key: bytes
    """16 bytes: the hash of its fingerprint."""
    host: int
    """The id of its host."""
    state: UrlState
    """UNSCORED, QUEUED, DONE or TOO_DEEP."""
    depth: int
    hops: int
    """How many redirects led there from the last link, on the shortest path."""
    parent: int | None
    found_at: float
    given_score: float | None = None
    """That of the link by which it was found first."""
    lastmod: float | None = None
    """What a sitemap says of it, as the next two (`Listing` in `frontier/contract.py`)."""
    priority: float | None = None
    sitemap_of: str | None = None
    score: float | None = None
    queue: int | None = None
    outcome: str | None = None
    detail: str | None = None
    page: int | None = None
    """The number of its page, which it never loses."""
    duplicate_of: int | None = None
    similarity: float | None = None
    own_similarity: float | None = None
    finished_at: float | None = None
    attempts: int = 0
    deaths: int = 0
    """How many workers it has crashed."""
    redirect: bool = False
    """Whether its last visit was a redirect."""


class UrlChange(msgspec.Struct, frozen=True, gc=False):
    """What has changed of a URL whose row is not in memory: its path, and perhaps its state."""

    depth: int
    hops: int
    parent: int | None
    state: UrlState | None = None
    """None: as it was."""


class KnownUrl(NamedTuple):
    """What is in memory of every URL, as it is loaded."""

    id: int
    key: bytes
    host: int
    state: int
    depth: int
    hops: int
    page: int | None
    finished_at: float | None
    has_links: bool
    redirect: bool
    queue: int | None
    sitemap_of: str | None


class KnownPage(NamedTuple):
    """What is in memory of every page, as it is loaded."""

    number: int
    url: int
    digest: bytes
    fetched_at: float
    reported_depth: int


class RelaxingUrl(NamedTuple):
    """A URL that has come nearer, whose links are still to be followed; the nearest is smallest."""

    depth: int
    hops: int
    url_id: int
    done: int
    """How many of its links were followed already."""


class HostRow(msgspec.Struct, array_like=True, kw_only=True):
    """The stored state of a host."""

    id: int
    key: HostKey
    domain: str
    urls: int = 0
    """How many of its URLs are known."""
    delay_s: float = 0.0
    next_start: float = 0.0
    failures: int = 0
    unanswered: int = 0
    crawl_delay_s: float | None = None
    requests: int = 0
    failed: int = 0
    pages: int = 0
    took_s: float = 0.0
    received: int = 0
    failed_at: float | None = None
    robots_slots: int = 0
    """How many requests for its robots.txt are running, or were when their workers died."""
    robots_until: float = 0.0
    """Until when they are believed to run."""


class DomainRow(msgspec.Struct, array_like=True):
    """The stored state of a registered domain."""

    name: str
    credit: float = 0.0
    worker: int | None = None
    """The worker that serves it."""
    kept_until: float = 0.0
    """Until when that worker keeps it without URLs."""


class LeaseRow(msgspec.Struct, array_like=True):
    """A URL in progress: who works on it, and what its page has claimed."""

    url: int
    number: int
    worker: int
    deadline: float
    allowed: int
    """How many bytes are reserved for it."""
    shared: bool
    unproven: bool
    claim: bytes | None = None
    """Its claim of a page number, or why it was refused one (msgpack); None: neither."""


class PageRow(msgspec.Struct, array_like=True):
    """What is stored of a page, but for its content."""

    number: int
    url: int
    size: int
    digest: bytes
    attributes: bytes
    """What is only carried, packed (`model/page.py`)."""
    fetched_at: float
    reported_depth: int
    """The depth that the modules know; that of its URL may be smaller."""


class SketchRow(msgspec.Struct, array_like=True):
    """What other pages are compared with."""

    page: int
    fetched_at: float
    bands: bytes
    """8 bytes each."""
    sample: bytes
    own: bytes | None
    """The sample of its own content; None: it was not read so far."""


class ResultRow(msgspec.Struct, array_like=True):
    """A line of the log of results."""

    number: int
    url: int
    page: int | None
    settled_at: float
    records: bytes | None
    row: bytes | None
    """What outputs want of the page, until they have it."""


class Changes:
    """What is to be written together."""

    def __init__(self) -> None:
        self.urls: dict[int, UrlRow] = {}
        """Whole rows, new or changed."""
        self.url_changes: dict[int, UrlChange] = {}
        """Of URLs that are not among those."""
        self.links: dict[int, bytes] = {}
        """All links of a URL: see `pack_links`."""
        self.attempts: dict[int, list[Attempt]] = {}
        """New ones, by URL; the row of the URL counts them."""
        self.relaxing: dict[int, RelaxingUrl | None] = {}
        self.hosts: dict[int, HostRow] = {}
        self.host_urls: dict[int, int] = {}
        """How many URLs are known of hosts that are not among those."""
        self.domains: dict[str, DomainRow] = {}
        self.metadata: dict[str, bytes | None] = {}
        """None: it is removed."""
        self.leases: dict[int, LeaseRow | None] = {}
        self.url_blocks: dict[int, bytes] = {}
        """What memory has of URLs, as the next of pages: see `stores.columns`."""
        self.page_blocks: dict[int, bytes] = {}
        self.pages: dict[int, PageRow] = {}
        self.contents: dict[int, tuple[float, bytes]] = {}
        """When a page was fetched, and its packed content."""
        self.sketches: dict[int, SketchRow] = {}
        self.dropped: set[int] = set()
        """Pages whose stored content and sketch go, before any new ones are written."""
        self.reported: dict[int, int] = {}
        """Depths of stored pages that the modules have learnt."""
        self.results: list[ResultRow] = []
        self.sent: dict[str, list[bytes]] = {}
        """Messages to be appended to queues, where the database carries any."""
        self.taken: dict[str, int] = {}
        """How many messages go from the front of queues: what they said is among the changes."""
        self.ended_queues: set[str] = set()
        """Queues that are removed, with all that is in them."""
        self.rows_dropped: int = 0
        """The rows of results up to this number go, after any new ones are written."""
        self.rows_expired: float = float("-inf")
        """Those of results that were settled up to this time as well."""

    def __bool__(self) -> bool:
        """Tell whether there is anything to write."""
        return any(vars(self)[name] for name in _CONTAINERS) or bool(
            self.rows_dropped or self.rows_expired > float("-inf")
        )


_CONTAINERS = tuple(name for name, value in vars(Changes()).items() if hasattr(value, "__len__"))


class ReadableRows(Protocol):
    """The rows of one crawl, to be read.

    All methods block. Rows that are read by whoever writes them are as they were written last,
    whether or not that is durable.
    """

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the database."""

    def describe_error(self, error: Exception) -> str:
        """Return a sentence for people about an error."""

    # -- everything, when a crawl is opened ------------------------------------------------------

    def metadata(self) -> dict[str, bytes]:
        """Return what is stored of the crawl as a whole, by name."""

    def known_urls(self, first: int = 1, last: int = ALL) -> Iterator[KnownUrl]:
        """Yield what memory holds of URLs, in the order of discovery."""

    def known_pages(self, first: int = 1, last: int = ALL) -> Iterator[KnownPage]:
        """Yield what memory holds of pages, in the order of numbers."""

    def url_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of all URLs, packed in blocks, which are in order; some may be missing."""

    def page_blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the same of pages."""

    def url_keys(self) -> Iterator[tuple[bytes, int]]:
        """Yield the key and the id of every URL, in any order."""

    def page_digests(self) -> Iterator[tuple[bytes, int]]:
        """Yield the digest and the number of every page, in any order."""

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after `since`, with its bands."""

    def hosts(self) -> Iterator[HostRow]:
        """Yield all hosts, in the order of their ids: 1, 2, 3 and so on."""

    def domains(self) -> Iterator[DomainRow]:
        """Yield all domains of which anything is stored."""

    def relaxing(self) -> Iterator[RelaxingUrl]:
        """Yield the URLs whose links are still to be followed over a shorter path."""

    def leases(self) -> Iterator[LeaseRow]:
        """Yield the leases."""

    def last_url(self) -> int:
        """Return the id of the last URL; 0 when there is none."""

    def last_page(self) -> int:
        """Return the largest number of a page; 0 when there is none."""

    def last_result(self) -> int:
        """Return the number of the last result; 0 when there is none."""

    # -- which there are -------------------------------------------------------------------------

    def find_urls(self, keys: Sequence[bytes]) -> list[int]:
        """Return the ids of the URLs with these keys; 0 for one that is not known."""

    def find_hosts(self, keys: Sequence[HostKey]) -> list[int]:
        """Return the ids of hosts; 0 for one that is not known."""

    def count_queued(self, host: int, queue: int, before: Item) -> int:
        """Return how many URLs stored in a priority queue of a host come before one in it."""

    def count_unscored(self, before: int) -> int:
        """Return how many URLs with a smaller id wait for their score."""

    # -- single rows -----------------------------------------------------------------------------

    def read_metadata(self, names: Sequence[str]) -> list[bytes | None]:
        """Return what is stored under these names, a consistent snapshot; None: nothing is."""

    def read_urls(self, ids: Sequence[int]) -> list[UrlRow]:
        """Return the rows of known URLs, in this order."""

    def read_links(self, ids: Sequence[int]) -> list[bytes]:
        """Return the links of known URLs, in this order; empty for one that has none."""

    def read_queue(self, host: int, queue: int, after: Item, limit: int) -> list[Item]:
        """Return the first URLs stored in a priority queue of a host that come after an item."""

    def read_attempts(self, url_id: int) -> list[Attempt]:
        """Return the history of a URL."""

    def read_histories(self, ids: Sequence[int]) -> list[list[Attempt]]:
        """Return the histories of known URLs, in this order."""

    def read_hosts(self, ids: Sequence[int]) -> list[HostRow]:
        """Return stored hosts, in this order."""

    def read_page(self, number: int) -> PageRow | None:
        """Return a page; None if no page has that number."""

    def read_pages(self, numbers: Sequence[int]) -> list[PageRow | None]:
        """Return pages, in this order; None for a number that no page has."""

    def read_sketches(self, pages: Sequence[int]) -> list[SketchRow | None]:
        """Return the sketches of pages, in this order; None for one that has none."""

    def read_content(self, page: int) -> bytes | None:
        """Return the packed content of a page; None if it is not stored any more."""

    def read_body(self, name: str) -> bytes | None:
        """Return a body to which a content refers, beside the rows; None if there is none."""

    def read_expired(self, before: float, limit: int) -> list[int]:
        """Return pages with stored content that were fetched up to `before`, the oldest first."""

    def read_results(self, after: int, limit: int) -> list[ResultRow]:
        """Return the first results after a number, in their order."""

    def close(self) -> None:
        """Let go of it; what was written and not made durable is lost."""


class Rows(ReadableRows, Protocol):
    """The rows of one crawl in a database, to be read and written by one process."""

    def has_lost(self, content: bytes) -> bool:
        """Tell whether the body to which a content refers was gone before it could be kept."""

    def is_lost(self) -> bool:
        """Tell whether whoever reads would have to wait for a server that is away."""

    def reconnect(self) -> None:
        """Wait until it answers; a CrawlError after a while."""

    def give_up(self) -> None:
        """Have what waits for it give up."""

    def renew_lead(self) -> None:
        """Stay the one that writes, when there is nothing to write; an error if it is another."""

    def write(self, changes: Changes) -> Callable[[], None] | None:
        """Take changes over, which are not used any more afterwards.

        Return what makes them durable, all or none of them, and may wait for a disk or a server: it
        is called once, perhaps in another thread, before anything else is written. None: they are
        as durable as they get.
        """


def pack_links(ids: Sequence[int]) -> bytes:
    """Return links as they are stored."""
    return array("q", ids).tobytes()


def unpack_links(packed: bytes) -> Sequence[int]:
    """Return links that were stored."""
    links = array("q")
    links.frombytes(packed)
    return links


def decode_metadata(stored: bytes | None, kind: type[T], what: str) -> T | None:
    """Return metadata as it was stored in JSON; None: there is none. CrawlError if it is damaged.

    `what` begins its sentence: "the origin of the crawl is".
    """
    if stored is None:
        return None
    try:
        return msgspec.json.decode(stored, type=kind)
    except msgspec.MsgspecError as error:
        raise CrawlError(f"{what} damaged: {error}") from error


class StoreAwayError(CrawlError):
    """The server did not answer, or was not the one that has the crawl: it may in a moment."""

    def __init__(self, message: str, trouble: str) -> None:
        super().__init__(message)
        self.trouble = trouble
        """What went wrong, in the words of whoever noticed it."""


class CrawlChangedError(CrawlError):
    """The rows are not as this process left them: another one leads, or the server has forgotten.

    Nothing is written any more; who opens the crawl again goes on with what is stored.
    """


class ReconnectDeadline:
    """How long a store that is away is still waited for."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._give_up_at: float | None = None

    def check(self, error: StoreAwayError) -> None:
        """Say once that the store is away; raise when it was waited for long enough."""
        now = self._clock()
        if self._give_up_at is None:
            self._give_up_at = now + PATIENCE_S
            self._tell(f"The store does not answer ({error.trouble}); trying again.")
        elif now >= self._give_up_at:
            raise CrawlError(
                f"the store did not answer for {PATIENCE_S:g} s ({error.trouble}): nothing that "
                "was settled is lost; run the same command again to continue"
            ) from error

    def reset(self) -> None:
        """Forget the deadline: the store answers."""
        self._give_up_at = None
