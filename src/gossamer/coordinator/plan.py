"""What the options of a crawl mean for its parts, the same in each of its processes.

`Plan` is a crawl that was checked. The functions below it answer for one part each, from the
options alone, so that readers of a stored crawl have the same answers.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.config import CrawlOptions, HostTable, keep_seconds
from gossamer.config.host_rules import shown_table
from gossamer.config.options import accepted_kinds
from gossamer.config.values import AutoDelay, least_delay_s
from gossamer.content.markers import Markers
from gossamer.content.page_parser import ParseRules
from gossamer.download.request_rules import HostSettings, RequestRules
from gossamer.frontier.hosts import HostLimitRule
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.scorers.loading import choose
from gossamer.model import HostKey, Url
from gossamer.model.errors import UsageError
from gossamer.outputs.registry import kind_of_output
from gossamer.outputs.rows import FROM_STORE
from gossamer.outputs.targets import OutputWishes
from gossamer.policy import AddressPolicy
from gossamer.policy.content_kinds import kinds_to_follow
from gossamer.policy.size_limits import most_received
from gossamer.stores.directory import name_for, name_for_file
from gossamer.urls import Domains, Scope, ScopeKind, host_key, parse_seed
from gossamer.urls.scope import HostScopeFinder, with_host_scopes
from gossamer.urls.seeds import SeedKeys

if TYPE_CHECKING:
    from gossamer.download.options import FetchOptions

SCOPE_NOTE = "seed-scope"
"""The note of the hosts, domains or directories of the seeds in files, 8 bytes for each.

Files of seeds are read once for it, before the crawl begins: what is in scope must not depend on
how far they were read when a link was found."""


class Plan:
    """A crawl, checked and ready to be set up."""

    def __init__(self, options: CrawlOptions) -> None:
        self.options = options
        self.seeds: list[Url] = [parse_seed(text) for text in options.seeds]
        self.sitemaps = named_sitemaps(options)
        if not self.seeds and not self.sitemaps and not options.seed_files:
            raise UsageError("a crawl needs at least one seed: gossamer crawl http://example.org/")
        self.directory = options.dir or Path(default_name(options))
        """Where the crawl's state and results go."""
        self.name = options.name or default_name(options)
        self.hosts = HostTable.of(options.host)
        _check_connections(options, self.hosts)
        self.domains = Domains()
        self.scope = scope_of(options, domains=self.domains)
        """What belongs to the crawl, without seeds in files (`seeded_scope`)."""
        self.domain_of = str if _has_one_host(options) else self.domains.registered_domain
        """How hosts are grouped by domain; a single host needs no public suffix list."""
        self.addresses = AddressPolicy.parse(options.allow_network)
        for url in (*self.seeds, *self.sitemaps):
            self.addresses = self.addresses.allowing_seed(url)
        self.ignored_robots = frozenset(
            host_key(parse_seed(f"http://{name}/", "host to ignore robots.txt of"))
            for name in options.ignore_robots
        )
        parse_rules(options)  # checks the markers
        self.scorer_name = options.scorer
        if options.scorer == "auto":
            self.scorer_name = choose(options.scope, options.pagerank_key)
        for seed in self.seeds:
            if not (verdict := self.scope.judge(seed, is_seed=True)):
                raise UsageError(f"the seed {seed} is not in scope: {verdict.explain(seed)}")

    async def seeded_scope(self, metadata: Callable[[str], Awaitable[bytes | None]]) -> Scope:
        """Return what belongs to the crawl, with the seeds in files."""
        if not kinds_of_scope(self.options):
            return self.scope
        return scope_of(self.options, await metadata(SCOPE_NOTE), self.domains)

    def keeps_cookies(self, host: HostKey) -> bool:
        """Return whether the cookies of a host are kept and sent back."""
        ruled = self.hosts.rules_for(host).cookies if self.hosts.rules else None
        return self.options.cookies if ruled is None else ruled

    @property
    def row_fields(self) -> tuple[str, ...]:
        """The fields of the rows that workers make of pages; none: no output wants any."""
        wishes = OutputWishes.of(self.options, self.name, self.options.module)
        is_here = wishes.wants_rows and not FROM_STORE.intersection(wishes.row_fields)
        return wishes.row_fields if is_here else ()


# -- where a crawl starts, and what it is called -------------------------------------------------


def named_sitemaps(options: CrawlOptions) -> list[Url]:
    """Return the sitemaps that were named."""
    urls = [name for name in options.sitemaps if name not in {"auto", "off"}]
    return [parse_seed(url, "sitemap") for url in urls]


def start_urls(options: CrawlOptions) -> list[Url]:
    """Return the seeds that were named; sitemaps count as such where there are no seeds at all."""
    has_seeds = options.seeds or options.seed_files
    return [parse_seed(seed) for seed in options.seeds] if has_seeds else named_sitemaps(options)


def default_name(options: CrawlOptions) -> str:
    """Return the name of a crawl that was given none: by its seed, its sitemap or its file."""
    if urls := start_urls(options) or named_sitemaps(options):
        return name_for(urls[0])
    return name_for_file(options.seed_files[0])


# -- what belongs to it --------------------------------------------------------------------------


def scope_of(
    options: CrawlOptions, seed_keys: bytes | None = None, domains: Domains | None = None
) -> Scope:
    """Return what belongs to a crawl; `seed_keys` is the note of the seeds in files."""
    starts, more = start_urls(options), SeedKeys(seed_keys or b"")
    scope = Scope.for_seeds(options.scope, starts, options.include, options.exclude, domains, more)
    if options.traps == "on":
        scope = scope.without_loops()
    find = _host_scopes(HostTable.of(options.host))
    return scope if find is None else with_host_scopes(scope, starts, find, domains, more)


