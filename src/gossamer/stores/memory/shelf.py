"""Rows in dictionaries."""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import zstandard

from gossamer.model import HostKey, Outcome
from gossamer.stores.contract import Attempt, KeptPage, Link, PageRecord, Place, UrlRecord
from gossamer.stores.shelf import Begun, Counts, HostRecord, Known, Unscored


@dataclass(slots=True)
class _Row:
    link: Link
    known: Known
    parent: int | None
    hops: int
    found_at: float
    score: float | None = None
    queue: int | None = None
    outcome: Outcome | None = None
    detail: str = ""
    page_id: int | None = None
    attempts: list[Attempt] = field(default_factory=list)
    targets: Sequence[int] = ()
    redirect: bool = False


class MemoryShelf:
    """Keeps everything in memory; `commit` has nothing to do."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._by_key: dict[bytes, Known] = {}
        self._unscored: deque[int] = deque()
        self._shelved: defaultdict[tuple[HostKey, int], list[tuple[float, int]]] = defaultdict(list)
        self._pages: dict[int, tuple[int, KeptPage]] = {}
        self._told_depths: dict[int, int] = {}
        self._contents: dict[int, bytes] = {}
        self._twins: dict[bytes, tuple[float, int]] = {}
        self._hosts: dict[HostKey, HostRecord] = {}
        self._notes: dict[str, bytes] = {}

    def _row(self, url_id: int) -> _Row:
        return self._rows[url_id - 1]

    def reshelve(self) -> None:
        """Shelve again what is dealt or in work."""
        for row in self._rows:
            if row.known.place in {Place.DEALT, Place.IN_WORK}:
                self.move(row.known.id, Place.SHELVED)

    def counts(self) -> Counts:
        """Count what there is."""
        outcomes: Counter[Outcome] = Counter()
        unscored = 0
        for row in self._rows:
            place = row.known.place
            if place is Place.FINISHED:
                assert row.outcome is not None
                outcomes[row.outcome] += 1
            unscored += place is Place.UNSCORED
        last_page = max(self._pages, default=0)
        return Counts(
            unscored=unscored,
            outcomes=outcomes,
            pages=len(self._pages),
            last_page=last_page,
            gaps=[number for number in range(1, last_page) if number not in self._pages],
        )

    def shelved_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host, with its domain, and queue how many URLs are shelved."""
        for (host, queue), heap in self._shelved.items():
            yield host, self._row(heap[0][1]).link.domain, queue, len(heap)

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""
        return self._by_key.get(key)

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""
        return self._row(url_id).known

    def insert(
        self, link: Link, place: Place, depth: int, parent: int | None, hops: int, now: float
    ) -> int:
        """Add a URL that is not there and return its id."""
        known = Known(len(self._rows) + 1, depth, place, None)
        self._rows.append(_Row(link, known, parent, hops, now))
        self._by_key[link.key] = known
        if link.host not in self._hosts:
            self._hosts[link.host] = HostRecord(
                key=link.host, domain=link.domain, delay_s=0.0, next_start=0.0, failures=0
            )
        if place is Place.UNSCORED:
            self._unscored.append(known.id)
        return known.id

    def move(self, url_id: int, place: Place) -> None:
        """Note where the URL stands now."""
        row = self._row(url_id)
        row.known.place = place
        if place is Place.UNSCORED:
            self._unscored.append(url_id)
        elif place is Place.SHELVED:
            assert row.score is not None
            assert row.queue is not None
            heapq.heappush(self._shelved[row.link.host, row.queue], (row.score, url_id))

    def set_depth(self, url_id: int, depth: int, parent: int | None) -> None:
        """Note a shorter path."""
        row = self._row(url_id)
        row.known.depth = depth
        row.parent = parent

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue, in the order of discovery."""
        queue = self._unscored
        while queue and self._row(queue[0]).known.place is not Place.UNSCORED:
            queue.popleft()
        waiting = (url_id for url_id in queue if self.by_id(url_id).place is Place.UNSCORED)
        return [self._unscored_url(url_id) for url_id in islice(waiting, limit)]

    def _unscored_url(self, url_id: int) -> Unscored:
        link = self._row(url_id).link
        return Unscored(url_id, link.url, link.host, link.domain, self.by_id(url_id).depth)

    def set_score(self, url_id: int, score: float, queue: int) -> bool:
        """Put a URL into a priority queue; False if it is not unscored any more."""
        row = self._row(url_id)
        if row.known.place is not Place.UNSCORED:
            return False
        row.score, row.queue = score, queue
        self.move(url_id, Place.SHELVED)
        return True

    def queue_of(self, url_id: int) -> int:
        """Return the priority queue of a scored URL."""
        queue = self._row(url_id).queue
        assert queue is not None
        return queue

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best shelved URLs of a host in a queue: they are dealt from now on."""
        heap = self._shelved[host, queue]
        taken = [heapq.heappop(heap) for _ in range(min(count, len(heap)))]
        if not heap:
            del self._shelved[host, queue]
        for _, url_id in taken:
            self._row(url_id).known.place = Place.DEALT
        return taken

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""
        row = self._row(url_id)
        row.known.place = Place.IN_WORK
        return Begun(row.link.url, row.known.depth, len(row.attempts), row.hops)

    def finish(
        self, url_id: int, outcome: Outcome, detail: str, page_id: int | None, now: float
    ) -> None:
        """Note how the URL ended."""
        row = self._row(url_id)
        row.known.place, row.known.finished_at = Place.FINISHED, now
        row.outcome, row.detail = outcome, detail
        row.page_id = page_id

    def add_attempt(self, url_id: int, attempt: Attempt) -> None:
        """Append to the URL's history."""
        self._row(url_id).attempts.append(attempt)

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        return self._row(url_id).attempts

    def set_targets(self, url_id: int, targets: Sequence[int], redirect: bool) -> None:
        """Note where the links of a finished URL lead."""
        row = self._row(url_id)
        row.targets, row.redirect = targets, redirect

    def targets(self, url_id: int) -> tuple[Sequence[int], bool]:
        """Return where its links lead, and whether that is a redirect."""
        row = self._row(url_id)
        return row.targets, row.redirect

    def outcome(self, url_id: int) -> Outcome | None:
        """Return how the URL ended, None while it has not."""
        return self._row(url_id).outcome

    def page_of(self, url_id: int) -> int | None:
        """Return the number of the page kept for the URL."""
        return self._row(url_id).page_id

    def add_page(self, url_id: int, page: KeptPage, depth: int) -> None:
        """Keep a page and its content, and the depth that the modules were told."""
        self._pages[page.page_id] = (url_id, page)
        self._told_depths[page.page_id] = depth
        self._contents[page.page_id] = page.content
        self._twins[page.digest] = (page.fetched_at, page.page_id)

    def set_told_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""
        self._told_depths[page_id] = depth

    def untold(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""
        depths = ((page, self.by_id(url).depth) for page, (url, _) in self._pages.items())
        return [(page, depth) for page, depth in depths if depth != self._told_depths[page]]

    def twin(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""
        fetched_at, page_id = self._twins.get(digest, (since, 0))
        return page_id if fetched_at > since else None

    def expire_content(self, before: float, limit: int) -> int:
        """Drop contents fetched before that moment, at most so many; return how many."""
        old: list[int] = []
        for page_id in self._contents:  # in the order of keeping, so the oldest come first
            if len(old) == limit or self._pages[page_id][1].fetched_at > before:
                break
            old.append(page_id)
        for page_id in old:
            del self._contents[page_id]
            digest = self._pages[page_id][1].digest
            if self._twins.get(digest, (0.0, 0))[1] == page_id:
                del self._twins[digest]
        return len(old)

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        content = self._contents.get(page_id)
        return None if content is None else zstandard.decompress(content)

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        for page_id in sorted(self._pages):
            url_id, page = self._pages[page_id]
            row = self._row(url_id)
            yield PageRecord(
                id=page_id,
                url=row.link.url,
                depth=row.known.depth,
                outcome=Outcome.FETCHED,
                bytes=page.size,
                content_type=page.content_type,
                encoding=page.encoding,
                title=page.title,
                fetched_at=page.fetched_at,
            )

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""
        return (_record(row) for row in self._rows)

    def record(self, key: bytes) -> UrlRecord | None:
        """Return all that is known of a URL."""
        known = self._by_key.get(key)
        return None if known is None else _record(self._row(known.id))

    def hosts(self) -> Iterable[HostRecord]:
        """Return the hosts as they were saved."""
        return self._hosts.values()

    def save_hosts(self, hosts: Sequence[HostRecord]) -> None:
        """Save hosts."""
        self._hosts.update((host.key, host) for host in hosts)

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        return self._notes.get(name)

    def put(self, name: str, value: bytes) -> None:
        """Keep a note."""
        self._notes[name] = value

    def commit(self) -> None:
        """Do nothing: there is nothing more durable to go to."""

    def close(self) -> None:
        """Do nothing."""


def _record(row: _Row) -> UrlRecord:
    return UrlRecord(
        id=row.known.id,
        url=row.link.url,
        host=row.link.host,
        domain=row.link.domain,
        place=row.known.place,
        depth=row.known.depth,
        parent=row.parent,
        score=row.score,
        queue=row.queue,
        outcome=row.outcome,
        detail=row.detail,
        page_id=row.page_id,
        found_at=row.found_at,
        finished_at=row.known.finished_at,
        attempts=len(row.attempts),
    )
