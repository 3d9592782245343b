"""The run of a crawl from the command line: signals, output and exit code."""

import asyncio
import gc
import os
import shlex
import sys
from functools import partial

import msgspec
import uvloop

from gossamer.cli.signals import run_until_signalled
from gossamer.cluster.launcher import Launcher
from gossamer.config import CrawlOptions
from gossamer.coordinator import Crawl, Observer, Summary
from gossamer.modules import load_modules
from gossamer.observe import DisplayOptions, open_observer
from gossamer.plan import Plan

EXIT_INTERRUPTED = 130


def run_crawl(options: CrawlOptions, launcher: Launcher) -> int:
    """Crawl, show the progress, and return the exit code."""
    plan = Plan(options)
    modules = load_modules(options.module)  # reports a wrong one before anything starts
    display = DisplayOptions(
        log_format=options.log_format, verbose=options.verbose, quiet=options.quiet
    )
    gc.freeze()  # what is loaded now stays: the collector need not scan it
    with open_observer(display, sys.stdout, sys.stderr, os.environ) as observer:

        async def run() -> Summary:  # a scorer may ask for the event loop when it is made
            crawl = Crawl(plan, modules, observer, launcher=lambda: launcher)
            return await run_until_signalled(crawl, partial(observer.say, "info"))

        try:
            summary = uvloop.run(run())
        except asyncio.CancelledError:
            observer.say("warning", f"stopped at once; continue with: {_same_command(options)}")
            return EXIT_INTERRUPTED
        return _conclude(summary, options, observer)


def _conclude(summary: Summary, options: CrawlOptions, observer: Observer) -> int:
    """Show the summary and return the exit code."""
    if summary.was_over:
        budget = summary.ended_by in {"max-pages", "max-bytes"}
        raising = f"raise --{summary.ended_by} to continue, or " if budget else ""
        observer.say("info", f"this crawl is finished; {raising}use --fresh to start over")
    interrupted = summary.ended_by == "interrupted"
    if interrupted:
        summary = msgspec.structs.replace(summary, continue_with=_same_command(options))
    observer.close(summary)
    return EXIT_INTERRUPTED if interrupted else 0


def _same_command(options: CrawlOptions) -> str:
    """Return the command that continues this crawl, with its secrets hidden."""
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    secrets = {options.store.url: str(options.store), options.pagerank_key or "": "***"}
    for secret, shown in secrets.items():
        words = [word.replace(secret, shown) if secret else word for word in words]
    return shlex.join(["gossamer", *words])
