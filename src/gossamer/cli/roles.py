"""`gossamer frontier` and `gossamer worker`: the roles of a shared crawl, each as a process."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
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
from gossamer.observe import Wish, open_observer

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
    """Score and deal the URLs of a shared crawl, until it is over. A second one stands by.

    Parameters
    ----------
    store
        Where the crawl is: redis://HOST; better set as the variable GOSSAMER_STORE, since other
        users of the machine can read a password here.
    crawl
        The name of the crawl.
    insecure_store
        Accept a foreign store without a password or TLS.
    attached
        Leave when standard input ends, as it does when whoever started this is gone.
    quiet
        Tell nothing but errors.

    """
    own = _own_options(
        store=store, crawl=crawl, insecure_store=insecure_store or None, quiet=quiet or None
    )

    async def run(observer: Observer) -> str:
        def say(words: str) -> None:
            observer.say("info", words)

        async def cast(member: Membership) -> Role:
            return FrontierRole(member)

        return await run_until_signalled(Participant(own, say, cast), say, attached=attached)

    return _play(own, run)


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
    """Take part in a shared crawl: fetch, read and settle pages until it is over.

    It may join at any time. Ctrl-C or SIGTERM finishes what is in progress and leaves.

    Parameters
    ----------
    store
        Where the crawl is: redis://HOST; better set as the variable GOSSAMER_STORE, since other
        users of the machine can read a password here.
    crawl
        The name of the crawl.
    number
        The number of this worker; by default one that no other has.
    directory
        Where the results of modules go; auto makes a name from the seed.
    alone
        Use one core only.
    insecure_store
        Accept a foreign store without a password or TLS.
    attached
        Leave when standard input ends, as it does when whoever started this is gone.
    quiet
        Tell nothing but errors.

    """
    if number is not None and number < 0:
        raise UsageError(f"the number of a worker cannot be {number}: count from 0")
    own = _own_options(
        store=store,
        crawl=crawl,
        dir=directory and str(directory),
        insecure_store=insecure_store or None,
        quiet=quiet or None,
    )

    async def run(observer: Observer) -> str:
        def say(words: str) -> None:
            observer.say("info", words)

        async def cast(member: Membership) -> Role:
            modules = load_modules(member.plan.options.module)
            me = await member.notes.new_worker() if number is None else number
            say(f"worker {me} joins the crawl {member.plan.name}")
            return WorkerRole(member, me, modules, observer, alone=alone)

        return await run_until_signalled(Participant(own, say, cast), say, attached=attached)

    return _play(own, run)


def _own_options(**given: object) -> CrawlOptions:
    return load(given, os.environ).options


def _play(own: CrawlOptions, run: Run) -> int:
    with _observed(own) as observer:
        try:
            ended_by = uvloop.run(run(observer))
        except asyncio.CancelledError:
            return EXIT_INTERRUPTED
        observer.say("info", "left the crawl" if ended_by == "interrupted" else "the crawl is over")
        return 0


@contextmanager
def _observed(own: CrawlOptions) -> Iterator[Observer]:
    wish = Wish(log_format=own.log_format, quiet=own.quiet)
    with open_observer(wish, sys.stdout, sys.stderr, os.environ) as observer:
        yield observer
