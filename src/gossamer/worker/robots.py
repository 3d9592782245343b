"""The first step of the page path: what robots.txt says of a task.

It is fetched under the rules of the frontier: a request like any other to its host.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from gossamer.download.client import Client
from gossamer.download.options import PRODUCT, Accept
from gossamer.download.robots import RobotsCache, RobotsLimits
from gossamer.frontier.contract import FrontierClient, HostFeedback, Settlement, Task
from gossamer.frontier.rules import SchedulerRules
from gossamer.model import Cause, HostKey, Response, Url
from gossamer.policy import RobotsVerdict
from gossamer.policy.size_limits import Allowance
from gossamer.urls import host_key
from gossamer.worker.in_flight import LeaseGuard, LeaseLostError
from gossamer.worker.settlements import feedback_of, refused

if TYPE_CHECKING:
    from gossamer.worker.context import WorkerContext


class TooLittleLeftError(Exception):
    """What is left of the budget is too little for an answer, which is to be tried again."""

    def __init__(self, feedback: HostFeedback | None = None) -> None:
        super().__init__()
        self.feedback = feedback
        """What the answer told about its host, as far as it came; None: that is known already."""


class HeldSlot:
    """A task's slot at its host, to be used for robots.txt while the task waits for that."""

    def __init__(self, delay_s: float) -> None:
        self.delay_s = delay_s
        """The pause between two requests on it."""
        self.feedback: HostFeedback | None = None
        """Of the last request on this slot; None: there was none."""
        self.holders = 0
        self.turn = asyncio.Lock()
        """Held by whoever has a request on its way."""


class PoliteRobots:
    """Asks for robots.txt while a task of the host is held.

    The task's slot at the host is used, so the file is fetched at once. A redirect may lead to
    another host: if a task of that one waits for its robots.txt as well, its slot is shared, one
    request after another; if not, a slot is taken from the frontier. Whoever waits for a slot has
    no request on its way, so hosts that keep each other's robots.txt do not wait for ever.
    """

    def __init__(
        self,
        client: Client,
        store: FrontierClient,
        domain_of: Callable[[str], str],
        clock: Callable[[], float],
        lease_s: float = SchedulerRules().lease_s,
        limits: RobotsLimits | None = None,
    ) -> None:
        self._client = client
        self._store = store
        self._domain_of = domain_of
        self._clock = clock
        self._lease_s = lease_s
        self.cache = RobotsCache(PRODUCT, self._fetch, time.monotonic, limits)
        self._held: dict[HostKey, HeldSlot] = {}

    @asynccontextmanager
    async def holding(self, host: HostKey, delay_s: float) -> AsyncIterator[HeldSlot]:
        """Let robots.txt be fetched on the slot that the caller has at this host.

        When this is over, nothing is on its way there any more.
        """
        slot = self._held.setdefault(host, HeldSlot(delay_s))
        slot.holders += 1
        try:
            yield slot
        finally:
            slot.holders -= 1
            if not slot.holders:
                del self._held[host]
                async with slot.turn:
                    pass

    def known(self, url: Url) -> RobotsVerdict | None:
        """Return whether the URL may be fetched, if that is known without asking anybody."""
        return self.cache.known_verdict(url)

    async def judge(self, url: Url, allowance: Allowance | None = None) -> RobotsVerdict:
        """Return whether the URL may be fetched; a `TooLittleLeftError` if nobody can know yet."""
        return await self.cache.judge(url, allowance)

    async def _fetch(self, url: Url, allowance: Allowance) -> Response:
        response = await self._fetch_politely(url, allowance)
        if response.cause is Cause.OVER_BUDGET and allowance.is_short:
            raise TooLittleLeftError
        return response

    async def _fetch_politely(self, url: Url, allowance: Allowance) -> Response:
        host = host_key(url)
        slot = self._held.get(host)
        if slot is not None:
            async with slot.turn:
                if self._held.get(host) is slot:
                    return await self._fetch_on(slot, url, allowance)
        return await self._fetch_elsewhere(url, host, allowance)

    async def _fetch_on(self, slot: HeldSlot, url: Url, allowance: Allowance) -> Response:
        """Fetch on a slot whose turn is ours."""
        if slot.feedback is not None:
            await self._sleep_until(slot.feedback.ended + slot.delay_s)
        try:
            response = await self._client.fetch(
                url, Accept.ANYTHING, allowance, pause_s=slot.delay_s
            )
        except BaseException:
            slot.feedback = HostFeedback(ended=self._clock())
            raise
        slot.feedback = feedback_of(response, self._clock())
        return response

    async def _fetch_elsewhere(self, url: Url, host: HostKey, allowance: Allowance) -> Response:
        """Fetch on a slot of the frontier."""
        domain = self._domain_of(host)
        asked_at = self._clock()
        while (moment := await self._store.acquire_robots_slot(host, domain, asked_at)) is not None:
            await self._sleep_until(moment)
            asked_at = self._clock()
        feedback = HostFeedback(ended=0.0)
        try:
            async with asyncio.timeout(asked_at + self._lease_s - self._clock()):
                response = await self._client.fetch(url, Accept.ANYTHING, allowance, pause_s=None)
            feedback = feedback_of(response, self._clock())
        except TimeoutError as error:
            raise LeaseLostError from error
        finally:
            now = self._clock()
            feedback = msgspec.structs.replace(feedback, ended=now)
            await self._store.release_robots_slot(host, domain, feedback, now)
        return response

    async def _sleep_until(self, moment: float) -> None:
        # Again and again, because a timer may fire a moment early.
        while (wait_s := moment - self._clock()) > 0:  # noqa: ASYNC110 -- there is no event
            await asyncio.sleep(wait_s)


