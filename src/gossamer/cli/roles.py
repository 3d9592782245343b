"""`gossamer frontier` and `gossamer worker`: the roles of a shared crawl, each as a process."""

import asyncio
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal, Protocol

import uvloop

from gossamer.cli.output import put_lines
from gossamer.cli.parameters import CrawlName, option, with_options
from gossamer.cli.signals import Stoppable, run_until_signalled
from gossamer.config import CrawlOptions, load
from gossamer.config.values import BadValueError, integer, or_none
from gossamer.coordinator.lead_redis import StandbyFrontier
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.processes.join import JoinedWorkers, check_health
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.display import open_observer
from gossamer.display.summary import module_failures
from gossamer.model.errors import ExitCode, UsageError
from gossamer.modules.module_stats import ModuleReport
from gossamer.urls import shown

JOINED = ("store", "insecure-store")
"""The options of a crawl that each role takes, beside the name of the crawl."""


@partial(with_options, only=JOINED)
def health(
    *,
    name: CrawlName = None,
    role: Literal["frontier", "worker"] | None = None,
    number: Annotated[
        int | None,
        option("--id", "The number of the worker that must be alive; without it, any worker."),
    ] = None,
    **flags: object,
) -> int:
    """Check that the store answers and that a process has the role; the exit code is 1 if not.

    Parameters
    ----------
    role
        The role that must be alive; without it, only the store is checked.
    """
    options = load({**flags, "name": name}, os.environ).options
    put_lines([asyncio.run(check_health(options, role, number))])
    return 0


class Role(Stoppable[str], Protocol):
    """What a process does in a crawl that others coordinate; it returns what ended that."""

    @property
    def is_working(self) -> bool:
        """Whether something is in progress that is to be finished."""

    def report(self) -> list[ModuleReport]:
        """Return the counts of the modules that ran here."""


@partial(with_options, only=(*JOINED, "pagerank-key", "quiet"))
def frontier(*, name: CrawlName = None, **flags: object) -> int:
    """Stand by for a shared crawl, and be its frontier while no gossamer crawl is.

    The frontier scores the URLs and assigns them to workers. One process leads at a time; when it
    dies, another one that stands by goes on within seconds.
    """
    options = load({**flags, "name": name}, os.environ).options
    return _run(options, lambda observer: StandbyFrontier(options, observer))


@partial(with_options, only=(*JOINED, "dir", "quiet"))
def worker(
    *,
    name: CrawlName = None,
    number: Annotated[
        int | None, option("--id", "The number of this worker; by default the next free one.")
    ] = None,
    workers: Annotated[
        str | None,
        option(
            "--workers",
            "How many worker processes to run, by default 1; auto starts one, and more while there "
            "is work for them, up to the number of cores.",
        ),
    ] = None,
    **flags: object,
) -> int:
    """Fetch and process pages of a shared crawl until it is finished.

    Workers may join at any time. A process that dies is replaced by one with the same number.
    Ctrl-C or SIGTERM finishes what is in progress and leaves. For a crawl on this machine with a
    Redis of its own its directory is enough (--dir). The outputs of the crawl (-o of gossamer
    crawl) have their pages too.
    """
    if number is not None and number < 0:
        raise UsageError(f"the number of a worker cannot be {number}: give 0 or more")
    count = _count(workers)
    if number is not None and count != 1:
        raise UsageError("--id is the number of one worker: leave it or --workers out")
    options = load({**flags, "name": name}, os.environ).options
    launcher = Launcher.fork()
    try:
        return _run(options, lambda log: JoinedWorkers(options, log, launcher, count, number))
    finally:
        launcher.let_go()


def _count(workers: str | None) -> int | None:
    """Return how many workers are wanted; None: as many as there is work for."""
    if workers is None:
        return 1
    try:
        return or_none(integer(1, 1000), "auto").take(workers)
    except BadValueError as error:
        raise UsageError(f"--workers {shown(workers)}: {error}") from error


def _run(options: CrawlOptions, make_role: Callable[[Observer], Role]) -> int:
    """Take part in a crawl until it is over or a signal comes; return the exit code."""
    with open_observer(
        sys.stdout, sys.stderr, os.environ, log_format=options.log_format, quiet=options.quiet
    ) as observer:
        role = make_role(observer)
        try:
            ended_by = uvloop.run(run_until_signalled(role, partial(observer.say, "info")))
        except asyncio.CancelledError:
            return ExitCode.INTERRUPTED
        is_left = ended_by in {None, "interrupted"}
        observer.say("info", "left the crawl" if is_left else "the crawl is over")
        for failure in (failures := module_failures(role.report())):
            observer.say("error", failure)
        return ExitCode.MODULE_FAILED if failures else ExitCode.DONE
