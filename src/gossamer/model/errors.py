"""Exit codes, our own errors, and the quoting of untrusted text for their messages."""

from collections.abc import Mapping
from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended, for whoever started it; docs/exit-codes.md says it to people."""

    DONE = 0
    """The crawl ended: no URLs were left, or a budget was used up."""
    FAILED = 1
    WRONG_USE = 2
    NO_SEED = 3
    """No seed could be fetched."""
    MODULE_FAILED = 4
    """A module failed on every page, could not be closed, or was given up."""
    INTERRUPTED = 130


class GossamerError(Exception):
    """The base class of every exception that Gossamer raises on purpose."""


class UsageError(GossamerError):
    """An argument, option or setting is wrong; nothing was started."""


class CrawlError(GossamerError):
    """The crawl failed and cannot continue; what it delivered before is complete."""


class OlderFormatError(CrawlError):
    """A crawl is stored in a format that only an older version can read."""


class NoSeedFetchedError(CrawlError):
    """None of the seeds could be fetched."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        listed = "; ".join(f"{seed}: {reason}" for seed, reason in reasons.items())
        super().__init__(f"no seed could be fetched: {listed}")
        self.reasons = dict(reasons)
        """For each seed, in words, what went wrong with it."""


class PageRefusedError(GossamerError):
    """Nobody takes pages any more: this one is not settled, and comes again some other time."""


def shown(text: str, limit: int = 100) -> str:
    """Return the text in quotes, cut, with control and invisible characters escaped.

    So no escape sequence or change of writing direction reaches a terminal.
    """
    escaped = repr(text[:limit])
    if len(text) <= limit and len(escaped) <= limit + 2:
        return escaped
    return f"{escaped[: limit + 1]}…{escaped[0]}"
