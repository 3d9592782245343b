"""`gossamer crawl`: the command that crawls."""

from pathlib import Path

from gossamer.cli.crawling import crawl_from
from gossamer.cli.options import with_options


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
    return crawl_from({"seeds": seeds or None, **given}, config)
