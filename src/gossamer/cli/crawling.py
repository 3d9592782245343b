"""Runs a crawl for a person at a terminal, or for a script."""

import asyncio
import gc
import os
import shlex
import sys

import msgspec
import uvloop

from gossamer.cli.signals import run_until_signalled
from gossamer.config import CrawlOptions
from gossamer.content.started_parser import StartedParser
from gossamer.coordinator import Crawl, Observer, Plan, Summary
from gossamer.modules import load_modules
from gossamer.observe import Wish, open_observer

EXIT_INTERRUPTED = 130


def run_crawl(options: CrawlOptions, parser: StartedParser | None) -> int:
    """Crawl, tell how it goes, and return the exit code."""
    plan = Plan(options)
    load_modules(options.module)  # what is wrong with one is told before anything is done
    wish = Wish(log_format=options.log_format, verbose=options.verbose, quiet=options.quiet)
    gc.freeze()  # what was loaded stays: no need to look through it for garbage again and again
    with open_observer(wish, sys.stdout, sys.stderr, os.environ) as observer:
        try:
            summary = uvloop.run(_run(plan, observer, parser))
        except asyncio.CancelledError:
            observer.say("warning", f"stopped at once; continue with: {_same_command(options)}")
            return EXIT_INTERRUPTED
        return _conclude(summary, options, observer)


async def _run(plan: Plan, observer: Observer, parser: StartedParser | None) -> Summary:
    """Run the crawl, in this process or in several; the first signal ends it softly."""

    def say(words: str) -> None:
        observer.say("info", words)

    if plan.options.store.scheme == "redis":
        from gossamer.cluster import SharedCrawl  # noqa: PLC0415 -- not needed by others

        return await run_until_signalled(SharedCrawl(plan, observer), say)
    modules = load_modules(plan.options.module)
    return await run_until_signalled(Crawl(plan, modules, observer, parser=parser), say)


def _conclude(summary: Summary, options: CrawlOptions, observer: Observer) -> int:
    """Say the last words and return the exit code."""
    if summary.was_over:
        budget = summary.ended_by in {"max-pages", "max-bytes"}
        raising = f"raise --{summary.ended_by} to go on, or " if budget else ""
        observer.say("info", f"this crawl is finished; {raising}use --fresh to crawl anew")
    interrupted = summary.ended_by == "interrupted"
    if interrupted:
        summary = msgspec.structs.replace(summary, continue_with=_same_command(options))
    observer.close(summary)
    return EXIT_INTERRUPTED if interrupted else 0


def _same_command(options: CrawlOptions) -> str:
    """Return the command that goes on with this crawl, with its secrets hidden."""
    words = [word for word in sys.argv[1:] if word != "--fresh"]
    secrets = {options.store.url: str(options.store), options.pagerank_key or "": "***"}
    for secret, shown in secrets.items():
        words = [word.replace(secret, shown) if secret else word for word in words]
    return shlex.join(["gossamer", *words])
