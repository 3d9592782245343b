"""`gossamer crawl`: the command that crawls."""

import os
from contextlib import nullcontext
from pathlib import Path

from gossamer.cli.options import with_options
from gossamer.config import CrawlOptions, load
from gossamer.content.started_parser import StartedParser, has_spare_core


@with_options
def crawl(*seeds: str, config: Path | None = None, **given: object) -> int:
    """Crawl from the seeds: every page in scope once, politely, until all is done or a budget ends.

    Running the same command again continues where it ended. Ctrl-C finishes what is in progress.

    Parameters
    ----------
    seeds
        The URLs to begin with.
    config
        A TOML file of options; those given here go first, then variables GOSSAMER_….
    """
    options = load({"seeds": seeds or None, **given}, os.environ, config).options
    with _parser(options) or nullcontext() as parser:
        # Takes as long to load as what was just started.
        from gossamer.cli.crawling import run_crawl  # noqa: PLC0415

        return run_crawl(options, parser)


def _parser(options: CrawlOptions) -> StartedParser | None:
    """Return a process that will be needed, if any; the crawl itself complains if it cannot be."""
    if not options.in_a_hurry or options.store.scheme == "redis" or not has_spare_core():
        return None
    try:
        return StartedParser()
    except OSError:
        return None
