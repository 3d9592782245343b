"""The options that are stored with a crawl, for its other processes and its readers."""

from typing import Any

import msgspec

from gossamer.config import OPTIONS, CrawlOptions, ScopeName
from gossamer.errors import CrawlError
from gossamer.frontier.budget import Budget
from gossamer.urls import Scope, parse_seed

LOCAL = frozenset(
    {
        *("dir", "store", "insecure_store", "name", "fresh"),
        *("pagerank_key", "log_format", "verbose", "quiet"),
    }
)
"""What each process has of its own: where it is, how it shows itself, and its secrets."""


class StoredOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a crawl was last run with, as far as they were kept with it."""

    seeds: tuple[str, ...]
    scope: ScopeName
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    max_pages: int | None = None
    max_bytes: int | None = None
    max_page_bytes: int | None = None
    ttl_s: float | None = None
    queues: int | None = None
    similarity: float | msgspec.UnsetType | None = msgspec.UNSET
    module: tuple[str, ...] = ()

    def scope_of_crawl(self) -> Scope:
        """Return what belongs to the crawl."""
        seeds = [parse_seed(seed) for seed in self.seeds]
        return Scope.for_seeds(self.scope, seeds, self.include, self.exclude)

    def budget(self, pages: int, size: int) -> Budget | None:
        """Return the budgets with so much used up; None if they were not kept."""
        if self.max_pages is None or self.max_bytes is None:
            return None
        budget = Budget(self.max_pages, self.max_bytes, self.max_page_bytes or 0)
        budget.pages, budget.bytes = pages, size
        return budget


def read_options(note: bytes | None, where: object) -> StoredOptions | None:
    """Return the options that were kept with a crawl, if they were."""
    if note is None:
        return None
    try:
        return msgspec.json.decode(note, type=StoredOptions)
    except msgspec.DecodeError as error:
        raise CrawlError(f"the options in {where} are damaged: {error}") from error


def pack_options(options: CrawlOptions) -> bytes:
    """Return the options that all processes share."""
    return msgspec.json.encode(
        {
            option.field: getattr(options, option.field)
            for option in OPTIONS
            if option.field not in LOCAL
        }
    )


def unpack_options(note: bytes, own: CrawlOptions) -> CrawlOptions:
    """Return the options of the crawl for a process that has its own ones besides."""
    try:
        shared = msgspec.json.decode(note, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CrawlError(f"the options of the crawl in the store are damaged: {error}") from error
    known = {option.field for option in OPTIONS}
    if unknown := sorted(shared.keys() - known):
        raise CrawlError(
            f"the crawl was begun by another version of Gossamer: {unknown[0]} is not known here"
        )
    values: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in shared.items()
    }
    values |= {name: getattr(own, name) for name in LOCAL}
    return CrawlOptions(**values)
