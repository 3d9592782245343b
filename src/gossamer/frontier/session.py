"""The session of one worker process at the frontier, which is in this process."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

from gossamer.channel import Contract, Served
from gossamer.channel.channel import methods_of
from gossamer.frontier.contract import FrontierClient, HostFeedback, Leased, Settled
from gossamer.frontier.service import Frontier
from gossamer.model import HostKey

LONGEST_WAIT_S = 1.0
"""How long a worker waits for a lease before it is told that there is none: often enough for it to
notice that it was asked to leave."""
ASK_AGAIN_S = 0.001
SETTLING = frozenset(
    {"settle", "claim_and_settle", "release", "put_cookies", "confirm_depth_changes"}
)
"""The methods whose answers say that something is settled."""
GIVING = SETTLING | {"lease", "renew", "claim", "acquire_robots_slot", "release_robots_slot"}
"""Those whose answers give something to a worker, too."""


class WorkerSession:
    """What one worker process calls of the frontier.

    Whoever asks for leases when there are none is not sent away: it gets the next ones as soon as
    there are any, without having to ask again and again. The slots that the worker holds for
    robots.txt are known, to be given back if it dies.
    """

    def __init__(
        self,
        frontier: Frontier,
        clock: Callable[[], float],
        *,
        longest_wait_s: float = LONGEST_WAIT_S,
        in_commits: bool = False,
        outlives: bool = False,
    ) -> None:
        """Prepare; with `longest_wait_s` 0 nobody waits, and the frontier's answers go as they are.

        `in_commits`: answers are part of commits by themselves. `outlives`: another process may
        take over the crawl while the worker lives, so everything that it is told must be durable.
        """
        self._frontier = frontier
        self._clock = clock
        self._longest_wait_s = longest_wait_s
        self._in_commits = in_commits
        self._outlives = outlives
        self._news = asyncio.Event()
        self._parked: int | None = None
        """The worker that waits for a lease."""
        self._waits_until = inf
        self._stopping = False
        self._slots: Counter[tuple[HostKey, str]] = Counter()

    def serve(self, contract: Contract[FrontierClient]) -> Served:
        """Return what the other end of the channel may call."""
        overrides: dict[str, Callable[..., Any]] = {
            "lease": self.lease,
            "acquire_robots_slot": self.acquire_robots_slot,
            "release_robots_slot": self.release_robots_slot,
            "close": self._frontier.commit,  # the frontier stays open for the others
        }
        return Served(
            contract=contract,
            target={**methods_of(contract, self._frontier), **overrides},
            at_once=frozenset({"lease"}),
            may_wait=self._may_wait,
            answer_later=self._answer_later,
        )

    def _answer_later(self, method: str, result: object, send: Callable[[], None]) -> bool:
        """Let an answer about something settled wait until that is durable.

        So nothing that a worker believes to be settled is ever lost. What it has leased need not be
        durable if it dies with this process.
        """
        methods = GIVING if self._outlives else SETTLING
        if self._in_commits or method not in methods or _is_nothing(result):
            return False
        self._frontier.when_durable(send)
        return True

    def _may_wait(self, method: str) -> bool:
        """Tell whether an answer may wait: a worker with room for more tasks is not held up."""
        return method in {"settle", "claim_and_settle"} and self._parked is not None

    def wake(self) -> None:
        """Check whether there is something to lease: URLs were assigned, or budget came back."""
        if self._parked is None:
            return
        wake_at = self._frontier.wake_at(self._parked, self._clock())
        # What was assigned may be due before what the worker waits for.
        if wake_at is not None and wake_at < self._waits_until:
            self._news.set()

    def stop(self) -> None:
        """Lease nothing more."""
        self._stopping = True
        self._news.set()

    async def take_back(self) -> None:
        """Free the slots that a worker which has ended held for robots.txt."""
        for (host, domain), count in self._slots.items():
            for _ in range(count):
                now = self._clock()
                await self._frontier.release_robots_slot(host, domain, HostFeedback(ended=now), now)
        self._slots.clear()

    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        """Lease URLs of hosts that are due; wait for some if there are none."""
        # What was settled while the call was on its way would count as settled in the future.
        now = max(now, self._clock())
        give_up_at = now + self._longest_wait_s
        try:
            while not self._stopping:
                self._news.clear()
                leased = await self._frontier.lease(worker, limit, now, referrers)
                if leased.tasks or not self._longest_wait_s:
                    return leased
                self._parked = worker
                await self._wait(leased.wake_at, now, give_up_at)
                now = self._clock()
                if now >= give_up_at:
                    break
        finally:
            self._parked = None
        return Leased([], now + ASK_AGAIN_S)

    async def _wait(self, wake_at: float | None, now: float, give_up_at: float) -> None:
        """Wait for news, or for the moment at which the next host is due."""
        # A host that is due already and is not leased waits for budget that others have reserved.
        until = give_up_at if wake_at is None or wake_at <= now else min(wake_at, give_up_at)
        self._waits_until = until
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, until - self._clock())):
                await self._news.wait()

    async def acquire_robots_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take a slot of the host for robots.txt; None: it is taken, else when to ask again."""
        moment = await self._frontier.acquire_robots_slot(host, domain, now)
        if moment is None:
            self._slots[host, domain] += 1
        return moment

    async def release_robots_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Free a slot that was taken for robots.txt."""
        self._slots[host, domain] -= 1
        await self._frontier.release_robots_slot(host, domain, feedback, now)


def _is_nothing(result: object) -> bool:
    """Tell whether an answer says that nothing has changed."""
    if isinstance(result, Leased):
        return not result.tasks
    return isinstance(result, Settled) and not result.accepted
