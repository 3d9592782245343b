"""The cache of robots.txt files: each is fetched when needed, once for all who wait for it.

`gossamer.policy.robots_state` decides what an answer means; this only fetches and keeps it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import msgspec

from gossamer.model import Outcome, Response, Url
from gossamer.policy import RobotsRules, RobotsState, RobotsVerdict, decide_robots, product_token
from gossamer.policy.robots_state import MAX_AGE_S, pack_state, unpack_state
from gossamer.policy.size_limits import Allowance
from gossamer.urls import authority

LARGE_BYTES: Final = 16 * 1024
"""A packed file of this size is large: unpacking it takes a while."""

ENTRY_BYTES: Final = 450
"""What an authority takes beside its rules."""


class RobotsLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much memory may be used for rules."""

    ready_bytes: int = 16 * 1024 * 1024
    """For those ready to be asked: the largest file takes about as much."""
    packed_bytes: int = 128 * 1024 * 1024
    """For those packed: 100,000 authorities with a kilobyte each."""
    large_bytes: int = 32 * 1024 * 1024
    """For those packed that are large."""


class PackedRobots(msgspec.Struct, frozen=True, gc=False):
    """The packed state of a robots.txt, and what is asked for without its rules."""

    packed: bytes
    check_at: float
    crawl_delay_s: float | None

    @property
    def is_large(self) -> bool:
        """Whether unpacking takes a while."""
        return len(self.packed) >= LARGE_BYTES

    def unpack(self) -> RobotsState:
        """Return the state."""
        return unpack_state(self.packed)


_Kept = TypeVar("_Kept")


class _Limited(Generic[_Kept]):
    """Values of authorities up to a number of bytes; the least recently used are forgotten."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[str, tuple[_Kept, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> _Kept | None:
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: str, value: _Kept, size: int) -> None:
        self.drop(key)
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._max_bytes and len(self._values) > 1:
            _, (_, forgotten) = self._values.popitem(last=False)
            self.bytes -= forgotten

    def drop(self, key: str) -> None:
        replaced = self._values.pop(key, None)
        if replaced is not None:
            self.bytes -= replaced[1]


class RobotsMemory:
    """The states of the robots.txt of all authorities, ready or packed."""

    def __init__(self, limits: RobotsLimits) -> None:
        self._ready: _Limited[RobotsState] = _Limited(limits.ready_bytes)
        self._small: _Limited[PackedRobots] = _Limited(limits.packed_bytes)
        self._large: _Limited[PackedRobots] = _Limited(limits.large_bytes)

    def __repr__(self) -> str:
        authorities, size = len(self._small) + len(self._large), self._small.bytes
        return f"{authorities} authorities, {size + self._large.bytes} bytes"

    def ready(self, key: str) -> RobotsState | None:
        """Return the state of an authority; None if it is packed, or not known."""
        return self._ready.get(key)

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


def pack(state: RobotsState) -> PackedRobots:
    """Return a state packed."""
    delay_s = state.rules.crawl_delay_s if state.rules else None
    return PackedRobots(pack_state(state), state.check_at, delay_s)


MAX_REDIRECTS: Final = 5
"""How many redirects in a row are followed, also to other hosts (RFC 9309, section 2.3.1.2)."""

MAX_PROMISES: Final = 200_000
"""How many verdicts are remembered for who must wait for its turn; more hosts have no worker."""

IN_THREAD_BYTES: Final = 16 * 1024
"""A file of this size is parsed in a thread, so that nobody else has to wait for it."""


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
        limits: RobotsLimits | None = None,
    ) -> None:
        self._agent = product_token(user_agent)
        self._fetch = fetch
        self._clock = clock
        self._memory = RobotsMemory(limits or RobotsLimits())
        self._promises: dict[Url, tuple[RobotsVerdict, float]] = {}
        """Verdicts, and until when they hold."""
        self._pending: dict[str, _Pending] = {}

    def __repr__(self) -> str:
        return (
            f"<RobotsCache for {self._agent}: {self._memory!r}, "
            f"{len(self._promises)} promises, {len(self._pending)} fetches>"
        )

    async def judge(self, url: Url, allowance: Allowance | None = None) -> RobotsVerdict:
        """Return whether the URL may be fetched; may first have to fetch its robots.txt.

        That is received within the allowance of the first who needs it.
        """
        return (await self._state(url, allowance or Allowance())).judge(url)

    async def rules(self, url: Url, allowance: Allowance | None = None) -> RobotsRules | None:
        """Return the rules of the URL's authority; None while they are unreachable."""
        return (await self._state(url, allowance or Allowance())).rules

    def remember_verdict(self, url: Url, verdict: RobotsVerdict) -> None:
        """Remember the verdict on a URL that waits for its turn, also if its rules are forgotten.

        Otherwise the file might be fetched again and again, and the page never, where there are
        more authorities than can be remembered.
        """
        self._promises[url] = verdict, self._clock() + MAX_AGE_S
        if len(self._promises) > MAX_PROMISES:
            del self._promises[next(iter(self._promises))]

    def known_verdict(self, url: Url) -> RobotsVerdict | None:
        """Return whether the URL may be fetched, if that is known without a request or waiting."""
        promised, until = self._promises.pop(url, (None, 0.0)) if self._promises else (None, 0.0)
        state = self._fresh(authority(url))
        if state is not None:
            return state.judge(url)
        return promised if self._clock() < until else None

    def known_delay_s(self, url: Url) -> float | None:
        """Return the Crawl-delay of the URL's authority, if that is known without a request."""
        packed = self._memory.packed(authority(url))
        return packed.crawl_delay_s if packed and self._clock() < packed.check_at else None

    def _fresh(self, key: str) -> RobotsState | None:
        """Return a valid state, if it is there at once."""
        state = self._memory.ready(key)
        if state is None:
            packed = self._memory.packed(key)
            if packed is None or packed.is_large:
                return None
            state = packed.unpack()
            self._memory.make_ready(key, state)
        return state if self._clock() < state.check_at else None

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
        previous = await self._recalled(key)
        if previous is not None and self._clock() < previous.check_at:
            return previous
        response = await self._fetch(Url(f"{key}/robots.txt"), allowance)
        for _ in range(MAX_REDIRECTS):
            if response.outcome is not Outcome.REDIRECTED or response.target is None:
                break
            response = await self._fetch(response.target, allowance)
        # The rules apply to the authority of the first request, wherever they came from.
        arguments = response, self._agent, previous, self._clock(), time.time()
        if len(response.body) < IN_THREAD_BYTES:
            state, packed = _decide(*arguments)
        else:
            state, packed = await asyncio.to_thread(_decide, *arguments)
        self._memory.keep(key, state, packed)
        return state

    async def _recalled(self, key: str) -> RobotsState | None:
        """Return the state that is remembered, valid or not."""
        state = self._memory.ready(key)
        packed = self._memory.packed(key) if state is None else None
        if packed is None:
            return state
        state = await asyncio.to_thread(packed.unpack) if packed.is_large else packed.unpack()
        self._memory.make_ready(key, state)
        return state


def _decide(
    response: Response, agent: str, previous: RobotsState | None, now: float, wall_s: float
) -> tuple[RobotsState, PackedRobots]:
    state = decide_robots(response, agent, previous, now, wall_s)
    return state, pack(state)
