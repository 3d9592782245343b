"""The check of depths: whether each is the length of the shortest path from a seed.

Nothing is searched again; it is enough to check each link and each URL once:

- no link offers a shorter path: its target is at most one step farther than its source, and as far
  as the source where it is a redirect. So no depth is larger than the shortest path;
- every URL lies one step behind its parent, which links to it, and no path over parents goes round
  in a circle. So each depth is the length of a path that exists.

While a shorter path is being followed, what the URLs that it has come to link to may be farther
away than that. When none of those are left, depths are exact.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gossamer.stores.rows import unpack_links
from gossamer.views.verify_progress import Check


class Node(NamedTuple):
    """A URL in the graph of links."""

    id: int
    depth: int
    parent: int | None
    redirect: bool
    """Whether its only link is a redirect."""
    revisited: bool
    """Whether links of an earlier visit may be forgotten."""
    relaxing: bool
    """Whether it has come nearer and what it links to not yet."""


_NODES = """
    SELECT id, depth, parent, redirect, id IN revisited, id IN (SELECT url FROM relaxing)
    FROM urls ORDER BY id
"""
_LINKS = "SELECT id, targets FROM urls WHERE state = 4 AND targets IS NOT NULL ORDER BY id"


def depth_checks(tables: sqlite3.Connection) -> Iterator[Check]:
    """Yield the checks; the table `revisited` must be there."""

    def name_of(url_id: int) -> str:
        row = tables.execute("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()
        return str(row[0]) if row else f"URL {url_id}, which does not exist"

    graph = DepthCheck(map(Node._make, tables.execute(_NODES)), name_of)
    links = ((source, unpack_links(packed)) for source, packed in tables.execute(_LINKS))
    promise = "no link offers a shorter path than the recorded one"
    yield "depth", promise, graph.shortcuts(links)
    yield "path", "every URL is reached from a seed at its depth", graph.broken_paths()


class DepthCheck:
    """The URLs of a crawl and their parents; ids are 1, 2, 3 … without holes.

    Links that were forgotten, because a URL was visited again, still count as paths.
    """

    def __init__(self, nodes: Iterable[Node], name_of: Callable[[int], str]) -> None:
        self._name_of = name_of
        self._depth = array("q", [0])
        self._parent = array("q", [0])
        self._step = bytearray(1)
        self._revisited = bytearray(1)
        self._relaxing = bytearray(1)
        self._linked = bytearray(1)
        """Whether the URL is among the links of its parent."""
        for node in nodes:
            self._depth.append(node.depth)
            self._parent.append(node.parent or 0)
            self._step.append(0 if node.redirect else 1)
            self._revisited.append(node.revisited)
            self._relaxing.append(node.relaxing)
            self._linked.append(0)

    def shortcuts(self, links: Iterable[tuple[int, Sequence[int]]]) -> Iterator[str]:
        """Yield the links that offer a shorter path, or lead to a URL that is missing."""
        depth, parent, linked = self._depth, self._parent, self._linked
        depth_of, last = depth.__getitem__, len(depth) - 1
        for source, targets in links:
            if targets and (min(targets) < 1 or max(targets) > last):
                yield f"{self._name_of(source)} links to a URL that is missing"
                continue
            reach = depth[source] + self._step[source]
            if max(map(depth_of, targets), default=0) > reach and not self._relaxing[source]:
                yield from self._beyond(reach, source, targets)
            for target in [one for one in targets if parent[one] == source]:
                linked[target] = 1

    def _beyond(self, reach: int, source: int, targets: Iterable[int]) -> Iterator[str]:
        for target in targets:
            if self._depth[target] > reach:
                yield (
                    f"{self._name_of(target)} is recorded at depth {self._depth[target]}, but "
                    f"is at depth {reach} over {self._name_of(source)}"
                )

    def broken_paths(self) -> Iterator[str]:
        """Yield the URLs whose path over their parents does not exist; call `shortcuts` first."""
        depth, parent = self._depth, self._parent
        for url in range(1, len(depth)):
            over = parent[url]
            if not over:
                continue
            if not 1 <= over < len(depth):
                yield f"{self._name_of(url)} was found on a URL that is missing"
            elif not self._linked[url]:
                if not self._revisited[over]:
                    yield f"{self._name_of(over)} does not link to {self._name_of(url)}"
            elif not self._is_behind(url, over):
                yield (
                    f"{self._name_of(url)} is recorded at depth {depth[url]}, but was found on "
                    f"{self._name_of(over)}, which is at depth {depth[over]}"
                )
        yield from self._circles()

    def _is_behind(self, url: int, parent: int) -> bool:
        """Tell whether a URL is one step behind its parent, or farther if that may be."""
        excess = self._depth[url] - self._depth[parent] - self._step[parent]
        return excess >= 0 if self._relaxing[parent] else excess == 0

    def _circles(self) -> Iterator[str]:
        """Yield one URL of each circle of parents."""
        parent, last = self._parent, len(self._parent) - 1
        passed = array("q", [0]) * len(parent)
        for start in range(1, len(parent)):
            at = start
            while 1 <= at <= last and not passed[at]:
                passed[at] = start
                at = parent[at]
            if 1 <= at <= last and passed[at] == start:
                yield f"{self._name_of(at)} was found over itself: its parents form a circle"
