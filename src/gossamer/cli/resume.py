"""`gossamer resume`: the command that continues a crawl."""

from functools import partial
from pathlib import Path

from gossamer.cli.continuing import UNCHANGEABLE, CrawlDir, options_of
from gossamer.cli.crawling import crawl_with
from gossamer.cli.options import with_options


@partial(with_options, unchangeable=UNCHANGEABLE)
def resume(directory: CrawlDir = None, /, *, config: Path | None = None, **given: object) -> int:
    """Continue a crawl that was stopped, was killed or has reached a limit.

    Options and modules are stored with the crawl, so none have to be given again. Those that are
    given replace the stored ones, and are stored in turn; what defines the crawl, such as its
    scope, cannot change. Secrets are not stored: where they are needed, set GOSSAMER_STORE and
    GOSSAMER_PAGERANK_KEY again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    return crawl_with(options_of(directory, given, config))
