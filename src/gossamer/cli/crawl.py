"""`gossamer crawl`: the command that crawls."""

import os
from contextlib import nullcontext
from pathlib import Path

from gossamer.cli.options import with_options
from gossamer.config import CrawlOptions, load
from gossamer.content.started_parser import StartedParser, has_spare_core
from gossamer.stores.registry import kind_of


@with_options
def crawl(*seeds: str, config: Path | None = None, **given: object) -> int:
    """Crawl from the seeds: every page in scope once, until no URLs or no budget is left.

    Run the same command again to continue. Ctrl-C finishes what is in progress.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    options = load({"seeds": seeds or None, **given}, os.environ, config).options
    with _parser(options) or nullcontext() as parser:
        # Loading this takes as long as the process that was just started.
        from gossamer.cli.crawling import run_crawl  # noqa: PLC0415

        return run_crawl(options, parser)


def _parser(options: CrawlOptions) -> StartedParser | None:
    """Start a parser process if it will be needed; the crawl itself reports if it cannot start."""
    if not options.in_a_hurry or kind_of(options.store).shared or not has_spare_core():
        return None
    try:
        return StartedParser()
    except OSError:
        return None
