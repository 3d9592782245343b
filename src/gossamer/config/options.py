"""Everything that can be set for a crawl: declared here once, in the order of the help page.

The command line, the keys of a TOML file, the variables and the documentation follow from it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, get_args

from gossamer.config.declaration import Group, declared_options
from gossamer.config.kinds import choice, many, or_none, switch
from gossamer.config.quantities import duration, integer, share, size
from gossamer.config.store_address import IN_DIRECTORY, StoreAddress, store_address
from gossamer.config.texts import folder, for_header, pattern, text, web_address
from gossamer.errors import UsageError

ScopeName = Literal["host", "domain", "prefix", "any"]
LogFormat = Literal["text", "json"]

OPEN_PAGERANK = "https://openpagerank.com/api/v1.0/getPageRank"
_HOUR_S = 3600.0
_MANY = 10**12


class OptionConflictError(UsageError):
    """Options that are right alone do not go together."""

    def __init__(self, names: tuple[str, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.names = names


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """The options of a crawl, checked: what is wrong is a `UsageError` that says how to mend it."""

    seeds: Annotated[tuple[str, ...], many(text()), Group.SCOPE] = ()
    """The URLs to begin with."""
    scope: Annotated[ScopeName, choice(*get_args(ScopeName)), Group.SCOPE] = "host"
    """Which links to follow: to the seeds' hosts, to their registered domains with all hosts,
    to URLs under a seed's directory (prefix), or any."""
    depth: Annotated[int | None, or_none(integer(0, 1_000_000)), Group.SCOPE] = None
    """How many links away from a seed to go; 0 is the seeds alone."""
    include: Annotated[tuple[str, ...], many(text(pattern)), Group.SCOPE] = ()
    """A regular expression that URLs must match to be followed; may be repeated, and one match
    is enough."""
    exclude: Annotated[tuple[str, ...], many(text(pattern)), Group.SCOPE] = ()
    """A regular expression that URLs must not match to be followed; may be repeated."""
    markers: Annotated[str | None, or_none(text()), Group.SCOPE] = None
    """Take links only from between two of these comments, such as `<!-- CONTENT -->`."""

    delay_s: Annotated[float, duration(0.0, 24 * _HOUR_S), Group.POLITENESS] = 1.0
    """The pause between two requests to a host; robots.txt or the host may ask for more, and
    0s is for your own servers."""
    host_connections: Annotated[int, integer(1, 1000), Group.POLITENESS] = 1
    """How many requests to a host may run at once; above 1 only with --delay 0s."""
    user_agent: Annotated[str | None, or_none(text(for_header), "auto"), Group.POLITENESS] = None
    """The User-Agent to send; auto names Gossamer, its version and the contact."""
    contact: Annotated[str | None, or_none(text(for_header)), Group.POLITENESS] = None
    """A page or mail address where site owners can reach you, sent with every request."""
    ignore_robots: Annotated[tuple[str, ...], many(text(), commas=True), Group.POLITENESS] = ()
    """A host of your own whose robots.txt is not obeyed; may be repeated."""
    allow_network: Annotated[tuple[str, ...], many(text(), commas=True), Group.POLITENESS] = ()
    """A private network, address, address:port or host name that may be contacted; may be
    repeated."""

    max_pages: Annotated[int, integer(1, _MANY), Group.LIMITS] = 10_000
    """Stop after this many pages."""
    max_bytes: Annotated[int, size(1, 10**15), Group.LIMITS] = 50_000_000
    """Stop after this many bytes of pages."""
    max_page_bytes: Annotated[int, size(1, 10**9), Group.LIMITS] = 500_000
    """The largest page to keep; a larger one is not downloaded to its end."""
    timeout_s: Annotated[float, duration(0.001, _HOUR_S), Group.LIMITS] = 30.0
    """The longest that one request may take, from the name look-up to the last byte."""
    connections: Annotated[int, integer(1, 10_000), Group.LIMITS] = 100
    """How many requests may run at once, in all."""

    workers: Annotated[int, integer(0, 1000), Group.FRONTIER] = 1
    """How many workers share the work; a host is with one of them at a time. 0 leaves it to
    workers elsewhere, with a store that is shared."""
    scorer: Annotated[str, text(), Group.FRONTIER] = "auto"
    """What decides which URL comes first: a name, package.module:object or ./file.py:object;
    auto chooses by the scope and by what is known of the hosts."""
    pagerank_key: Annotated[str | None, or_none(text(for_header)), Group.FRONTIER] = field(
        default=None, repr=False
    )
    """The key for the PageRank service; prefer the variable GOSSAMER_PAGERANK_KEY, which other
    users of the machine cannot see."""

    dir: Annotated[Path | None, or_none(folder(), "auto"), Group.STORAGE] = None
    """The directory for the state and the results of the crawl; auto makes a name from the seed."""
    store: Annotated[StoreAddress, store_address(), Group.STORAGE] = IN_DIRECTORY
    """Where the state is kept: memory:, sqlite:PATH, without PATH a file in the directory, or
    redis://HOST, a server for workers on many machines; prefer the variable GOSSAMER_STORE for
    passwords."""
    insecure_store: Annotated[bool, switch(), Group.STORAGE] = False
    """Accept a store on another machine without a password or TLS."""
    name: Annotated[str | None, or_none(text(), "auto"), Group.STORAGE] = None
    """The name of the crawl in a shared store; auto makes one from the seed."""
    fresh: Annotated[bool, switch(), Group.STORAGE] = False
    """Start over: what an earlier crawl left in the directory is removed."""
    similarity: Annotated[float | None, or_none(share(), "off"), Group.STORAGE] = 0.9
    """A page at least this similar to one that was seen is dropped; with 1 only the same content
    is, and off keeps all."""
    ttl_s: Annotated[float, duration(1.0, 8760 * _HOUR_S), Group.STORAGE] = _HOUR_S
    """How long links and pages are remembered, to know them when they come again."""

    module: Annotated[tuple[str, ...], many(text()), Group.OUTPUT] = ("noop",)
    """What to do with each page: a name, package.module:object or ./file.py:object; may be
    repeated."""
    log_format: Annotated[LogFormat, choice(*get_args(LogFormat)), Group.OUTPUT] = "text"
    """Progress for people (text) or for machines (json: one object a line)."""
    verbose: Annotated[bool, switch(), Group.OUTPUT, "-v"] = False
    """Log every step."""
    quiet: Annotated[bool, switch(), Group.OUTPUT, "-q"] = False
    """Show errors only."""

    queues: Annotated[int, integer(1, 101), Group.ADVANCED] = 10
    """How many priority queues there are for the scores from 0 to 100."""
    url_queue: Annotated[int, integer(1, _MANY), Group.ADVANCED] = 10_000
    """How many URLs may wait for their score."""
    worker_queue: Annotated[int, integer(1, _MANY), Group.ADVANCED] = 10_000
    """How many URLs may wait for one worker."""
    lease_s: Annotated[float, duration(1.0, _HOUR_S), Group.ADVANCED] = 30.0
    """How long the work of a worker that has fallen silent is kept for it, before others do it; for
    a store that is shared."""
    draw_seed: Annotated[int, integer(0, 2**63 - 1), Group.ADVANCED] = 0
    """Where the random draw of queues begins: the same number gives the same draw."""
    pagerank_url: Annotated[str, text(web_address), Group.ADVANCED] = OPEN_PAGERANK
    """Where the PageRank service is."""

    def __post_init__(self) -> None:
        """Check every value, put it into its one form, and check that they go together."""
        for option in OPTIONS:
            object.__setattr__(self, option.field, option.take(getattr(self, option.field)))
        for conflict in _conflicts(self):
            raise conflict

    @property
    def in_a_hurry(self) -> bool:
        """Whether somebody crawls a server of his own, as fast as it goes."""
        return self.host_connections > 1