IGNORED = RobotsVerdict(reason="robots.txt is ignored for this host, as the operator said")


class RobotsCheck:
    """Judges tasks by the robots.txt of their hosts, and asks for it where it is not known."""

    def __init__(self, context: "WorkerContext") -> None:
        self._context = context

    def known(self, task: Task) -> RobotsVerdict | None:
        """Return the verdict on a task if it is known without asking its host."""
        if task.host in self._context.ignored_robots:
            return IGNORED
        return self._context.robots.known(task.url)

    async def ask(self, guard: LeaseGuard) -> tuple[RobotsVerdict, HostFeedback | None]:
        """Ask for robots.txt; return the verdict, and what was learnt of the host's pace.

        None: somebody else's request was enough. Sitemaps that it announces are added.
        """
        return await guard.during(lambda: self._fetch(guard.task, guard.allowance))

    def refusal(self, task: Task, verdict: RobotsVerdict, asked: HostFeedback | None) -> Settlement:
        """Return how a task ends that may not be fetched, or not yet."""
        wait_s = None if verdict.retry_at is None else verdict.retry_at - time.monotonic()
        now, retries = self._context.clock(), self._context.retries
        return refused(task, verdict, asked, now, wait_s, retries=retries)

    async def _fetch(
        self, task: Task, allowance: Allowance
    ) -> tuple[RobotsVerdict, HostFeedback | None]:
        robots, sitemaps = self._context.robots, self._context.sitemaps
        async with robots.holding(task.host, task.delay_s) as slot:
            verdict = await robots.judge(task.url, allowance)
            rules = await robots.cache.rules(task.url, allowance)
        if rules is not None and sitemaps is not None:
            await sitemaps.announce(task, rules.sitemaps)
        feedback = slot.feedback
        if feedback is None:
            return verdict, None
        if rules is not None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=rules.crawl_delay_s)
        if verdict.allowed:
            # For the task's next turn, after the host's rest.
            robots.cache.remember_verdict(task.url, verdict)
        return verdict, feedback
