"""The order of a crawl by one visitor: nearest pages first, each once."""

from collections import deque

import msgspec

from gossamer.model import Url


class Task(msgspec.Struct, frozen=True):
    """A URL to visit, at the depth it is known to have."""

    url: Url
    depth: int
    hops: int = 0
    """How many redirects led here from the last link; a redirect costs no depth."""


class BreadthFirst:
    """Hands out every added URL once, in the order of depth.

    A link adds its target one level deeper, at the end of the line. A redirect adds its target on
    the same level, at the front: with these two the line stays sorted by depth (breadth-first
    search with edges of length 0 and 1). A waiting URL that a redirect reaches on a shorter path
    moves up; one that was handed out cannot be reached on a shorter path any more.
    """

    def __init__(self, seed: Url) -> None:
        self._line: deque[Task] = deque([Task(seed, 0)])
        self._depth: dict[Url, int] = {seed: 0}
        self._handed_out: set[Url] = set()

    def __repr__(self) -> str:
        seen, visited = len(self._depth), len(self._handed_out)
        return f"<BreadthFirst: {seen} seen, {visited} visited, {self.waiting} waiting>"

    @property
    def waiting(self) -> int:
        """How many URLs have been added and not handed out."""
        return len(self._depth) - len(self._handed_out)

    def next(self) -> Task | None:
        """Hand out the nearest waiting URL, or None when there is none."""
        while self._line:
            task = self._line.popleft()
            # A URL that moved up left its old place in the line behind.
            if task.url not in self._handed_out:
                self._handed_out.add(task.url)
                return task
        return None

    def add_link(self, url: Url, found_on: Task) -> bool:
        """Add the target of a link; False if it is known already."""
        if url in self._depth:
            return False
        self._depth[url] = found_on.depth + 1
        self._line.append(Task(url, found_on.depth + 1))
        return True

    def add_redirect(self, url: Url, source: Task) -> bool:
        """Add the target of a redirect; False if it is known already at this depth or nearer."""
        if self._depth.get(url, source.depth + 1) <= source.depth:
            return False
        self._depth[url] = source.depth
        self._line.appendleft(Task(url, source.depth, source.hops + 1))
        return True