def kinds_of_scope(options: CrawlOptions) -> list[ScopeKind]:
    """Return the kinds of scope that depend on seeds in files: the crawl's, and those of rules."""
    if not options.seed_files:
        return []
    ruled = [rule.values.get("scope") for rule in HostTable.of(options.host).rules]
    kinds: list[ScopeKind] = ["host", "domain", "prefix"]
    return [kind for kind in kinds if kind in (options.scope, *ruled)]


def _host_scopes(table: HostTable) -> HostScopeFinder | None:
    """Return what finds the scope of a host; None if no rule has one."""
    if not any("scope" in rule.values for rule in table.rules):
        return None

    def find(host: str) -> tuple[ScopeKind, str] | None:
        applied = table.explain(host)
        kind = applied.rules.scope
        return None if kind is None else (kind, shown_table(applied.patterns["scope"]))

    return find


def _has_one_host(options: CrawlOptions) -> bool:
    """Tell whether all URLs in scope have the host of the seeds."""
    hosts = {host_key(url) for url in start_urls(options)}
    has_rules = _host_scopes(HostTable.of(options.host)) is not None
    may_leave = options.scope not in {"host", "prefix"} or has_rules
    return len(hosts) == 1 and not options.seed_files and not may_leave


# -- what its parts go by ------------------------------------------------------------------------


def frontier_rules(options: CrawlOptions, *, strict: bool) -> FrontierRules:
    """Return what the frontier goes by; `strict`: URLs are taken in the order of their scores."""
    return FrontierRules(
        scheduler=SchedulerRules(
            queues=options.queues,
            strict=strict,
            delay_s=least_delay_s(options.delay_s),
            auto_delay=isinstance(options.delay_s, AutoDelay),
            host_rules=host_limits(options),
            host_connections=options.host_connections,
            max_host_pages=options.max_host_pages,
            url_queue=options.url_queue,
            worker_queue=options.worker_queue,
            lease_s=options.lease_s,
            domain_lease_s=options.domain_lease_s,
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


def host_limits(options: CrawlOptions) -> tuple[HostLimitRule, ...]:
    """Return the rules for single hosts that the frontier goes by, the most specific first."""
    scheduled = {"delay_s", "connections", "max_pages", "max_bytes", "depth"}
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
        for rule in HostTable.of(options.host).rules
        if rule.pattern.is_host_wide and rule.values.keys() & scheduled
        for delay in [rule.values.get("delay_s")]
    )


def fetch_options(options: CrawlOptions) -> "FetchOptions":
    """Return the options of the client that downloads."""
    # Only those who fetch wait for the client's library to load.
    from gossamer.download.options import FetchOptions, user_agent  # noqa: PLC0415

    # Silence runs out before the whole does, and so is known for what it is: it is tried again.
    phase_s = 0.8 * options.timeout_s
    ruled = (rule.connections or 1 for rule in host_limits(options))
    return FetchOptions(
        user_agent=options.user_agent or user_agent(options.contact),
        connect_timeout_s=min(5.0, phase_s),
        first_byte_timeout_s=min(10.0, phase_s),
        silence_timeout_s=min(5.0, phase_s),
        total_timeout_s=options.timeout_s,
        accept=accepted_kinds(options.accept),
        max_body_bytes=options.max_page_bytes,
        max_file_bytes=options.max_file_bytes,
        connections=options.connections,
        address_connections=options.address_connections,
        host_connections=max(options.host_connections, *ruled, 1),
    )


def request_rules(options: CrawlOptions, environment: Mapping[str, str]) -> "RequestRules | None":
    """Return how requests are made, with the secrets that are needed; None: all alike.

    Raise `UsageError` for a secret that is missing.
    """
    settings = HostSettings(options, start_urls(options))
    if settings.is_plain:
        return None
    from gossamer.download.request_rules import RequestRules  # noqa: PLC0415 -- as above

    return RequestRules(settings, environment)


def parse_rules(
    options: CrawlOptions, similarity: float | None = None, *, with_text: bool = False
) -> ParseRules:
    """Return how pages are read; those that were kept are not compared with others again."""
    accepted = accepted_kinds(options.accept)
    return ParseRules(
        markers=Markers.parse(options.markers) if options.markers else None,
        similarity=similarity,
        follow=kinds_to_follow(options.follow, accepted),
        accept=accepted,
        with_text=with_text,
    )


def may_keep_cookies(options: CrawlOptions) -> bool:
    """Return whether the cookies of any host are kept, by the option or by a rule."""
    rules = HostTable.of(options.host).rules
    return options.cookies or any(rule.values.get("cookies") for rule in rules)


# -- checks --------------------------------------------------------------------------------------


def _check_connections(options: CrawlOptions, table: HostTable) -> None:
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


def check_given_fields(flags: Mapping[str, object], options: CrawlOptions) -> None:
    """Refuse fields that were given to a crawl without a table.

    Those that are stored with it, or set for all crawls of a file, are there for when it has one.
    """
    if flags.get("fields"):
        check_fields(options.fields, options.output)


def check_fields(fields: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse fields if no output is a table."""
    if fields and not any(kind_of_output(target).is_table for target in targets):
        raise UsageError(
            "--fields says what the rows of a table hold, and no output here is a table: leave "
            "it out, or add one, such as -o pages.csv"
        )
