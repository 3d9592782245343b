"""`gossamer frontier` and `gossamer worker`: the roles of a shared crawl, each as a process."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter

from gossamer.cli.parameters import CrawlName, StoreUrl
from gossamer.cli.signals import run_until_signalled
from gossamer.cluster import FrontierRole, Membership, Participant, Role, WorkerRole
from gossamer.config import CrawlOptions, load
from gossamer.coordinator import Observer
from gossamer.errors import UsageError
from gossamer.modules import load_modules
from gossamer.observe import DisplayOptions, open_observer

EXIT_INTERRUPTED = 130

Run = Callable[[Observer], Coroutine[object, object, str]]

Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", show_default=False)]
Insecure = Annotated[bool, Parameter(name="--insecure-store", negative="", show_default=False)]
Attached = Annotated[bool, Parameter(name="--attached", negative="", show_default=False)]


def frontier(
    *,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    insecure_store: Insecure = False,
    attached: Attached = False,
    quiet: Quiet = False,
) -> int:
    """Score the URLs of a shared crawl and assign them to workers. A second frontier stands by.

    Parameters
    ----------
    store
        The store of the crawl: redis://HOST; prefer the variable GOSSAMER_STORE for passwords,
        since other users of the machine can see the command line.
    crawl
        The name of the crawl.
    insecure_store
        Accept a store on another machine without a password or TLS.
    attached
        Leave the crawl when standard input ends, as it does when the parent process is gone.
    quiet
        Show errors only.

    """
    own = _own_options(
        store=store, name=crawl, insecure_store=insecure_store or None, quiet=quiet or None
    )

    async def run(observer: Observer) -> str:
        def say(words: str) -> None:
            observer.say("info", words)

        async def make_role(member: Membership) -> Role:
            return FrontierRole(member)

        return await run_until_signalled(Participant(own, say, make_role), say, attached=attached)

    return _run(own, run)


def worker(
    *,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    number: Annotated[int | None, Parameter(name="--id", show_default=False)] = None,
    directory: Annotated[Path | None, Parameter(name="--dir", show_default=False)] = None,
    alone: Annotated[bool, Parameter(name="--alone", negative="", show_default=False)] = False,
    insecure_store: Insecure = False,
    attached: Attached = False,
    quiet: Quiet = False,
) -> int:
    """Fetch and process pages of a shared crawl until it is finished.

    A worker may join at any time. Ctrl-C or SIGTERM finishes what is in progress and leaves.

    Parameters
    ----------
    store
        The store of the crawl: redis://HOST; prefer the variable GOSSAMER_STORE for passwords,
        since other users of the machine can see the command line.
    crawl
        The name of the crawl.
    number
        The number of this worker; by default the next free one.
    directory
        The directory for the results of modules; auto names it after the seed.
    alone
        Use one core only.
    insecure_store
        Accept a store on another machine without a password or TLS.
    attached
        Leave the crawl when standard input ends, as it does when the parent process is gone.
    quiet
        Show errors only.

    """
    if number is not None and number < 0:
        raise UsageError(f"the number of a worker cannot be {number}: give 0 or more")
    own = _own_options(
        store=store,
        name=crawl,
        dir=directory and str(directory),
        insecure_store=insecure_store or None,
        quiet=quiet or None,
    )

    async def run(observer: Observer) -> str:
        def say(words: str) -> None:
            observer.say("info", words)

        async def make_role(member: Membership) -> Role:
            modules = load_modules(member.plan.options.module)
            me = await member.notes.new_worker() if number is None else number
            say(f"worker {me} joins the crawl {member.plan.name}")
            return WorkerRole(member, me, modules, observer, alone=alone)

        return await run_until_signalled(Participant(own, say, make_role), say, attached=attached)

    return _run(own, run)


def _own_options(**given: object) -> CrawlOptions:
    return load(given, os.environ).options


def _run(own: CrawlOptions, run: Run) -> int:
    display = DisplayOptions(log_format=own.log_format, quiet=own.quiet)
    with open_observer(display, sys.stdout, sys.stderr, os.environ) as observer:
        try:
            ended_by = uvloop.run(run(observer))
        except asyncio.CancelledError:
            return EXIT_INTERRUPTED
        observer.say("info", "left the crawl" if ended_by == "interrupted" else "the crawl is over")
        return 0
