"""URLs in dictionaries."""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import islice

from gossamer.model import HostKey, Outcome
from gossamer.stores.contract import Attempt, Link, UrlRecord, UrlState
from gossamer.stores.embedded.backend import Begun, Counts, Ending, Found, Known, Unscored, Visited
from gossamer.stores.embedded.memory.hosts import MemoryHosts
from gossamer.stores.embedded.memory.pages import MemoryPages
from gossamer.stores.embedded.memory.rows import Row


class MemoryBackend(MemoryPages, MemoryHosts):
    """Keeps everything in memory; `commit` has nothing to do.

    Queues are not searched for what leaves them early: an entry counts only if its URL still
    stands there when its turn comes.
    """

    errors: tuple[type[Exception], ...] = ()

    def __init__(self) -> None:
        MemoryPages.__init__(self)
        MemoryHosts.__init__(self)
        self._by_key: dict[bytes, Known] = {}
        self._line: deque[Row] = deque()
        self._queued: defaultdict[tuple[HostKey, int], list[tuple[float, int]]] = defaultdict(list)

    def complaint(self, error: Exception) -> str:
        """Say what an error means; there is none of which this backend would know."""
        return str(error)

    # -- taking over -----------------------------------------------------------------------------

    def requeue_all(self) -> None:
        """Shelve again what is assigned or in progress."""
        for row in self._rows:
            if row.duplicate_of is not None and row.duplicate_of not in self._pages:
                self.reopen(row.known.id)
            if row.known.state in {UrlState.ASSIGNED, UrlState.LEASED}:
                self._stand(row, UrlState.QUEUED)

    def counts(self) -> Counts:
        """Count what there is."""
        last_page = max(self._pages, default=0)
        return Counts(
            unscored=sum(row.known.state is UrlState.UNSCORED for row in self._rows),
            outcomes=Counter(row.outcome for row in self._rows if row.outcome is not None),
            hosts=len(self._hosts),
            pages=len(self._pages),
            last_page=last_page,
            gaps=[number for number in range(1, last_page) if number not in self._pages],
            bytes=self._bytes,
        )

    def refile(self, queue_of: Callable[[float], int]) -> None:
        """Move every scored URL to the queue that a new table has for its score."""
        self._queued.clear()
        for row in self._rows:
            if row.queue is not None:
                row.queue = queue_of(row.score)
                self._stand(row, row.known.state)

    def queued_counts(self) -> Iterable[tuple[HostKey, str, int, int]]:
        """Return for each host, with its domain, and queue how many URLs are queued."""
        queued = Counter(
            (row.link.host, row.link.domain, row.queue)
            for row in self._rows
            if row.known.state is UrlState.QUEUED and row.queue is not None
        )
        return [(host, domain, queue, n) for (host, domain, queue), n in queued.items()]

    # -- links -----------------------------------------------------------------------------------

    def at_hand(self, keys: Iterable[bytes]) -> list[Known | None]:
        """Return the URLs filed under these keys."""
        return [*map(self._by_key.get, keys)]

    def known(self, key: bytes) -> Known | None:
        """Return the URL filed under that key."""
        return self._by_key.get(key)

    def by_id(self, url_id: int) -> Known:
        """Return a URL that is there."""
        return self._row(url_id).known

    def insert(self, link: Link, state: UrlState, found: Found, now: float) -> int | None:
        """Add a URL and return its id; None if it is there already."""
        if link.key in self._by_key:
            return None
        known = Known(len(self._rows) + 1, link.key, found.depth, found.hops, state)
        row = Row(link, known, found.parent, now)
        self._rows.append(row)
        self._by_key[link.key] = known
        self._meet_host(link.host, link.domain)
        self._stand(row, state)
        return known.id

    def set_path(self, url_id: int, found: Found) -> None:
        """Note a shorter path."""
        row = self._row(url_id)
        row.known.depth, row.known.hops, row.parent = found.depth, found.hops, found.parent

    def visited(self, url_id: int) -> Visited:
        """Return what the last visit to a URL has left."""
        row = self._row(url_id)
        return Visited(row.page_id, row.targets, row.redirect)

    # -- places ----------------------------------------------------------------------------------

    def move(self, url_id: int, state: UrlState) -> None:
        """Note that a URL that is not finished stands elsewhere now."""
        self._stand(self._row(url_id), state)

    def _stand(self, row: Row, state: UrlState) -> None:
        row.known.state = state
        if state is UrlState.UNSCORED:
            row.queue = None
            if not row.in_line:
                row.in_line = True
                self._line.append(row)
        elif state is UrlState.QUEUED:
            assert row.queue is not None
            heappush(self._queued[row.link.host, row.queue], (row.score, row.known.id))

    def reopen(self, url_id: int) -> Outcome:
        """Let a finished URL be visited again; return how it had ended."""
        row = self._row(url_id)
        outcome, row.outcome = row.outcome, None
        assert outcome is not None
        row.detail, row.duplicate_of, row.known.finished_at = "", None, math.inf
        self._stand(row, UrlState.UNSCORED)
        return outcome

    def unscored(self, limit: int) -> list[Unscored]:
        """Return the first URLs of the URL queue."""
        line = self._line
        while line and line[0].known.state is not UrlState.UNSCORED:
            line.popleft().in_line = False
        waiting = (row for row in line if row.known.state is UrlState.UNSCORED)
        return [
            Unscored(row.known.id, row.link.url, row.link.host, row.link.domain, row.known.depth)
            for row in islice(waiting, limit)
        ]

    def set_score(self, url_id: int, score: float, queue: int, state: UrlState) -> bool:
        """Score a URL and move it there; False if it is not unscored any more."""
        row = self._row(url_id)
        if row.known.state is not UrlState.UNSCORED:
            return False
        row.score, row.queue = score, queue
        self._stand(row, state)
        return True

    def take(self, host: HostKey, queue: int, count: int) -> list[tuple[float, int]]:
        """Take the best queued URLs of a host in a queue: they are assigned from now on."""
        heap = self._queued[host, queue]
        taken: list[tuple[float, int]] = []
        while heap and len(taken) < count:
            score, url_id = heappop(heap)
            row = self._row(url_id)
            if (row.known.state, row.score, row.queue) == (UrlState.QUEUED, score, queue):
                row.known.state = UrlState.ASSIGNED
                taken.append((score, url_id))
        if not heap:
            del self._queued[host, queue]
        return taken

    def filed(self, url_id: int) -> tuple[HostKey, float, int]:
        """Return host, score and queue of a URL that was scored."""
        row = self._row(url_id)
        assert row.queue is not None
        return row.link.host, row.score, row.queue

    def begin(self, url_id: int) -> Begun:
        """Note that work on the URL begins, and return what the work needs."""
        row = self._row(url_id)
        row.known.state = UrlState.LEASED
        return Begun(row.link.url, row.known.depth, len(row.attempts), row.known.hops)

    def retry(self, url_id: int, attempt: Attempt, score: float, queue: int) -> None:
        """Note an attempt after which the URL waits again, queued with another score."""
        row = self._row(url_id)
        row.attempts.append(attempt)
        row.score, row.queue = score, queue
        self._stand(row, UrlState.QUEUED)

    def finish(self, url_id: int, ending: Ending) -> None:
        """Note how the URL ended."""
        row = self._row(url_id)
        row.known.state, row.known.finished_at = UrlState.DONE, ending.attempt.at
        row.outcome, row.detail = ending.attempt.outcome, ending.attempt.detail
        row.page_id, row.duplicate_of = ending.page_id, ending.duplicate_of
        row.targets, row.redirect = ending.targets, ending.redirect
        row.attempts.append(ending.attempt)

    # -- looking on, durability ------------------------------------------------------------------

    def records(self) -> Iterator[UrlRecord]:
        """Yield all that is known of every URL, in the order of discovery."""
        return (row.record() for row in self._rows)

    def attempts(self, url_id: int) -> list[Attempt]:
        """Return the URL's history."""
        return list(self._row(url_id).attempts)

    def ready(self) -> bool:
        """Return True: nobody else writes into this memory."""
        return True

    def commit(self) -> None:
        """Do nothing: there is nothing more durable to go to."""

    def close(self) -> None:
        """Do nothing."""
