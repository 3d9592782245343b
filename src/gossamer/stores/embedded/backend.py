"""Where an embedded store keeps its URLs and pages.

`EmbeddedStore` decides, a backend keeps: in memory or in a file. A backend is used by one process
and changes nothing by itself; what was written between two commits becomes durable together.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from gossamer.content.similarity import Sketch
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, KeptPage, Link, PageRecord, UrlRecord, UrlState


class Known(msgspec.Struct, gc=False):
    """What must be known of a URL each time a link to it is found.

    It is good until the next call of the backend: after that the backend may have another one.
    """

    id: int
    key: bytes
    depth: int
    hops: int
    """How many redirects led there from the last link, on the shortest path."""
    state: UrlState
    finished_at: float = math.inf


class Unscored(msgspec.Struct, frozen=True):
    """A URL in the URL queue."""

    id: int
    url: Url
    host: HostKey
    domain: str
    depth: int


class Begun(msgspec.Struct, frozen=True):
    """What the work on a URL needs."""

    url: Url
    depth: int
    attempts: int
    hops: int


class Found(msgspec.Struct, frozen=True):
    """How a URL was found."""

    depth: int
    hops: int
    parent: int | None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a visit to a URL ended."""

    attempt: Attempt
    page_id: int | None = None
    duplicate_of: int | None = None
    targets: Sequence[int] = ()
    """Where its links lead."""
    redirect: bool = False


class Visited(msgspec.Struct, frozen=True):
    """What the last visit to a URL has left; nothing if there was none."""

    page_id: int | None
    targets: Sequence[int]
    redirect: bool


class Expired(msgspec.Struct, frozen=True):
    """A page whose content was dropped."""

    page_id: int
    bands: bytes
    """The bands of its sketch, one after the other; nothing if it had none."""


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What outlasts the process of a host."""

    key: HostKey
    domain: str
    delay_s: float
    next_start: float
    failures: int
    unanswered: int = 0
    crawl_delay_s: float | None = None
    requests: int = 0
    failed: int = 0
    pages: int = 0
    took_s: float = 0.0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend holds when it is taken over."""

    unscored: int
    outcomes: dict[Outcome, int]
    hosts: int
    pages: int
    last_page: int
    gaps: list[int]
    """The numbers before the last page that were given to pages and not settled."""
    bytes: int


class Backend(Protocol):
    """Keeps the rows. Ids are numbers from 1, in the order of discovery."""

    errors: tuple[type[Exception], ...]
    """What its methods raise when it can keep nothing any more."""

    def complaint(self, error: Exception) -> str:
        """Say in a sentence for people what such an error means."""

    # -- taking over -----------------------------------------------------------------------------

    def requeue_all(self) -> None:
        """Shelve again what is assigned or in progress.

        A duplicate of a page that was claimed and never kept is to be scored again.
        """

    def counts(self) -> Counts:
        """Count what there is."""

    def refile(self, queue_of: Callable[[float], int]) -> None:
        """Move every scored URL to the queue that a new table has for its score."""

    def queued_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host, with its domain, and queue how many URLs are queued."""

    # -- links -----------------------------------------------------------------------------------

    def at_hand(self, keys: Iterable[bytes]) -> list[Known | None]:
        """Return the URLs filed under these keys, as far as that costs nothing; None: who knows."""

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""

    def insert(self, link: Link, state: UrlState, found: Found, now: float) -> int | None:
        """Add a URL and return its id; None if it is there already."""

    def set_path(self, url_id: int, found: Found) -> None:
        """Note a shorter path."""

    def visited(self, url_id: int) -> Visited:
        """Return what the last visit to a URL has left."""

    # -- places ----------------------------------------------------------------------------------

    def move(self, url_id: int, state: UrlState) -> None:
        """Note that a URL that is not finished stands elsewhere now."""

    def reopen(self, url_id: int) -> Outcome:
        """Let a finished URL be visited again; return how it had ended."""

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue."""

    def set_score(self, url_id: int, score: float, queue: int, state: UrlState) -> bool:
        """Score a URL and move it there; False if it is not unscored any more."""

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best queued URLs of a host in a queue: they are assigned from now on."""

    def filed(self, url_id: int) -> tuple[HostKey, float, int]:
        """Return host, score and queue of a URL that was scored."""

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""

    def retry(self, url_id: int, attempt: Attempt, score: float, queue: int) -> None:
        """Note an attempt after which the URL waits again, queued with another score."""

    def finish(self, url_id: int, ending: Ending) -> None:
        """Note how the URL ended."""

    # -- pages -----------------------------------------------------------------------------------

    def add_page(self, url_id: int, page: KeptPage, depth: int, sketch: Sketch | None) -> None:
        """Keep a page, its content and its sketch, and the depth that the modules were told."""

    def duplicate_of(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""

    def bands(self, since: float) -> Iterable[tuple[int, bytes]]:
        """Return the pages that have a sketch and were fetched after that moment, with its bands.

        The bands are one after the other.
        """

    def sample(self, page_id: int, since: float) -> bytes | None:
        """Return the sample of a page's sketch, if it was fetched after that moment and has one."""

    def set_reported_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""

    def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""

    def expire_content(self, before: float, limit: int) -> list[Expired]:
        """Drop contents and sketches fetched before that moment, at most so many."""

    # -- hosts, domains, notes -------------------------------------------------------------------

    def host(self, key: HostKey) -> HostRecord | None:
        """Return a host as it was last saved."""

    def hosts(self) -> list[HostRecord]:
        """Return all hosts as they were last saved."""

    def host_count(self) -> int:
        """Return how many hosts there are."""

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts of URLs that are there."""

    def credit(self, domain: str) -> float:
        """Return the credit of a domain as it was last saved."""

    def top_credit(self) -> float:
        """Return the largest credit of any domain."""

    def save_credits(self, domains: Iterable[tuple[str, float]]) -> None:
        """Save the credits of domains."""

    def count_bytes(self, size: int) -> None:
        """Count bytes that were downloaded."""

    def get(self, name: str) -> bytes | None:
        """Return a note."""

    def put(self, name: str, value: bytes) -> None:
        """Keep a note."""

    # -- looking on ------------------------------------------------------------------------------

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""

    # -- durability ------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Tell whether something can be written now; False: another process is writing."""

    def commit(self) -> None:
        """Make what was written durable, whole."""

    def close(self) -> None:
        """Let go; what was not committed is lost, where there is a difference."""
