"""robots.txt under the rules of the store: a request like any other to its host."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gossamer.download import PRODUCT, Accept, Client, RobotsCache
from gossamer.model import HostKey, Response, Url
from gossamer.policy import RobotsRules, RobotsVerdict
from gossamer.stores.contract import Pace, Store
from gossamer.urls import host_key

Clock = Callable[[], float]


class PoliteRobots:
    """Asks for robots.txt while a task of the host is held.

    The task's place at the host is used, so the file is fetched at once. Where a redirect leads to
    another host, that host's place is borrowed first.
    """

    def __init__(
        self,
        client: Client,
        store: Store,
        domain_of: Callable[[str], str],
        clock: Clock,
        delay_s: float,
    ) -> None:
        self._client = client
        self._store = store
        self._domain_of = domain_of
        self._clock = clock
        self._delay_s = delay_s
        self._cache = RobotsCache(PRODUCT, self._fetch, time.monotonic)
        self._held: Counter[HostKey] = Counter()
        """The hosts of which we have places, and how many."""
        self._asked: dict[HostKey, float] = {}
        """When robots.txt was asked for on one of those."""

    @contextmanager
    def holding(self, host: HostKey) -> Iterator[None]:
        """Let robots.txt of this host be fetched on the place that the caller has."""
        self._held[host] += 1
        try:
            yield
        finally:
            self._held[host] -= 1
            if not self._held[host]:
                del self._held[host]
                self._asked.pop(host, None)

    def asked_at(self, host: HostKey) -> float | None:
        """Return when robots.txt was fetched on the place that the caller has; None if it was not."""
        return self._asked.get(host)

    async def rules(self, url: Url) -> RobotsRules | None:
        """Return what holds for the URL's authority; None while it is unreachable."""
        return await self._cache.rules(url)

    async def judge(self, url: Url) -> RobotsVerdict:
        """Return whether the URL may be fetched."""
        return await self._cache.judge(url)

    async def _fetch(self, url: Url) -> Response:
        host = host_key(url)
        if host not in self._held:
            return await self._fetch_elsewhere(url, host)
        before = self._asked.get(host)
        if before is not None:
            await asyncio.sleep(before + self._delay_s - self._clock())
        try:
            return await self._client.fetch(url, Accept.ANYTHING)
        finally:
            if host in self._held:
                self._asked[host] = self._clock()

    async def _fetch_elsewhere(self, url: Url, host: HostKey) -> Response:
        domain = self._domain_of(host)
        while (moment := await self._store.borrow(host, domain, self._clock())) is not None:
            await asyncio.sleep(max(0.0, moment - self._clock()))
        started = self._clock()
        try:
            return await self._client.fetch(url, Accept.ANYTHING)
        finally:
            ended = self._clock()
            pace = Pace(ended=ended, took_s=ended - started)
            await self._store.hand_back(host, domain, pace, ended)
