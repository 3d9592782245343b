"""Where an embedded store keeps its URLs and pages.

`EmbeddedStore` decides, a shelf keeps: in memory or in a file. A shelf is used by one process and
changes nothing by itself; what was written between two commits becomes durable together.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Attempt, KeptPage, Link, PageRecord, Place, UrlRecord


class Known(msgspec.Struct):
    """What must be known of a URL each time a link to it is found."""

    id: int
    depth: int
    place: Place
    finished_at: float | None


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


class HostRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What outlasts the process of a host."""

    key: HostKey
    domain: str
    delay_s: float
    next_start: float
    failures: int


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a shelf holds when it is taken over."""

    unscored: int
    outcomes: dict[Outcome, int]
    pages: int
    last_page: int
    gaps: list[int]
    """The numbers before the last page that were given to pages and not settled."""


class Shelf(Protocol):
    """Keeps the rows. Ids are numbers from 1, in the order of discovery."""

    def reshelve(self) -> None:
        """Shelve again what is dealt or in work."""

    def counts(self) -> Counts:
        """Count what there is."""

    def shelved_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host, with its domain, and queue how many URLs are shelved."""

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""

    def insert(
        self, link: Link, place: Place, depth: int, parent: int | None, hops: int, now: float
    ) -> int:
        """Add a URL that is not there and return its id."""

    def move(self, url_id: int, place: Place) -> None:
        """Note where the URL stands now."""

    def set_depth(self, url_id: int, depth: int, parent: int | None) -> None:
        """Note a shorter path."""

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue, in the order of discovery."""

    def set_score(self, url_id: int, score: float, queue: int) -> bool:
        """Put a URL into a priority queue; False if it is not unscored any more."""

    def queue_of(self, url_id: int) -> int:
        """Return the priority queue of a scored URL."""

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best shelved URLs of a host in a queue: they are dealt from now on."""

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""

    def finish(
        self, url_id: int, outcome: Outcome, detail: str, page_id: int | None, now: float
    ) -> None:
        """Note how the URL ended."""

    def add_attempt(self, url_id: int, attempt: Attempt) -> None:
        """Append to the URL's history."""

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""

    def set_targets(self, url_id: int, targets: Sequence[int], redirect: bool) -> None:
        """Note where the links of a finished URL lead."""

    def targets(self, url_id: int) -> tuple[Sequence[int], bool]:
        """Return where its links lead, and whether that is a redirect."""

    def outcome(self, url_id: int) -> Outcome | None:
        """Return how the URL ended, None while it has not."""

    def page_of(self, url_id: int) -> int | None:
        """Return the number of the page kept for the URL."""

    def add_page(self, url_id: int, page: KeptPage, depth: int) -> None:
        """Keep a page and its content, and the depth that the modules were told."""

    def set_told_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""

    def untold(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""

    def twin(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""

    def expire_content(self, before: float, limit: int) -> int:
        """Drop contents fetched before that moment, at most so many; return how many."""

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""

    def record(self, key: bytes) -> UrlRecord | None:
        """Return all that is known of a URL."""

    def hosts(self) -> Iterable[HostRecord]:
        """Return the hosts as they were saved."""

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts."""

    def get(self, name: str) -> bytes | None:
        """Return a note."""

    def put(self, name: str, value: bytes) -> None:
        """Keep a note."""

    def commit(self) -> None:
        """Make what was written durable, whole."""

    def close(self) -> None:
        """Commit and let go."""
