"""The scope of a crawl whose seeds are in files: stored with it, for all of its processes.

Files of seeds are read before the crawl begins, once, to know what is in scope: the answer must not
depend on how far they were read when a link was found. What is stored takes 8 bytes for a host.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from gossamer.config import (
    OPTIONS,
    AutoDelay,
    CrawlOptions,
    HostTable,
    OnOff,
    ScopeName,
    accepted_kinds,
    keep_seconds,
    largest_body,
    least_delay_s,
)
from gossamer.config.host_table import HostTables, shown_table
from gossamer.content.markers import Markers
from gossamer.content.page_parser import ParseRules
from gossamer.download.request_rules import HostSettings, RequestRules
from gossamer.frontier.hosts import HostLimitRule, depth_limit
from gossamer.frontier.leases import Budget
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import choose
from gossamer.model import HostKey, Url
from gossamer.model.errors import CrawlError, UsageError
from gossamer.outputs.registry import kind_of_output
from gossamer.outputs.rows import FROM_STORE
from gossamer.outputs.targets import OutputWishes
from gossamer.policy import AddressPolicy
from gossamer.policy.directives import kinds_to_follow
from gossamer.policy.size_limits import most_received
from gossamer.stores.directory import name_for, name_for_file
from gossamer.stores.rows import read_note
from gossamer.urls import (
    Domains,
    HostScopeFinder,
    Scope,
    ScopeKind,
    SeedKeys,
    host_key,
    parse_seed,
    with_host_scopes,
)

if TYPE_CHECKING:
    from gossamer.download.options import FetchOptions


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


_SCHEDULED = frozenset({"delay_s", "connections", "max_pages", "max_bytes", "depth"})


def limit_rules(table: HostTable) -> tuple[HostLimitRule, ...]:
    """Return the rules that the store goes by, the most specific first."""
    return tuple(
        HostLimitRule(
            host=rule.pattern.host,
            is_wild=rule.pattern.is_wild,
            delay_s=None if delay is None else least_delay_s(delay),
            auto_delay=None if delay is None else isinstance(delay, AutoDelay),
            connections=rule.values.get("connections"),
            max_pages=rule.values.get("max_pages"),
            max_bytes=rule.values.get("max_bytes"),
            max_depth=rule.values.get("depth"),
        )
        for rule in table.rules
        if rule.pattern.is_host_wide and rule.values.keys() & _SCHEDULED
        for delay in [rule.values.get("delay_s")]
    )


def scope_finder(table: HostTable) -> HostScopeFinder | None:
    """Return what finds the scope of a host; None if no rule has one."""
    if not any("scope" in rule.values for rule in table.rules):
        return None

    def find(host: str) -> tuple[ScopeKind, str] | None:
        applied = table.explain(host)
        kind = applied.rules.scope
        return None if kind is None else (kind, shown_table(applied.patterns["scope"]))

    return find


def check_connections(options: CrawlOptions, table: HostTable) -> None:
    """Refuse several requests at once for a host that has pauses between them."""
    for rule in table.rules:
        connections = rule.values.get("connections", 1)
        delay = rule.values.get("delay_s", options.delay_s)
        if connections > 1 and least_delay_s(delay) > 0:
            raise UsageError(
                f"{shown_table(rule.pattern)} has connections {connections}, which needs a delay "
                "of 0s, because requests at the same time leave no pause between them: add delay = "
                '"0s" to the same table, for a server of your own'
            )


def check_given_fields(given: Mapping[str, object], options: CrawlOptions) -> None:
    """Refuse fields that were given to a crawl without a table.

    Those that are stored with it, or set for all crawls of a file, are there for when it has one.
    """
    if given.get("fields"):
        check_fields(options.fields, options.output)


def check_fields(fields: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse fields if no output is a table."""
    if fields and not any(kind_of_output(target).is_table for target in targets):
        raise UsageError(
            "--fields says what the rows of a table hold, and no output here is a table: leave "
            "it out, or add one, such as -o pages.csv"
        )


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

    def parse_rules(self) -> ParseRules:
        """Return how kept pages are read."""
        accepted = accepted_kinds(self.accept)
        return ParseRules(
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


FIXED = (
    *("seeds", "seed_files", "sitemaps", "scope", "depth", "include", "exclude", "markers"),
    *("follow", "accept"),
    "revisit_s",
)
"""The options that make a crawl what it is: they cannot change while it goes on."""
FIXED_BY_RULES = ("scope", "depth")
"""What cannot change in the rules for single hosts either."""


class Plan:
    """A crawl, checked and ready to be set up."""

    def __init__(self, options: CrawlOptions) -> None:
        self.options = options
        self.seeds: list[Url] = [parse_seed(text) for text in options.seeds]
        self.sitemaps = named_sitemaps(options)
        """Those that were named."""
        self._starts = starts_of(options)
        if not self.seeds and not self.sitemaps and not options.seed_files:
            raise UsageError("a crawl needs at least one seed: gossamer crawl http://example.org/")
        self.domains = Domains()
        self._hosts = HostTable.of(options.host)
        check_connections(options, self._hosts)
        self.scope = self.scope_with(SeedKeys())
        """What belongs to the crawl, without seeds in files (`seed_scope`)."""
        self.domain_of = self._domain_of(self.domains)
        self.markers = Markers.parse(options.markers) if options.markers else None
        self.accepted = accepted_kinds(options.accept)
        self.addresses = self._addresses()
        self.ignored_robots = frozenset(
            host_key(parse_seed(f"http://{name}/", "host to ignore robots.txt of"))
            for name in options.ignore_robots
        )
        self.scorer_name = (
            choose(options.scope, options.pagerank_key)
            if options.scorer == "auto"
            else options.scorer
        )
        for seed in self.seeds:
            if not (verdict := self.scope.judge(seed, is_seed=True)):
                raise UsageError(f"the seed {seed} is not in scope: {verdict.explain(seed)}")

    @property
    def directory(self) -> Path:
        """Where the crawl's state and results go."""
        return self.options.dir or Path(own_name(self.options))

    @property
    def name(self) -> str:
        """What the crawl is called."""
        return self.options.name or own_name(self.options)

    @property
    def reads_announced_sitemaps(self) -> bool:
        """Whether sitemaps are read that a robots.txt names."""
        return "auto" in self.options.sitemaps

    def scope_with(self, more: SeedKeys) -> Scope:
        """Return what belongs to the crawl, with seeds that are in files."""
        options, starts, domains = self.options, self._starts, self.domains
        scope = Scope.for_seeds(
            options.scope, starts, options.include, options.exclude, domains, more
        )
        if options.traps == "on":
            scope = scope.without_loops()
        scopes = scope_finder(self._hosts)
        return scope if scopes is None else with_host_scopes(scope, starts, scopes, domains, more)

    def refusal_of_seed(self, seed: Url) -> str | None:
        """Return why a seed in a file is not crawled; None: it is."""
        verdict = self.scope.exclusion(seed)
        return None if verdict is None else verdict.explain(seed)

    @property
    def may_keep_cookies(self) -> bool:
        """Whether the cookies of any host are kept."""
        return may_keep_cookies(self.options.cookies, self._hosts)

    def keeps_cookies(self, host: HostKey) -> bool:
        """Return whether the cookies of a host are kept and sent back."""
        ruled = self._hosts.rules_for(host).cookies if self._hosts.rules else None
        return self.options.cookies if ruled is None else ruled

    @property
    def row_fields(self) -> tuple[str, ...]:
        """The fields of the rows that workers make of pages; none: no output wants any."""
        wishes = OutputWishes.of(self.options, self.name, self.options.module)
        is_here = wishes.wants_rows and not FROM_STORE.intersection(wishes.row_fields)
        return wishes.row_fields if is_here else ()

    @property
    def carries_readings(self) -> bool:
        """Whether an output wants what workers read in pages, and no rows."""
        return not all(kind_of_output(target).is_table for target in self.options.output)

    def fetch_options(self) -> "FetchOptions":
        """Return the client's options."""
        # Only those who fetch wait for the client's library to load.
        from gossamer.download.options import FetchOptions, user_agent  # noqa: PLC0415

        options = self.options
        # Silence runs out before the whole does, and so is known for what it is: it is tried again.
        phase_s = 0.8 * options.timeout_s
        return FetchOptions(
            user_agent=options.user_agent or user_agent(options.contact),
            connect_timeout_s=min(5.0, phase_s),
            first_byte_timeout_s=min(10.0, phase_s),
            silence_timeout_s=min(5.0, phase_s),
            total_timeout_s=options.timeout_s,
            accept=self.accepted,
            max_body_bytes=options.max_page_bytes,
            max_file_bytes=options.max_file_bytes,
            connections=options.connections,
            address_connections=options.address_connections,
            host_connections=self._most_host_connections(),
        )

    def _most_host_connections(self) -> int:
        """Return how many requests at once any host may get."""
        ruled = (rule.connections or 1 for rule in limit_rules(self._hosts))
        return max(self.options.host_connections, *ruled, 1)

    def parse_rules(self) -> ParseRules:
        """Return how pages are read."""
        return ParseRules(
            markers=self.markers,
            similarity=self.options.similarity,
            follow=kinds_to_follow(self.options.follow, self.accepted),
            accept=self.accepted,
            with_text="text" in self.row_fields,
        )

    def request_rules(self, environment: Mapping[str, str]) -> RequestRules | None:
        """Return how requests are made, with the secrets that are needed; None: all alike.

        Raise `UsageError` for a secret that is missing.
        """
        settings = HostSettings(self.options, self._starts)
        return None if settings.is_plain else RequestRules(settings, environment)

    def store_rules(self, *, strict: bool) -> FrontierRules:
        """Return what the store goes by."""
        options = self.options
        return FrontierRules(
            scheduler=SchedulerRules(
                queues=options.queues,
                strict=strict,
                delay_s=least_delay_s(options.delay_s),
                auto_delay=isinstance(options.delay_s, AutoDelay),
                host_rules=limit_rules(self._hosts),
                host_connections=options.host_connections,
                max_host_pages=options.max_host_pages,
                url_queue=options.url_queue,
                worker_queue=options.worker_queue,
                lease_s=options.lease_s,
            ),
            max_depth=options.depth,
            max_pages=options.max_pages,
            max_bytes=options.max_bytes,
            max_host_urls=options.max_host_urls,
            max_task_bytes=most_received(options.max_body_bytes),
            revisit_s=math.inf if options.revisit_s is None else options.revisit_s,
            keep_s=keep_seconds(options.keep_s, shared=options.store.is_shared),
            similarity=options.similarity,
        )

    def is_too_deep(self, depth: int, host: HostKey) -> bool:
        """Tell whether a URL of a host at this depth is beyond the limit."""
        limit = depth_limit(host, limit_rules(self._hosts), self.options.depth)
        return limit is not None and depth > limit

    def shared_options(self) -> bytes:
        """Return the options that are stored with the crawl, and with them which scorer was chosen.

        Another process, which may lack the key to a service, is to choose no other one.
        """
        return pack_options(replace(self.options, scorer=self.scorer_name))

    def compare(self, note: bytes) -> None:
        """Refuse to go on with a crawl that was started with different options."""
        before, mine = msgspec.json.decode(note), msgspec.json.decode(pack_options(self.options))
        for option in OPTIONS:
            name = option.field
            if name in FIXED and name in before and before[name] != mine[name]:
                raise UsageError(
                    f"this crawl was started with different {option.name} "
                    f"({option.show(before[name])} instead of {option.show(mine[name])}): give the "
                    "same, name another --dir or --name, or start over with --fresh"
                )

        for name in FIXED_BY_RULES:
            if _by_rules(before.get("host", {}), name) != _by_rules(mine["host"], name):
                raise UsageError(
                    f"this crawl was started with different {name} in the rules for single hosts: "
                    "give the same, name another --dir or --name, or start over with --fresh"
                )

    def _domain_of(self, domains: Domains) -> Callable[[str], str]:
        """Return how hosts are grouped by domain; a single host needs no public suffix list."""
        is_one = len({host_key(seed) for seed in self._starts}) == 1
        is_one = is_one and not self.options.seed_files and scope_finder(self._hosts) is None
        return (
            str
            if is_one and self.options.scope in {"host", "prefix"}
            else (domains.registered_domain)
        )

    def _addresses(self) -> AddressPolicy:
        addresses = AddressPolicy.parse(self.options.allow_network)
        for seed in (*self.seeds, *self.sitemaps):
            addresses = addresses.allowing_seed(seed)
        return addresses


def _by_rules(tables: HostTables, name: str) -> dict[str, object]:
    """Return what each of the rules for single hosts, as they are stored, says about this."""
    return {pattern: keys[name] for pattern, keys in tables.items() if name in keys}


SCOPE_NOTE = "seed-scope"
"""The note of the hosts, domains or directories of the seeds in files."""

ReadNote = Callable[[str], Awaitable[bytes | None]]


def kinds_of_scope(options: CrawlOptions) -> list[ScopeKind]:
    """Return the kinds of scope that depend on seeds in files: the crawl's, and those of rules."""
    if not options.seed_files:
        return []
    ruled = [rule.values.get("scope") for rule in HostTable.of(options.host).rules]
    kinds: list[ScopeKind] = ["host", "domain", "prefix"]
    return [kind for kind in kinds if kind in (options.scope, *ruled)]


async def seeded_scope(plan: Plan, note: ReadNote) -> Scope:
    """Return the scope of a crawl, with the seeds in files."""
    if not kinds_of_scope(plan.options):
        return plan.scope
    return plan.scope_with(SeedKeys(await note(SCOPE_NOTE) or b""))
