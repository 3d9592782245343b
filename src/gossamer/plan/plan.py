"""What the options of a crawl mean for its parts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.config import (
    OPTIONS,
    AutoDelay,
    CrawlOptions,
    HostTable,
    accepted_kinds,
    keep_seconds,
    least_delay_s,
)
from gossamer.config.host_table import HostTables
from gossamer.content import AnalysisRules, Markers
from gossamer.errors import UsageError
from gossamer.frontier.host_limits import depth_limit
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import choose
from gossamer.model import HostKey, Url
from gossamer.outputs.registry import kind_of_output
from gossamer.outputs.rows import FROM_STORE
from gossamer.outputs.targets import OutputWishes
from gossamer.plan.host_limits import check_connections, limit_rules, scope_finder
from gossamer.plan.host_settings import HostSettings
from gossamer.plan.starts import named_sitemaps, own_name, starts_of
from gossamer.plan.stored_options import may_keep_cookies, pack_options
from gossamer.policy import AddressPolicy
from gossamer.policy.link_kinds import kinds_to_follow
from gossamer.policy.received import most_received
from gossamer.urls import Domains, Scope, SeedKeys, host_key, parse_seed, with_host_scopes

if TYPE_CHECKING:
    from gossamer.download import FetchOptions
    from gossamer.plan.request_rules import RequestRules

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
        from gossamer.download import FetchOptions, user_agent  # noqa: PLC0415

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

    def analysis_rules(self) -> AnalysisRules:
        """Return how pages are read."""
        return AnalysisRules(
            markers=self.markers,
            similarity=self.options.similarity,
            follow=kinds_to_follow(self.options.follow, self.accepted),
            accept=self.accepted,
            with_text="text" in self.row_fields,
        )

    def request_rules(self, environment: Mapping[str, str]) -> "RequestRules | None":
        """Return how requests are made, with the secrets that are needed; None: all alike.

        Raise `UsageError` for a secret that is missing.
        """
        settings = HostSettings(self.options, self._starts)
        if settings.is_plain:
            return None
        from gossamer.plan.request_rules import RequestRules  # noqa: PLC0415 -- as above

        return RequestRules(settings, environment)

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
