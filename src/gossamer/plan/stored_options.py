"""The options that are stored with a crawl, for its other processes and its readers."""

from typing import Any, Literal

import msgspec

from gossamer.config import (
    OPTIONS,
    CrawlOptions,
    HostTable,
    OnOff,
    ScopeName,
    accepted_kinds,
    largest_body,
)
from gossamer.content import AnalysisRules, Markers
from gossamer.errors import CrawlError
from gossamer.frontier.budget import Budget
from gossamer.plan.host_limits import scope_finder
from gossamer.plan.starts import starts_of
from gossamer.policy.link_kinds import kinds_to_follow
from gossamer.policy.received import most_received
from gossamer.stores.notes import read_note
from gossamer.urls import Scope, SeedKeys, with_host_scopes

LOCAL = frozenset(
    {
        *("profile", "dir", "store", "insecure_store", "name", "fresh"),
        *("pagerank_key", "log_format", "verbose", "quiet"),
    }
)
"""What each process has of its own: where it is, how it shows itself, and its secrets."""


class StoredOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that a crawl was last run with, as far as they were kept with it."""

    seeds: tuple[str, ...]
    seed_files: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    scope: ScopeName
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    max_pages: int | None = None
    max_bytes: int | None = None
    max_page_bytes: int | None = None
    max_file_bytes: int = 0
    markers: str | None = None
    follow: tuple[str, ...] | None = None
    accept: tuple[str, ...] = ()
    revisit_s: float | None = None
    keep_s: float | Literal["forever"] | None = None
    queues: int | None = None
    url_queue: int | None = None
    similarity: float | msgspec.UnsetType | None = msgspec.UNSET
    module: tuple[str, ...] = ()
    cookies: bool = False
    traps: OnOff = "off"
    """Crawls of old versions were without."""
    host: dict[str, dict[str, Any]] = {}

    @property
    def may_keep_cookies(self) -> bool:
        """Whether the cookies of any host are kept."""
        return may_keep_cookies(self.cookies, self.host_table)

    @property
    def host_table(self) -> HostTable:
        """The rules for single hosts."""
        return HostTable.of(self.host)

    def scope_of_crawl(self, seed_keys: bytes | None = None) -> Scope:
        """Return what belongs to the crawl; `seed_keys` is the note of the seeds in files."""
        starts, more = starts_of(self), SeedKeys(seed_keys or b"")
        scope = Scope.for_seeds(self.scope, starts, self.include, self.exclude, more=more)
        if self.traps == "on":
            scope = scope.without_loops()
        scopes = scope_finder(self.host_table)
        return scope if scopes is None else with_host_scopes(scope, starts, scopes, more=more)

    def analysis_rules(self) -> AnalysisRules:
        """Return how kept pages are read."""
        accepted = accepted_kinds(self.accept)
        return AnalysisRules(
            markers=Markers.parse(self.markers) if self.markers else None,
            follow=kinds_to_follow(self.follow, accepted),
            accept=accepted,
        )

    @property
    def max_body_bytes(self) -> int | None:
        """The size of the largest body that is kept; None if that was not stored."""
        if self.max_page_bytes is None:
            return None
        return largest_body(self.accept, self.max_page_bytes, self.max_file_bytes)

    def budget(self, visits: int, received: int, short_at: int) -> Budget | None:
        """Return the budgets with so much used up; None if they were not kept."""
        if self.max_pages is None or self.max_bytes is None:
            return None
        budget = Budget(self.max_pages, self.max_bytes, most_received(self.max_body_bytes or 0))
        budget.pages, budget.received, budget.short_at = visits, received, short_at
        return budget


def may_keep_cookies(cookies: bool, hosts: HostTable) -> bool:
    """Return whether the cookies of any host are kept, by the option or by a rule."""
    return cookies or any(rule.values.get("cookies") for rule in hosts.rules)


def read_options(note: bytes | None, where: object) -> StoredOptions | None:
    """Return the options that were kept with a crawl, if they were."""
    return read_note(note, StoredOptions, f"the options in {where} are")


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
    values = stored_values(note) | {name: getattr(own, name) for name in LOCAL}
    return CrawlOptions(**values)


def stored_values(note: bytes) -> dict[str, Any]:
    """Return the options of the crawl by their fields."""
    try:
        shared = msgspec.json.decode(note, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CrawlError(f"the options of the crawl in the store are damaged: {error}") from error
    known = {option.field for option in OPTIONS}
    if unknown := sorted(shared.keys() - known):
        raise CrawlError(
            f"the crawl was begun by another version of Gossamer: {unknown[0]} is not known here"
        )
    return {name: tuple(one) if isinstance(one, list) else one for name, one in shared.items()}
