"""`gossamer resume`: the command that goes on with a crawl."""

from functools import partial
from pathlib import Path

from gossamer.cli.continuing import UNCHANGEABLE, CrawlDir, options_of
from gossamer.cli.crawling import crawl_with
from gossamer.cli.options import with_options


@partial(with_options, unchangeable=UNCHANGEABLE)
def resume(directory: CrawlDir = None, /, *, config: Path | None = None, **given: object) -> int:
    """Go on with a crawl that was stopped, was killed or has reached a limit.

    Options and modules are stored with the crawl, so it needs no others. Those that are given
    replace the stored ones, and are stored in turn; what makes the crawl, such as its scope, stays.
    Secrets are not stored: set GOSSAMER_STORE and GOSSAMER_PAGERANK_KEY again, where they are
    needed.

    Parameters
    ----------
    directory
        The directory of the crawl.
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    return crawl_with(options_of(directory, given, config))
