"""Counters of URLs by depth, kept while URLs are found, come nearer, end and are visited again."""

from array import array
from collections.abc import Iterable

from gossamer.stores.url_record import UrlState


class UrlCounts:
    """How many URLs of each depth are known, finished, and have a page; and when they were tried.

    A URL costs a fraction of a microsecond each time that something of it changes here.
    """

    def __init__(self) -> None:
        self._urls = array("q", [0])
        self._finished = array("q", [0])
        self._pages = array("q", [0])
        self.first_attempt_at: float | None = None
        self.last_attempt_at: float | None = None

    def load(self, depths: Iterable[int], states: Iterable[int], pages: Iterable[int]) -> None:
        """Count all URLs, given the depth, the state and the page of each."""
        done = UrlState.DONE
        for depth, state, page in zip(depths, states, pages, strict=True):
            if depth >= len(self._urls):
                self._grow(depth)
            self._urls[depth] += 1
            self._finished[depth] += state == done
            self._pages[depth] += page > 0

    def add(self, depth: int) -> None:
        """Count a new URL."""
        if depth >= len(self._urls):
            self._grow(depth)
        self._urls[depth] += 1

    def move(self, before: int, depth: int, *, is_finished: bool, has_page: bool) -> None:
        """Count a URL at another depth."""
        if depth >= len(self._urls):
            self._grow(depth)
        self._urls[before] -= 1
        self._urls[depth] += 1
        if is_finished:
            self._finished[before] -= 1
            self._finished[depth] += 1
        if has_page:
            self._pages[before] -= 1
            self._pages[depth] += 1

    def finish(self, depth: int, *, is_new_page: bool) -> None:
        """Count a URL that has ended; it has a page that it had not before, or none."""
        self._finished[depth] += 1
        if is_new_page:
            self._pages[depth] += 1

    def reopen(self, depth: int) -> None:
        """Count a URL that had ended and waits again; it keeps its page."""
        self._finished[depth] -= 1

    def attempt(self, at: float) -> None:
        """Note an attempt."""
        if self.first_attempt_at is None:
            self.first_attempt_at = at
        self.last_attempt_at = at

    def depth_counts(self) -> tuple[bytes, bytes, bytes]:
        """Return the counters by depth as they are stored (`StoredCounts`)."""
        return self._urls.tobytes(), self._finished.tobytes(), self._pages.tobytes()

    def _grow(self, depth: int) -> None:
        for counts in (self._urls, self._finished, self._pages):
            counts.extend([0] * (depth + 1 - len(counts)))