OPTIONS = declared_options(CrawlOptions)
"""The options in the order of their declaration."""


def _conflicts(options: CrawlOptions) -> Iterator[OptionConflictError]:
    if options.host_connections > 1 and options.delay_s > 0:
        yield OptionConflictError(
            ("host-connections", "delay"),
            f"host-connections {options.host_connections} needs a delay of 0s, because requests "
            "at the same time leave no pause between them: give both for your own servers, or "
            "neither",
        )
    if not options.workers and options.store.scheme != "redis":
        yield OptionConflictError(
            ("workers", "store"),
            "workers 0 leaves the work to others, who need a store that is shared: give at least "
            "1, or a store such as redis://HOST",
        )
    if options.connections < options.workers:
        yield OptionConflictError(
            ("connections", "workers"),
            f"connections {options.connections} cannot be shared by {options.workers} workers, "
            "each of which needs one: raise connections or lower workers",
        )
    if options.connections < options.host_connections:
        yield OptionConflictError(
            ("connections", "host-connections"),
            f"connections {options.connections}, the number in all, is less than "
            f"host-connections {options.host_connections}: raise the one or lower the other",
        )
    if options.quiet and options.verbose:
        yield OptionConflictError(
            ("quiet", "verbose"), "quiet and verbose exclude each other: choose one"
        )
