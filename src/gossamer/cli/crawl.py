"""`gossamer crawl`: the command that crawls."""

import asyncio
import os
import shlex
import signal
import sys
from pathlib import Path

import msgspec
import uvloop

from gossamer.cli.options import with_options
from gossamer.config import load
from gossamer.control import Crawl, Observer, Plan, Summary
from gossamer.modules import load_modules
from gossamer.observe import Wish, open_observer

EXIT_INTERRUPTED = 130


@with_options
def crawl(*seeds: str, config: Path | None = None, **given: object) -> int:
    """Crawl from the seeds: every page in scope once, politely, until all is done or a budget ends.

    Running the same command again continues where it ended. Ctrl-C finishes what is in work.

    Parameters
    ----------
    seeds
        The URLs to begin with.
    config
        A TOML file of options; those given here go first, then variables GOSSAMER_….
    """
    loaded = load({"seeds": seeds or None, **given}, os.environ, config)
    options = loaded.options
    plan = Plan(options)
    modules = load_modules(options.module)
    wish = Wish(log_format=options.log_format, verbose=options.verbose, quiet=options.quiet)
    with open_observer(wish, sys.stdout, sys.stderr, os.environ) as observer:
        summary = uvloop.run(_run(Crawl(plan, modules, observer), observer))
        if summary.ended_by == "interrupted":
            again = shlex.join(["gossamer", *sys.argv[1:]])
            summary = msgspec.structs.replace(summary, continue_with=again)
        observer.close(summary)
    return EXIT_INTERRUPTED if summary.ended_by == "interrupted" else 0


async def _run(one: Crawl, observer: Observer) -> Summary:
    """Run the crawl; the first signal ends it softly, the second at once."""
    running = asyncio.ensure_future(one.run())
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        observer.say("info", "finishing what is in work; once more to stop at once")
        one.stop()
        for number in signals:
            loop.add_signal_handler(number, running.cancel)

    for number in signals:
        loop.add_signal_handler(number, stop)
    return await running
