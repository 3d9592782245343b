"""The options that are stored with a crawl, for whoever reads it later."""

import msgspec

from gossamer.config import ScopeName
from gossamer.errors import CrawlError
from gossamer.frontier.budget import Budget
from gossamer.urls import Scope, parse_seed


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
