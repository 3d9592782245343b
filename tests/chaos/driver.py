"""Runs `gossamer` again and again, and ends it with SIGKILL at a chosen step.

Everything is imported once; for each job, one line of JSON on standard input, a process is forked
that is the command as people run it. The answer is two lines: its process id, and how it ended.

A job may name a step, such as `after EmbeddedStore.settle`, and at which passing of it the process
kills itself. So the package knows nothing of these tests, and a step that is renamed is noticed.
"""

import inspect
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

import msgspec

import gossamer.cli.crawling
import gossamer.cli.main
import gossamer.coordinator.engine
from gossamer.coordinator import Crawl
from gossamer.download import Client
from gossamer.modules import ModuleRunner
from gossamer.stores.embedded.directory import CrawlDirectory
from gossamer.stores.embedded.sqlite import SqliteBackend
from gossamer.stores.embedded.sqlite.batch import Batch
from gossamer.stores.embedded.store import EmbeddedStore
from gossamer.worker import PoliteRobots

OWNERS: dict[str, object] = {
    "Batch": Batch,
    "Client": Client,
    "CrawlDirectory": CrawlDirectory,
    "EmbeddedStore": EmbeddedStore,
    "ModuleRunner": ModuleRunner,
    "Path": Path,
    "PoliteRobots": PoliteRobots,
    "SqliteBackend": SqliteBackend,
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
    commit_every_s: float | None = None
    dns: dict[str, str] | None = None


def main(lines: Iterable[str]) -> None:
    for line in lines:
        job = msgspec.json.decode(line, type=DriverJob)
        child = os.fork()
        if not child:
            become(job)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def become(job: DriverJob) -> NoReturn:
    """Be the command."""
    output = os.open(job.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["gossamer", *job.arguments]
    if job.dns is not None:
        vars(gossamer.cli.crawling)["Crawl"] = partial(Crawl, dns=job.dns)
    if job.commit_every_s is not None:
        vars(gossamer.coordinator.engine)["COMMIT_EVERY_S"] = job.commit_every_s
    if job.step is not None:
        arm(job.step, job.passing)
    try:
        gossamer.cli.main.run()
    except SystemExit as end:
        # To take the interpreter down takes longer than the crawl, and shows nothing.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)


def arm(step: str, passing: int) -> None:
    """Have the process die when it takes the step for that time."""
    moment, _, call = step.partition(" ")
    owner, _, name = call.partition(".")
    original = getattr(OWNERS[owner], name)
    taken = 0

    def is_due(this: str) -> bool:
        nonlocal taken
        taken += this == moment
        return this == moment and taken == passing

    async def async_step(*arguments: object, **named: object) -> object:
        if is_due("before"):
            die()
        result = await original(*arguments, **named)
        if is_due("after"):
            die()
        return result

    def plain_step(*arguments: object, **named: object) -> object:
        if is_due("before"):
            die()
        if is_due("within"):
            die_within(original, *arguments)
        result = original(*arguments, **named)
        if is_due("after"):
            die()
        return result

    is_async = inspect.iscoroutinefunction(original)
    setattr(OWNERS[owner], name, async_step if is_async else plain_step)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def die_within(writev: Callable[..., int], descriptor: object, parts: object) -> NoReturn:
    """Die in the middle of writing a file."""
    assert isinstance(parts, Sequence)
    whole = b"".join(parts)
    writev(descriptor, [whole[: len(whole) // 2]])
    die()


if __name__ == "__main__":
    main(sys.stdin)
