"""The cache of robots.txt files: each is fetched when needed, once for all who wait for it.

`gossamer.policy.robots_state` decides what an answer means; this only fetches and keeps it, within
a number of bytes: the rules of a few authorities ready, those of many packed.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import msgspec

from gossamer.model import Outcome, Response, Url
from gossamer.policy import RobotsVerdict
from gossamer.policy.robots import RobotsRules, product_token
from gossamer.policy.robots_state import (
    MAX_AGE_S,
    RobotsState,
    decide_robots,
    pack_state,
    unpack_state,
)
from gossamer.policy.size_limits import Allowance
from gossamer.urls import authority

MAX_REDIRECTS: Final = 5
"""How many redirects in a row are followed, also to other hosts (RFC 9309, section 2.3.1.2)."""

MAX_PROMISES: Final = 200_000
"""How many verdicts are remembered for who must wait for its turn; more hosts have no worker."""

LARGE_BYTES: Final = 16 * 1024
"""A file of this size, packed or not, is read in a thread, so that nobody else waits for it."""

ENTRY_BYTES: Final = 450
"""What an authority takes beside its rules."""

_T = TypeVar("_T")


class RobotsLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much memory may be used for rules."""

    ready_bytes: int = 16 * 1024 * 1024
    """For rules that are ready to be asked; the largest file takes about as much."""
    packed_bytes: int = 128 * 1024 * 1024
    """For packed rules: 100,000 authorities with a kilobyte each."""
    large_bytes: int = 32 * 1024 * 1024
    """For packed rules of large files."""


class _Pending(msgspec.Struct):
    """A running fetch. It continues as long as somebody waits for it."""

    task: asyncio.Task[RobotsState]
    waiting: int = 0


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
        limits: RobotsLimits | None = None,
    ) -> None:
        self._agent = product_token(user_agent)
        self._fetch = fetch
        self._clock = clock
        self._memory = RobotsMemory(limits or RobotsLimits())
        self._verdicts: dict[Url, tuple[RobotsVerdict, float]] = {}
        """The verdicts on URLs that wait for their turn, and until when each holds."""
        self._pending: dict[str, _Pending] = {}

    async def judge(self, url: Url, allowance: Allowance | None = None) -> RobotsVerdict:
        """Return whether the URL may be fetched; may first have to fetch its robots.txt.

        That is received within the allowance of the first who needs it.
        """
        return (await self._state(url, allowance)).judge(url)

    async def rules(self, url: Url, allowance: Allowance | None = None) -> RobotsRules | None:
        """Return the rules of the URL's authority; None while they are unreachable."""
        return (await self._state(url, allowance)).rules

    def remember_verdict(self, url: Url, verdict: RobotsVerdict) -> None:
        """Remember the verdict on a URL that waits for its turn, also if its rules are forgotten.

        Otherwise the file might be fetched again and again, and the page never, where there are
        more authorities than can be remembered.
        """
        self._verdicts[url] = verdict, self._clock() + MAX_AGE_S
        if len(self._verdicts) > MAX_PROMISES:
            del self._verdicts[next(iter(self._verdicts))]

    def known_verdict(self, url: Url) -> RobotsVerdict | None:
        """Return whether the URL may be fetched, if that is known without a request or waiting."""
        verdict, until = self._verdicts.pop(url, (None, 0.0)) if self._verdicts else (None, 0.0)
        state = self._fresh(authority(url))
        if state is not None:
            return state.judge(url)
        return verdict if self._clock() < until else None

    def known_delay_s(self, url: Url) -> float | None:
        """Return the Crawl-delay of the URL's authority, if that is known without a request."""
        packed = self._memory.packed(authority(url))
        return packed.crawl_delay_s if packed and self._clock() < packed.check_at else None

    def _fresh(self, key: str) -> RobotsState | None:
        """Return a valid state, if it is there at once."""
        state = self._memory.get(key)
        return state if state is not None and self._clock() < state.check_at else None

    async def _state(self, url: Url, allowance: Allowance | None) -> RobotsState:
        """Return a valid state, fetched if it has to be.

        A caller joins a running fetch; one that is cancelled cancels nobody else.
        """
        key = authority(url)
        if (state := self._fresh(key)) is not None:
            return state
        pending = self._pending.get(key)
        if pending is None:
            task = asyncio.create_task(self._refresh(key, allowance or Allowance()))
            pending = self._pending[key] = _Pending(task)
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
        previous = self._memory.get(key)
        if previous is None and (large := self._memory.packed(key)) is not None:
            previous = await asyncio.to_thread(unpack_state, large.packed)
            self._memory.make_ready(key, previous)
        if previous is not None and self._clock() < previous.check_at:
            return previous
        response = await self._fetch(Url(f"{key}/robots.txt"), allowance)
        for _ in range(MAX_REDIRECTS):
            if response.outcome is not Outcome.REDIRECTED or response.target is None:
                break
            response = await self._fetch(response.target, allowance)
        # The rules apply to the authority of the first request, wherever they came from.
        arguments = response, self._agent, previous, self._clock(), time.time()
        if len(response.body) < LARGE_BYTES:
            state, packed = _decide(*arguments)
        else:
            state, packed = await asyncio.to_thread(_decide, *arguments)
        self._memory.keep(key, state, packed)
        return state


