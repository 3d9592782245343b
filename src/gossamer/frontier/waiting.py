"""The URLs that wait, in the order in which they are taken.

Of each priority queue of a host the first URLs are in memory, and the rest only in the database,
from where the next ones are read when those are taken. What is waiting for its score is few, as
the URL queue is bounded: all of its ids are in memory.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush, nsmallest
from itertools import islice
from typing import Final

from gossamer.frontier.commits import Pending
from gossamer.frontier.url_memory import MOST_ROWS, UrlMemory
from gossamer.stores.rows import Item, Rows, UrlRow
from gossamer.stores.url_record import UrlState

HEAD: Final = 64
"""How many URLs of a queue are read at once, and stay in memory in any case when queued."""
MORE_HEADS: Final = 8
"""How many times as many stay in memory while all rows in memory are fewer than `MOST_ROWS`."""
FIRST: Final[Item] = (float("-inf"), 0)
"""Before all URLs."""


class WaitingQueue:
    """One priority queue of one host."""

    __slots__ = ("beyond", "bound", "head")

    def __init__(self, beyond: int = 0) -> None:
        self.head: list[Item] = []
        """The first ones, as a heap."""
        self.beyond = beyond
        """How many come after those, and are in the database or about to be."""
        self.bound = FIRST
        """All of these come after it; of no meaning if there are none."""

    def has_in_head(self, item: Item) -> bool:
        """Tell whether a URL of this queue is among the first ones."""
        return not self.beyond or item <= self.bound

    def push(self, item: Item, *, has_room: bool) -> bool:
        """Add a URL; return whether it is among the first ones."""
        if not self.beyond:
            if has_room:
                heappush(self.head, item)
                return True
            self.bound = max(self.head, default=FIRST)
        if item <= self.bound:
            heappush(self.head, item)
            return True
        self.beyond += 1
        return False

    def remove(self, item: Item) -> None:
        """Remove a URL that is somewhere in it."""
        if self.has_in_head(item):
            self.head.remove(item)
            heapify(self.head)
        else:
            self.beyond -= 1


class WaitingUrls:
    """The URL queue, and the priority queues of all hosts."""

    def __init__(self, rows: Rows, pending: Pending, urls: UrlMemory, *, head: int = HEAD) -> None:
        self._rows = rows
        self._pending = pending
        self._urls = urls
        self._head = head
        self.unscored: dict[int, None] = {}
        """The URLs that wait for their score."""
        self._last_unscored = 0
        self._is_in_order = True
        self._queues: dict[tuple[int, int], WaitingQueue] = {}

    def __repr__(self) -> str:
        return f"<WaitingUrls: {len(self.unscored)} unscored, {len(self._queues)} queues>"

    # -- the URL queue ---------------------------------------------------------------------------

    def add_unscored(self, url_id: int) -> None:
        """Let a URL wait for its score."""
        if url_id < self._last_unscored:
            self._is_in_order = False
        else:
            self._last_unscored = url_id
        self.unscored[url_id] = None

    def first_unscored(self, limit: int) -> list[UrlRow]:
        """Return the first URLs of the URL queue, which stay there."""
        if not self._is_in_order:
            self.unscored = dict.fromkeys(sorted(self.unscored))
            self._is_in_order = True
        ids = [*islice(self.unscored, limit)]
        self._urls.hold(ids)
        return [self._urls.at_hand[url_id] for url_id in ids]

    # -- the priority queues ---------------------------------------------------------------------

    def load(self, host: int, queue: int, count: int) -> None:
        """Count URLs that are stored in a priority queue."""
        self._queue(host, queue).beyond += count

    def counts(self) -> Iterator[tuple[int, int, int]]:
        """Yield host, queue and number of URLs, for each that has any."""
        for (host, queue), waiting in self._queues.items():
            if count := len(waiting.head) + waiting.beyond:
                yield host, queue, count

    def _queue(self, host: int, queue: int) -> WaitingQueue:
        waiting = self._queues.get((host, queue))
        if waiting is None:
            waiting = self._queues[host, queue] = WaitingQueue()
        return waiting

    def push(self, row: UrlRow) -> None:
        """Put a URL into the priority queue that its row names."""
        assert row.score is not None
        assert row.queue is not None
        self._urls.states[row.id] = UrlState.QUEUED
        queue = self._queue(row.host, row.queue)
        is_roomy = len(self._urls.at_hand) < MOST_ROWS
        most = self._head * MORE_HEADS if is_roomy else self._head
        if queue.push((row.score, row.id), has_room=is_roomy and len(queue.head) < most):
            if len(queue.head) > 2 * most:
                self._shorten(queue)
        else:
            self._urls.drop(row.id)

    def _shorten(self, queue: WaitingQueue) -> None:
        """Leave the last ones of a head to the database."""
        queue.head.sort()
        for _, url_id in queue.head[self._head :]:
            self._urls.drop(url_id)
        queue.beyond += len(queue.head) - self._head
        del queue.head[self._head :]
        queue.bound = queue.head[-1]

    def remove(self, row: UrlRow) -> None:
        """Take a URL out of its priority queue."""
        assert row.score is not None
        assert row.queue is not None
        self._queue(row.host, row.queue).remove((row.score, row.id))

    def take(self, host: int, queue: int, count: int) -> list[Item]:
        """Take the first URLs out of a queue, which has so many; have their rows at hand."""
        waiting = self._queue(host, queue)
        taken: list[Item] = []
        while len(taken) < count:
            if not waiting.head:
                self._refill(host, queue, waiting)
            taken.append(heappop(waiting.head))
        for _, url_id in taken:
            self._urls.states[url_id] = UrlState.ASSIGNED
        if not waiting.head and not waiting.beyond:
            del self._queues[host, queue]
        return taken

    def holds(self, url_id: int) -> bool:
        """Tell whether the row of a URL has to stay at hand."""
        state = self._urls.states[url_id]
        if state == UrlState.QUEUED:
            row = self._urls.at_hand[url_id]
            assert row.score is not None
            assert row.queue is not None
            return self._queue(row.host, row.queue).has_in_head((row.score, url_id))
        if state == UrlState.UNSCORED:
            return len(self._urls.at_hand) < MOST_ROWS
        return state in {UrlState.ASSIGNED, UrlState.LEASED}

    def _refill(self, host: int, queue: int, waiting: WaitingQueue) -> None:
        """Read the next URLs of a queue, of which none is in memory."""
        assert waiting.beyond, "the scheduler counts the URLs of each queue"
        after = waiting.bound
        items: list[Item] = []
        # Those in memory alone count as far as all that is stored has been seen.
        unwritten = {item for item in self._unwritten(host, queue) if item > after}
        while not items:
            stored = self._rows.read_queue(host, queue, after, 2 * self._head)
            items = [item for item in stored if self._is_there(item, queue)]
            if len(stored) < 2 * self._head:
                items = [*{*items, *unwritten}]
                break
            after = stored[-1]
            items = [*{*items, *(item for item in unwritten if item <= after)}]
        waiting.head = nsmallest(self._head, items)
        waiting.beyond -= len(waiting.head)
        waiting.bound = waiting.head[-1]
        self._urls.hold(url_id for _, url_id in waiting.head)

    def _unwritten(self, host: int, queue: int) -> Iterator[Item]:
        """Yield the URLs of a queue that the database may not have there yet."""
        for changes in self._pending:
            for row in changes.urls.values():
                if (row.host, row.queue) == (host, queue):
                    assert row.score is not None
                    if self._urls.states[row.id] == UrlState.QUEUED:
                        yield row.score, row.id

    def _is_there(self, item: Item, queue: int) -> bool:
        """Tell whether a URL is still in the queue in which it is stored."""
        score, url_id = item
        row = self._urls.at_hand.get(url_id)
        if row is not None and (row.score, row.queue) != (score, queue):
            return False
        return self._urls.states[url_id] == UrlState.QUEUED
