"""The first step of the page path: what robots.txt says of a task."""

import time

import msgspec

from gossamer.download import Allowance
from gossamer.frontier.contract import Settlement, Task
from gossamer.frontier.host_feedback import HostFeedback
from gossamer.policy import RobotsVerdict
from gossamer.worker import settlements
from gossamer.worker.context import WorkerContext
from gossamer.worker.lease_guard import LeaseGuard

IGNORED = RobotsVerdict(reason="robots.txt is ignored for this host, as the operator said")


class RobotsCheck:
    """Judges tasks by the robots.txt of their hosts, and asks for it where it is not known."""

    def __init__(self, context: WorkerContext) -> None:
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
        return settlements.refused(task, verdict, asked, now, wait_s, retries=retries)

    async def _fetch(
        self, task: Task, allowance: Allowance
    ) -> tuple[RobotsVerdict, HostFeedback | None]:
        robots, sitemaps = self._context.robots, self._context.sitemaps
        async with robots.holding(task.host, task.delay_s) as slot:
            verdict = await robots.judge(task.url, allowance)
            rules = await robots.rules(task.url, allowance)
        if rules is not None and sitemaps is not None:
            await sitemaps.announce(task, rules.sitemaps)
        feedback = slot.feedback
        if feedback is None:
            return verdict, None
        if rules is not None:
            feedback = msgspec.structs.replace(feedback, crawl_delay_s=rules.crawl_delay_s)
        if verdict.allowed:
            robots.promise(task.url, verdict)  # for the task's next turn, after the host's rest
        return verdict, feedback
