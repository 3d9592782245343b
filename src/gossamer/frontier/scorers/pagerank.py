"""The scorer `pagerank`: the PageRank of the page's domain, from Open PageRank.

The crawl never depends on the service: a batch of URLs waits for it no longer than the time budget,
and domains without a rank are scored by the crawl's own links.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from gossamer.frontier.scorers.builtin import importance
from gossamer.frontier.scorers.contract import LAST, Closing
from gossamer.frontier.scorers.openpagerank import (
    Answer,
    Endpoint,
    Failure,
    Question,
    Ranks,
    batches,
    is_public_name,
)
from gossamer.model import Candidate

FAILURES_IN_A_ROW: Final = 4
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0
MAX_HOLD_S: Final = 3600.0
"""The longest pause that a server can ask for."""


class BreakerState(StrEnum):
    """Whether requests may be sent."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """A circuit breaker: decides from the last results whether to send a request."""

    def __init__(self) -> None:
        self._failures = self._pauses = 0
        self._ask_at: float | None = None
        """When the next request may be sent; None: it is closed."""
        self._is_probing = False

    def state(self, now: float) -> BreakerState:
        """Return its state."""
        if self._ask_at is None:
            return BreakerState.CLOSED
        is_half_open = self._is_probing or now >= self._ask_at
        return BreakerState.HALF_OPEN if is_half_open else BreakerState.OPEN

    def may_ask(self, now: float) -> bool:
        """Return whether a request may be sent now; if so, the caller sends it and reports back.

        When the result of a probe is never reported (its task was cancelled), the next one may be
        sent after another pause.
        """
        if self._ask_at is None:
            return True
        if now < self._ask_at:
            return False
        self._is_probing = True
        self._ask_at = now + self._pause_s()
        return True

    def succeeded(self) -> None:
        """Note a usable answer."""
        self._failures = self._pauses = 0
        self._ask_at, self._is_probing = None, False

    def failed(self, now: float) -> None:
        """Note that a request had no usable answer."""
        self._failures += 1
        tripped = self._ask_at is None and self._failures >= FAILURES_IN_A_ROW
        # A request that was sent before it opened and fails afterwards does not extend the pause.
        if tripped or self._is_probing:
            self._ask_at, self._is_probing = now + self._pause_s(), False
            self._pauses += 1

    def hold(self, now: float, pause_s: float) -> None:
        """Open at once, for as long as the server asks, within reason."""
        self._ask_at = max(self._ask_at or 0.0, now + min(pause_s, MAX_HOLD_S))
        self._is_probing = False

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 16), MAX_PAUSE_S)


class RankCache:
    """A cache of ranks, also of domains without one, limited in age and number.

    Every entry is kept equally long, so entries expire in the order in which they were added, and
    adding one takes constant time.
    """

    def __init__(self, max_domains: int, ttl_s: float) -> None:
        self._max_domains = max_domains
        self._ttl_s = ttl_s
        self._entries: dict[str, tuple[float, float | None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def known(self, domains: Iterable[str], now: float) -> dict[str, float | None]:
        """Return the cached ranks of these domains; None: the domain is not listed."""
        self._forget(now)
        entries = self._entries
        return {domain: entries[domain][1] for domain in domains if domain in entries}

    def add(self, ranks: Mapping[str, float | None], now: float) -> None:
        """Cache these ranks from now on."""
        for domain, rank in ranks.items():
            self._entries.pop(domain, None)
            self._entries[domain] = now + self._ttl_s, rank
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) <= self._max_domains and self._entries[oldest][0] > now:
                return
            del self._entries[oldest]


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]
"""Sends one request, follows no redirect, and raises OSError when there is no answer."""

_ATTEMPTS: Final = 3
_FIRST_BACK_OFF_S: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRankLimits:
    """Limits on the time and memory for ranks."""

    budget_s: float = 5.0
    """The longest that one batch of URLs waits, retries included."""
    cached_domains: int = 50_000
    """About 10 MB."""
    ttl_s: float = 24 * 3600.0
    """How long an answer is cached. The service itself updates its ranks every few weeks."""


class PageRank:
    """Fetches first the pages of domains that the whole web links to most (Open PageRank)."""

    name = "pagerank"
    strict = False

    def __init__(
        self,
        ask: Ask,
        endpoint: Endpoint,
        limits: PageRankLimits,
        *,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._ask = ask
        self._endpoint = endpoint
        self._budget_s = limits.budget_s
        self._cache = RankCache(limits.cached_domains, limits.ttl_s)
        self._breaker = Breaker()
        self._random = random.Random(seed)  # noqa: S311 - jitter, no secret
        self._clock = clock
        self._sleep = sleep
        self._calls = self._failures = 0
        self.trouble = ""
        """Why domains are not ranked now; empty if they are."""
        self.unranked = 0
        """How many URLs got no rank because the service did not answer."""

    def __repr__(self) -> str:
        return (
            f"<PageRank: {self._calls} calls, {self._failures} failed, "
            f"{len(self._cache)} domains known, breaker {self._breaker.state(self._clock())}>"
        )

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 100 minus ten times the PageRank, or an estimate.

        A domain that is not listed has few links from anywhere: it comes in the last tenth, where
        the crawl's own links decide. While the service is unreachable, those links decide alone.
        """
        domains = dict.fromkeys(candidate.domain for candidate in candidates)
        public = [domain for domain in domains if is_public_name(domain)]
        ranks = await self._ranks(public)
        missed = set(public).difference(ranks)
        self.unranked += sum(candidate.domain in missed for candidate in candidates)
        return [_score(candidate, ranks) for candidate in candidates]

    async def close(self) -> None:
        """Close what sends the requests, if it can be closed."""
        sender: object = self._ask
        if isinstance(sender, Closing):
            await sender.close()

    async def _ranks(self, domains: Sequence[str]) -> Ranks:
        """Return the ranks from the cache, or from the service within the time budget."""
        now = self._clock()
        deadline = now + self._budget_s
        ranks = self._cache.known(domains, now)
        for batch in batches([domain for domain in domains if domain not in ranks]):
            learned = await self._look_up(batch, deadline)
            if learned is None:
                break
            self._cache.add(learned, self._clock())
            ranks |= learned
        return ranks

    async def _look_up(self, domains: Sequence[str], deadline: float) -> Ranks | None:
        """Send requests until there is an answer, or no time or reason to try again."""
        for attempt in range(_ATTEMPTS):
            now = self._clock()
            if now >= deadline or not self._breaker.may_ask(now):
                return None
            self._calls += 1
            try:
                async with asyncio.timeout(deadline - now):
                    answer = await self._ask(self._endpoint.question(domains))
                result = self._endpoint.read(answer, domains)
            except OSError as error:  # TimeoutError is one
                result = Failure(f"no answer ({type(error).__name__})")
            if not isinstance(result, Failure):
                self._breaker.succeeded()
                self.trouble = ""
                return result
            pause_s = self._after_failure(result, attempt, deadline)
            if pause_s is None:
                return None
            await self._sleep(pause_s)
        return None

    def _after_failure(self, failure: Failure, attempt: int, deadline: float) -> float | None:
        """Note the failure; return how long to wait for the next attempt, None for no other."""
        now = self._clock()
        self._failures += 1
        self.trouble = f"Open PageRank: {failure.reason}; domains are ordered by the crawl's links"
        self._breaker.failed(now)
        back_off_s = _FIRST_BACK_OFF_S * 2.0**attempt * self._random.uniform(0.5, 1)
        pause_s = max(back_off_s, failure.hold_s or 0.0)
        is_closed = self._breaker.state(now) is BreakerState.CLOSED
        if is_closed and attempt + 1 < _ATTEMPTS and now + pause_s < deadline:
            return pause_s
        if failure.hold_s is not None:
            self._breaker.hold(now, failure.hold_s)
        return None


def _score(candidate: Candidate, ranks: Ranks) -> float:
    if candidate.domain not in ranks:
        return importance(candidate)
    rank = ranks[candidate.domain]
    if rank is None:
        return LAST - 10 + importance(candidate) / 10
    return LAST - 10 * rank