class PackedRobots(msgspec.Struct, frozen=True, gc=False):
    """The packed state of a robots.txt, and what is asked for without its rules."""

    packed: bytes
    check_at: float
    crawl_delay_s: float | None

    @property
    def is_large(self) -> bool:
        """Whether unpacking takes a while."""
        return len(self.packed) >= LARGE_BYTES


def _decide(
    response: Response, agent: str, previous: RobotsState | None, now: float, wall_s: float
) -> tuple[RobotsState, PackedRobots]:
    state = decide_robots(response, agent, previous, now, wall_s)
    delay_s = state.rules.crawl_delay_s if state.rules else None
    return state, PackedRobots(pack_state(state), state.check_at, delay_s)


class RobotsMemory:
    """The states of the robots.txt of all authorities, ready or packed."""

    def __init__(self, limits: RobotsLimits) -> None:
        self._ready: _LimitedCache[RobotsState] = _LimitedCache(limits.ready_bytes)
        self._small: _LimitedCache[PackedRobots] = _LimitedCache(limits.packed_bytes)
        self._large: _LimitedCache[PackedRobots] = _LimitedCache(limits.large_bytes)

    def get(self, key: str) -> RobotsState | None:
        """Return the state of an authority; None if it is not known, or large and packed."""
        state = self._ready.get(key)
        if state is None and (packed := self._small.get(key)) is not None:
            state = unpack_state(packed.packed)
            self.make_ready(key, state)
        return state

    def packed(self, key: str) -> PackedRobots | None:
        """Return the packed state of an authority; None if it is not known."""
        return self._small.get(key) or self._large.get(key)

    def keep(self, key: str, state: RobotsState, packed: PackedRobots) -> None:
        """Remember a state."""
        size = ENTRY_BYTES + len(key) + len(packed.packed)
        (self._small if packed.is_large else self._large).drop(key)
        (self._large if packed.is_large else self._small).put(key, packed, size)
        self.make_ready(key, state)

    def make_ready(self, key: str, state: RobotsState) -> None:
        """Have a state ready that was packed."""
        rules = state.rules.footprint_bytes if state.rules else 0
        self._ready.put(key, state, ENTRY_BYTES + rules)


class _LimitedCache(Generic[_T]):
    """Values of authorities up to a number of bytes; the least recently used are forgotten."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[str, tuple[_T, int]] = OrderedDict()
        self.bytes = 0

    def get(self, key: str) -> _T | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]

    def put(self, key: str, value: _T, size: int) -> None:
        self.drop(key)
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._max_bytes and len(self._values) > 1:
            self.drop(next(iter(self._values)))

    def drop(self, key: str) -> None:
        _, size = self._values.pop(key, (None, 0))
        self.bytes -= size
