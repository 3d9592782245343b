"""Our own failures, as opposed to what happens to a URL (that is `model.Outcome`).

    GossamerError
    ├── UsageError       the user asked for something that cannot be; exit code 2
    └── CrawlError       the crawl itself could not go on; exit code 1

Every message is one sentence for a person: what was wrong, where, and what to do about it.
"""


class GossamerError(Exception):
    """The root of everything Gossamer raises on purpose."""


class UsageError(GossamerError):
    """An argument, option or setting is wrong; nothing was started."""


class CrawlError(GossamerError):
    """The crawl failed and cannot go on; what was delivered before is whole."""
