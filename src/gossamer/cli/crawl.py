"""`gossamer crawl`: the command that crawls."""

import gc
import os
import sys
from functools import partial
from pathlib import Path

import msgspec

from gossamer.cli.parameters import with_options
from gossamer.cli.signals import run_stoppable
from gossamer.config import CrawlOptions, load
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan, check_given_fields
from gossamer.coordinator.processes.launcher import Launcher
from gossamer.coordinator.resume import command_to_continue, crawl_command
from gossamer.coordinator.seed_files import check_seed_files
from gossamer.coordinator.summary import Summary
from gossamer.display import open_observer
from gossamer.frontier.contract import RetryRequest
from gossamer.model.errors import ExitCode
from gossamer.modules.loading import load_modules


def crawl_with(options: CrawlOptions, retry: RetryRequest | None = None) -> int:
    """Crawl with worker processes, and return the exit code; first have failed URLs wait again."""
    # Forked now, it shares what is loaded, and loads what only workers need beside this process.
    launcher = Launcher.fork()
    try:
        return run_crawl(options, launcher, retry)
    finally:
        launcher.let_go()


def run_crawl(options: CrawlOptions, launcher: Launcher, retry: RetryRequest | None = None) -> int:
    """Crawl, show the progress, and return the exit code."""
    plan = Plan(options)
    modules = load_modules(options.module)  # reports a wrong one before anything starts
    gc.freeze()  # what is loaded now stays: the collector need not scan it
    gc.set_threshold(20_000, 20, 20)
    shown = {"verbose": options.verbose, "quiet": options.quiet}
    with open_observer(
        sys.stdout, sys.stderr, os.environ, log_format=options.log_format, **shown
    ) as observer:
        make = partial(Crawl, plan, modules, observer, launcher=lambda: launcher, to_retry=retry)
        summary = run_stoppable(make, observer)
        if summary is None:
            again = command_to_continue(plan, "interrupted", os.environ)
            message = "stopped at once" + (f"; continue with: {again}" if again else "")
            observer.say("warning", message)
            return ExitCode.INTERRUPTED
        return _conclude(_with_commands(summary, plan), observer)


def _conclude(summary: Summary, observer: Observer) -> int:
    """Show the summary and return the exit code."""
    if summary.was_over:
        budget = summary.ended_by in {"max-pages", "max-bytes"}
        raising = f"raise --{summary.ended_by} to continue, or " if budget else ""
        again = f"{raising}start over with 'gossamer crawl … --fresh'"
        observer.say("info", f"this crawl is finished; {again}")
    observer.close(summary)
    return summary.exit_code


def _with_commands(summary: Summary, plan: Plan) -> Summary:
    """Return the summary with the commands that get at the pages, if only the store has them."""
    store = plan.options.store
    if store.scheme == "memory" and plan.options.module == ("noop",):
        return msgspec.structs.replace(summary, directory="")  # nothing was kept there
    if plan.options.module != ("noop",) or plan.options.output or store.scheme == "memory":
        return summary
    return msgspec.structs.replace(
        summary,
        list_with=crawl_command(plan, os.environ, "pages"),
        save_with=crawl_command(plan, os.environ, "replay", "--module", "save"),
    )


@with_options
def crawl(*seeds: str, config: Path | None = None, **flags: object) -> int:
    """Crawl from the seeds: every page in scope once, until no URLs or no budget is left.

    Run the same command again to continue. Ctrl-C finishes what is in progress.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    flags["seeds"] = seeds or None
    options = load(flags, os.environ, config).options
    check_seed_files(options.seed_files)  # before anything is made
    check_given_fields(flags, options)
    return crawl_with(options)
