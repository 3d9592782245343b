"""The options of a crawl, each declared once, in the order of the help page.

The command line, the TOML keys, the environment variables and the documentation derive from it.
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
    """Two options, each valid by itself, exclude each other."""

    def __init__(self, names: tuple[str, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.names = names


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions:
    """The options of a crawl, checked: a wrong one is a `UsageError` that says how to fix it."""

    seeds: Annotated[tuple[str, ...], many(text()), Group.SCOPE] = ()
    """The URLs to start from."""
    scope: Annotated[ScopeName, choice(*get_args(ScopeName)), Group.SCOPE] = "host"
    """Which links to follow: to the seeds' hosts, to their registered domains with all hosts,
    to URLs under a seed's directory (prefix), or any."""
    depth: Annotated[int | None, or_none(integer(0, 1_000_000)), Group.SCOPE] = None
    """Follow links up to this far from a seed; 0 fetches the seeds only."""
    include: Annotated[tuple[str, ...], many(text(pattern)), Group.SCOPE] = ()
    """Follow only URLs that match this regular expression; may be repeated, and one match is
    enough."""
    exclude: Annotated[tuple[str, ...], many(text(pattern)), Group.SCOPE] = ()
    """Do not follow URLs that match this regular expression; may be repeated."""
    markers: Annotated[str | None, or_none(text()), Group.SCOPE] = None
    """Take links only from between two of these comments, such as `<!-- CONTENT -->`."""

    delay_s: Annotated[float, duration(0.0, 24 * _HOUR_S), Group.POLITENESS] = 1.0
    """The pause between two requests to a host; robots.txt or the server may ask for more. Use
    0s for your own servers only."""
    host_connections: Annotated[int, integer(1, 1000), Group.POLITENESS] = 1
    """How many requests to a host may run at once; above 1 only with --delay 0s."""
    user_agent: Annotated[str | None, or_none(text(for_header), "auto"), Group.POLITENESS] = None
    """The User-Agent to send; auto names Gossamer, its version and the contact."""
    contact: Annotated[str | None, or_none(text(for_header)), Group.POLITENESS] = None
    """A page or mail address where site owners can reach you, sent with every request."""
    ignore_robots: Annotated[tuple[str, ...], many(text(), commas=True), Group.POLITENESS] = ()
    """Ignore the robots.txt of this host of your own; may be repeated."""
    allow_network: Annotated[tuple[str, ...], many(text(), commas=True), Group.POLITENESS] = ()
    """Allow requests to this private network, address, address:port or host name; may be
    repeated."""

    max_pages: Annotated[int, integer(1, _MANY), Group.LIMITS] = 10_000
    """Stop after this many pages."""
    max_bytes: Annotated[int, size(1, 10**15), Group.LIMITS] = 50_000_000
    """Stop after this many bytes of pages."""
    max_page_bytes: Annotated[int, size(1, 10**9), Group.LIMITS] = 500_000
    """Drop pages larger than this, without downloading the rest of them."""
    timeout_s: Annotated[float, duration(0.001, _HOUR_S), Group.LIMITS] = 30.0
    """The time limit of one request, from the DNS lookup to the last byte."""
    connections: Annotated[int, integer(1, 10_000), Group.LIMITS] = 100
    """How many requests may run at once, in total."""

    workers: Annotated[int | None, or_none(integer(0, 1000), "auto"), Group.FRONTIER] = None
    """How many worker processes to run; auto starts one, and more while there is work for them, up
    to the number of cores. With a shared store, 0 leaves the work to workers that are started
    elsewhere."""
    scorer: Annotated[str, text(), Group.FRONTIER] = "auto"
    """The scorer that decides which URL comes first: a name, package.module:object or
    ./file.py:object; auto chooses by the scope, and by whether there is a PageRank key."""
    pagerank_key: Annotated[str | None, or_none(text(for_header)), Group.FRONTIER] = field(
        default=None, repr=False
    )
    """The key for the PageRank service; prefer the variable GOSSAMER_PAGERANK_KEY, which other
    users of the machine cannot see."""

    dir: Annotated[Path | None, or_none(folder(), "auto"), Group.STORAGE] = None
    """The directory for the state and the results of the crawl; auto names it after the seed."""
    store: Annotated[StoreAddress, store_address(), Group.STORAGE] = IN_DIRECTORY
    """Where the state is kept: memory:, sqlite:PATH, without PATH a file in the directory, or
    redis://HOST, a server for workers on many machines; prefer the variable GOSSAMER_STORE for
    passwords."""
    insecure_store: Annotated[bool, switch(), Group.STORAGE] = False
    """Accept a store on another machine without a password or TLS."""
    name: Annotated[str | None, or_none(text(), "auto"), Group.STORAGE] = None
    """The name of the crawl in a shared store; auto names it after the seed."""
    fresh: Annotated[bool, switch(), Group.STORAGE] = False
    """Start over: remove the state that an earlier crawl left."""
    similarity: Annotated[float | None, or_none(share(), "off"), Group.STORAGE] = 0.9
    """Drop pages that are at least this similar to an earlier one; 1 drops identical content
    only, and off keeps every page."""
    ttl_s: Annotated[float, duration(1.0, 8760 * _HOUR_S), Group.STORAGE] = _HOUR_S
    """How long URLs and contents are remembered, so that they are not fetched and kept twice."""

    module: Annotated[tuple[str, ...], many(text()), Group.OUTPUT] = ("noop",)
    """A module that gets each page: a name, package.module:object or ./file.py:object; may be
    repeated."""
    log_format: Annotated[LogFormat, choice(*get_args(LogFormat)), Group.OUTPUT] = "text"
    """Show progress as text for people, or as json for programs: one object per line."""
    verbose: Annotated[bool, switch(), Group.OUTPUT, "-v"] = False
    """Log every step."""
    quiet: Annotated[bool, switch(), Group.OUTPUT, "-q"] = False
    """Show errors only."""

    queues: Annotated[int, integer(1, 101), Group.ADVANCED] = 10
    """The number of priority queues for the scores from 0 to 100."""
    url_queue: Annotated[int, integer(1, _MANY), Group.ADVANCED] = 10_000
    """How many URLs may wait for their score."""
    worker_queue: Annotated[int, integer(1, _MANY), Group.ADVANCED] = 10_000
    """How many URLs may wait for one worker."""
    lease_s: Annotated[float, duration(1.0, _HOUR_S), Group.ADVANCED] = 30.0
    """How long a worker may be silent before others take over its URLs."""
    draw_seed: Annotated[int, integer(0, 2**63 - 1), Group.ADVANCED] = 0
    """The seed of the weighted random choice of queues: the same number repeats the choices."""
    pagerank_url: Annotated[str, text(web_address), Group.ADVANCED] = OPEN_PAGERANK
    """The URL of the PageRank service."""

    def __post_init__(self) -> None:
        """Check and convert every value, then check that they go together."""
        for option in OPTIONS:
            object.__setattr__(self, option.field, option.take(getattr(self, option.field)))
        for conflict in _conflicts(self):
            raise conflict


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
    if options.workers == 0 and not options.store.is_server:
        yield OptionConflictError(
            ("workers", "store"),
            "workers 0 leaves the work to workers elsewhere, which needs a shared store: give at "
            "least 1, or a store such as redis://HOST",
        )
    if options.workers is not None and options.connections < options.workers:
        yield OptionConflictError(
            ("connections", "workers"),
            f"connections {options.connections} cannot be shared by {options.workers} workers, "
            "each of which needs one: raise connections or lower workers",
        )
    if options.connections < options.host_connections:
        yield OptionConflictError(
            ("connections", "host-connections"),
            f"connections {options.connections}, the total, is less than "
            f"host-connections {options.host_connections}: raise the one or lower the other",
        )
    if options.quiet and options.verbose:
        yield OptionConflictError(
            ("quiet", "verbose"), "quiet and verbose exclude each other: choose one"
        )
