"""The cache of robots.txt files: each is fetched when needed, once for all who wait for it.

`gossamer.policy.robots_state` decides what an answer means; this only fetches and keeps it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from gossamer.download.allowance import Allowance
from gossamer.model import Outcome, Response, Url
from gossamer.policy import RobotsRules, RobotsState, RobotsVerdict, decide_robots, product_token
from gossamer.urls import authority

MAX_REDIRECTS: Final = 5
"""How many redirects in a row are followed, also to other hosts (RFC 9309, section 2.3.1.2)."""

MAX_AUTHORITIES: Final = 10_000
MAX_KEPT_BYTES: Final = 128 * 1024 * 1024
"""The memory limit for the rules of all authorities: one hostile file takes up to 10 MB."""


class _Pending:
    """A running fetch. It continues as long as somebody waits for it."""

    def __init__(self, task: asyncio.Task[RobotsState]) -> None:
        self.task = task
        self.waiting = 0


class RobotsCache:
    """A cache that decides whether robots.txt allows a URL, for one agent.

    `fetch` gets one URL without following redirects, accepts any content type and at least the
    first `MAX_ROBOTS_BYTES` of the body as far as the allowance goes, and keeps the delay of the
    host. `clock` returns the seconds used for verdicts and expiry.
    """

    def __init__(
        self,
        user_agent: str,
        fetch: Callable[[Url, Allowance], Awaitable[Response]],
        clock: Callable[[], float],
        *,
        max_authorities: int = MAX_AUTHORITIES,
        max_kept_bytes: int = MAX_KEPT_BYTES,
    ) -> None:
        self._agent = product_token(user_agent)
        self._fetch = fetch
        self._clock = clock
        self._max_authorities = max_authorities
        self._max_kept_bytes = max_kept_bytes
        self._states: OrderedDict[str, RobotsState] = OrderedDict()
        """The least recently used first."""
        self._kept_bytes = 0
        self._pending: dict[str, _Pending] = {}

    def __repr__(self) -> str:
        return (
            f"<RobotsCache for {self._agent}: {len(self._states)} authorities, "
            f"{self._kept_bytes} bytes, {len(self._pending)} fetches>"
        )

    async def judge(self, url: Url, allowance: Allowance | None = None) -> RobotsVerdict:
        """Return whether the URL may be fetched; may first have to fetch its robots.txt.

        That is received within the allowance of the first who needs it.
        """
        return (await self._state(url, allowance or Allowance())).judge(url)

    async def rules(self, url: Url, allowance: Allowance | None = None) -> RobotsRules | None:
        """Return the rules of the URL's authority; None while they are unreachable."""
        return (await self._state(url, allowance or Allowance())).rules

    def known(self, url: Url) -> RobotsVerdict | None:
        """Return whether the URL may be fetched, if that is known without a request."""
        state = self._fresh(authority(url))
        return None if state is None else state.judge(url)

    def known_delay_s(self, url: Url) -> float | None:
        """Return the Crawl-delay of the URL's authority, if that is known without a request."""
        state = self._fresh(authority(url))
        return state.rules.crawl_delay_s if state is not None and state.rules else None

    def _fresh(self, key: str) -> RobotsState | None:
        state = self._states.get(key)
        if state is None or self._clock() >= state.check_at:
            return None
        self._states.move_to_end(key)
        return state

    async def _state(self, url: Url, allowance: Allowance) -> RobotsState:
        key = authority(url)
        state = self._fresh(key)
        return state or await self._shared_fetch(key, allowance)

    async def _shared_fetch(self, key: str, allowance: Allowance) -> RobotsState:
        """Join the running fetch, or start one; a caller that is cancelled cancels nobody else."""
        pending = self._pending.get(key)
        if pending is None:
            pending = _Pending(asyncio.create_task(self._refresh(key, allowance)))
            self._pending[key] = pending
        pending.waiting += 1
        try:
            return await asyncio.shield(pending.task)
        finally:
            pending.waiting -= 1
            if not pending.waiting:
                pending.task.cancel()
                if self._pending.get(key) is pending:
                    del self._pending[key]

    async def _refresh(self, key: str, allowance: Allowance) -> RobotsState:
        previous = self._states.get(key)
        response = await self._fetch(Url(f"{key}/robots.txt"), allowance)
        for _ in range(MAX_REDIRECTS):
            if response.outcome is not Outcome.REDIRECTED or response.target is None:
                break
            response = await self._fetch(response.target, allowance)
        # The rules apply to the authority of the first request, wherever they came from.
        state = decide_robots(response, self._agent, previous, self._clock(), time.time())
        self._keep(key, state)
        return state

    def _keep(self, key: str, state: RobotsState) -> None:
        if (replaced := self._states.pop(key, None)) is not None:
            self._kept_bytes -= _footprint(replaced)
        self._states[key] = state
        self._kept_bytes += _footprint(state)
        while len(self._states) > self._max_authorities or self._kept_bytes > self._max_kept_bytes:
            _, forgotten = self._states.popitem(last=False)
            self._kept_bytes -= _footprint(forgotten)


def _footprint(state: RobotsState) -> int:
    return state.rules.footprint_bytes if state.rules else 0
