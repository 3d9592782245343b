"""`gossamer crawl`: the command that crawls."""

import os
from pathlib import Path

from gossamer.cli.crawling import run_crawl
from gossamer.cli.options import with_options
from gossamer.cluster.launcher import Launcher
from gossamer.config import load


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
    # Forked now, it shares what is loaded, and loads what only workers need beside this process.
    launcher = Launcher.fork()
    try:
        return run_crawl(options, launcher)
    finally:
        launcher.let_go()
