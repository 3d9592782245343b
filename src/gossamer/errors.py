"""The exceptions of Gossamer itself; what happens to a URL is a `model.Outcome` instead.

    GossamerError
    ├── UsageError         an argument, option or setting is wrong; exit code 2
    ├── CrawlError         the crawl could not continue; exit code 1
    └── PageRefusedError   nobody takes pages any more; stays inside the crawl

Every message is one sentence for a person: what was wrong, where, and what to do about it.
"""


class GossamerError(Exception):
    """The base class of every exception that Gossamer raises on purpose."""


class UsageError(GossamerError):
    """An argument, option or setting is wrong; nothing was started."""


class CrawlError(GossamerError):
    """The crawl failed and cannot continue; what it delivered before is complete."""


class PageRefusedError(GossamerError):
    """Nobody takes pages any more: this one is not settled, and comes again some other time."""
