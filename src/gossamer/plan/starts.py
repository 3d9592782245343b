"""Where a crawl starts: at its seeds, in files or not, and at sitemaps that were named."""

from typing import Protocol

from gossamer.model import Url
from gossamer.stores.directory import name_for, name_for_file
from gossamer.urls import parse_seed


class StartOptions(Protocol):
    """The options that say where a crawl starts, given or stored."""

    @property
    def seeds(self) -> tuple[str, ...]:
        """The URLs to start from."""

    @property
    def seed_files(self) -> tuple[str, ...]:
        """The files with more of them."""

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """Which sitemaps are read."""


def named_sitemaps(options: StartOptions) -> list[Url]:
    """Return the sitemaps that were named."""
    return [parse_seed(one, "sitemap") for one in options.sitemaps if one not in {"auto", "off"}]


def starts_of(options: StartOptions) -> list[Url]:
    """Return the seeds that were named; sitemaps count as such where there are no seeds at all."""
    has_seeds = options.seeds or options.seed_files
    return [parse_seed(one) for one in options.seeds] if has_seeds else named_sitemaps(options)


def own_name(options: StartOptions) -> str:
    """Return the name of a crawl that was given none: by its seed, its sitemap or its file."""
    if options.seeds:
        return name_for(parse_seed(options.seeds[0]))
    if sitemaps := named_sitemaps(options):
        return name_for(sitemaps[0])
    return name_for_file(options.seed_files[0])
