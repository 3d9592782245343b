"""Runs `gossamer` again and again, and ends it with SIGKILL at a chosen step.

Everything is imported once; for each job, one line of JSON on standard input, a process is forked
that is the command as people run it. The answer is two lines: its process id, and how it ended,
with a 1 if a step was fatal, else a 0.

A job may name a step, such as `after Frontier._record`, and at which passing of it the process
kills itself: the coordinator, or a worker, but only the first that comes to it; or a worker that
kills its coordinator before. So the package knows nothing of these tests, and a step that is
renamed is noticed.
"""

import inspect
import mmap
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NoReturn

import msgspec

import gossamer.cli.crawl
import gossamer.cli.main
import gossamer.coordinator.engine
from gossamer.coordinator.crawl import Crawl
from gossamer.download.client import Client
from gossamer.frontier.depths import LinkGraph
from gossamer.frontier.memory import CrawlMemory, PageMemory
from gossamer.frontier.politeness import HostRegistry
from gossamer.frontier.service import Frontier
from gossamer.frontier.state import FrontierState
from gossamer.frontier.url_memory import UrlMemory
from gossamer.frontier.waiting import WaitingUrls
from gossamer.modules.runner import ModuleRunner
from gossamer.stores.directory import CrawlDirectory
from gossamer.stores.sqlite.file import Checkpoints
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.worker.robots import PoliteRobots

OWNERS: dict[str, object] = {
    "Checkpoints": Checkpoints,
    "Client": Client,
    "CrawlDirectory": CrawlDirectory,
    "CrawlMemory": CrawlMemory,
    "Frontier": Frontier,
    "FrontierState": FrontierState,
    "HostRegistry": HostRegistry,
    "LinkGraph": LinkGraph,
    "ModuleRunner": ModuleRunner,
    "PageMemory": PageMemory,
    "Path": Path,
    "PoliteRobots": PoliteRobots,
    "SqliteRows": SqliteRows,
    "UrlMemory": UrlMemory,
    "WaitingUrls": WaitingUrls,
    "os": os,
}


class DriverJob(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the command."""

    arguments: list[str]
    output: str
    """The file that gets what the command prints."""
    step: str | None = None
    """Where it dies: `before` or `after` a call of an owner, or `within os.writev`."""
    passing: int = 1
    """At which passing of the step."""
    role: Literal["coordinator", "worker", "both"] = "coordinator"
    """Who dies; both: at the step of a worker."""
    commit_every_s: float | None = None
    """How often is committed at least; as soon as that, if somebody waits for it."""
    commit_routing: bool = False
    """Whether each step that follows shorter paths is committed before the next one."""
    dns: dict[str, str] | None = None


def main(lines: Iterable[str]) -> None:
    for line in lines:
        job = msgspec.json.decode(line, type=DriverJob)
        fatal = FatalStep(job)
        child = os.fork()
        if not child:
            become(job, fatal)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), int(fatal.was_taken), flush=True)


class FatalStep:
    """The step at which one process of the command dies, in memory that all of them share."""

    def __init__(self, job: DriverJob) -> None:
        self._moment, _, self._call = (job.step or "").partition(" ")
        self._passing = job.passing
        self._is_for_worker = job.role != "coordinator"
        self._is_for_both = job.role == "both"
        self._coordinator = 0
        self._passed = 0
        self._memory = mmap.mmap(-1, 1)

    @property
    def was_taken(self) -> bool:
        """Whether a process has died of it."""
        return self._memory[0] == 1

    def arm(self) -> None:
        """Have this process, or a worker of it, die when it takes the step for that time."""
        self._coordinator = os.getpid()
        owner, _, name = self._call.partition(".")
        original = getattr(OWNERS[owner], name)

        async def async_step(*arguments: object, **named: object) -> object:
            if self._is_due("before"):
                self._die()
            result = await original(*arguments, **named)
            if self._is_due("after"):
                self._die()
            return result

        def plain_step(*arguments: object, **named: object) -> object:
            if self._is_due("before"):
                self._die()
            if self._is_due("within"):
                write_half(original, *arguments)
                self._die()
            result = original(*arguments, **named)
            if self._is_due("after"):
                self._die()
            return result

        is_async = inspect.iscoroutinefunction(original)
        setattr(OWNERS[owner], name, async_step if is_async else plain_step)

    def _is_due(self, moment: str) -> bool:
        is_worker = os.getpid() != self._coordinator
        if moment != self._moment or is_worker != self._is_for_worker or self.was_taken:
            return False
        self._passed += 1
        return self._passed == self._passing

    def _die(self) -> NoReturn:
        self._memory[0] = 1
        if self._is_for_both:
            os.kill(self._coordinator, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


def become(job: DriverJob, fatal: FatalStep) -> NoReturn:
    """Be the command."""
    output = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["gossamer", *job.arguments]
    if job.dns is not None:
        vars(gossamer.cli.crawl)["Crawl"] = partial(Crawl, dns=job.dns)
    if job.commit_every_s is not None:
        engine = vars(gossamer.coordinator.engine)
        engine["COMMIT_EVERY_S"] = job.commit_every_s
        engine["COMMIT_PAUSE_S"] = min(engine["COMMIT_PAUSE_S"], job.commit_every_s)
    if job.commit_routing:
        commit_routing()
    if job.step is not None:
        fatal.arm()
    try:
        gossamer.cli.main.run()
    except SystemExit as end:
        # To take the interpreter down takes longer than the crawl, and shows nothing.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)


def commit_routing() -> None:
    """Have each step that routes made durable at once."""
    route = Frontier.route

    async def durable(self: Frontier, draws: Sequence[Sequence[int]], now: float) -> int:
        done = await route(self, draws, now)
        await self.commit()
        return done

    setattr(Frontier, "route", durable)  # noqa: B010 -- a method of another class


def write_half(writev: Callable[..., int], descriptor: object, parts: object) -> None:
    """Stop in the middle of writing a file."""
    assert isinstance(parts, Sequence)
    whole = b"".join(parts)
    writev(descriptor, [whole[: len(whole) // 2]])


if __name__ == "__main__":
    main(sys.stdin)
