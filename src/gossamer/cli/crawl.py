"""`gossamer crawl`: the command that crawls."""

import os
from pathlib import Path

from gossamer.cli.crawling import crawl_with
from gossamer.cli.options import with_options
from gossamer.config import load
from gossamer.coordinator.seed_source import check_seed_files


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
    check_seed_files(options.seed_files)  # before anything is made
    return crawl_with(options)
