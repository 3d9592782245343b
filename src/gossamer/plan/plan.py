"""What the options of a crawl mean for its parts."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gossamer.config import CrawlOptions
from gossamer.content import Markers
from gossamer.errors import UsageError
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.frontier.scorers import choose
from gossamer.model import Url
from gossamer.plan.stored_options import pack_options
from gossamer.policy import AddressPolicy
from gossamer.stores.embedded.directory import name_for
from gossamer.stores.rules import StoreRules
from gossamer.urls import Domains, Scope, host_key, parse_seed

if TYPE_CHECKING:
    from gossamer.download import FetchOptions

FIXED = ("seeds", "scope", "depth", "include", "exclude", "markers")
"""The options that make a crawl what it is: they cannot change while it goes on."""


class Plan:
    """A crawl, checked and ready to be set up."""

    def __init__(self, options: CrawlOptions) -> None:
        if not options.seeds:
            raise UsageError("a crawl needs at least one seed: gossamer crawl http://example.org/")
        self.options = options
        self.seeds: list[Url] = [parse_seed(text) for text in options.seeds]
        domains = Domains()
        self.scope = Scope.for_seeds(
            options.scope, self.seeds, options.include, options.exclude, domains
        )
        self.domain_of = self._domain_of(domains)
        self.markers = Markers.parse(options.markers) if options.markers else None
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
            if not (verdict := self.scope.judge(seed)):
                raise UsageError(f"the seed {seed} is not in scope: {verdict.explain(seed)}")

    @property
    def directory(self) -> Path:
        """Where the crawl's state and results go."""
        return self.options.dir or Path(name_for(self.seeds[0]))

    @property
    def name(self) -> str:
        """What the crawl is called."""
        return self.options.name or name_for(self.seeds[0])

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
            max_body_bytes=options.max_page_bytes,
            connections=options.connections,
        )

    def store_rules(self, *, strict: bool) -> StoreRules:
        """Return what the store goes by."""
        options = self.options
        return StoreRules(
            scheduler=SchedulerRules(
                queues=options.queues,
                strict=strict,
                delay_s=options.delay_s,
                host_connections=options.host_connections,
                worker_queue=options.worker_queue,
                lease_s=options.lease_s,
            ),
            max_depth=options.depth,
            max_pages=options.max_pages,
            max_bytes=options.max_bytes,
            max_page_bytes=options.max_page_bytes,
            ttl_s=options.ttl_s,
            similarity=options.similarity,
        )

    def compare(self, note: bytes) -> None:
        """Refuse to go on with a crawl that was started with different options."""
        mine = msgspec.json.decode(pack_options(self.options))
        for name, value in msgspec.json.decode(note).items():
            if name in FIXED and mine.get(name) != value:
                raise UsageError(
                    f"this crawl was started with different {name} ({value!r} instead of "
                    f"{mine.get(name)!r}): give the same, name another --dir or --name, or start "
                    "over with --fresh"
                )

    def _domain_of(self, domains: Domains) -> Callable[[str], str]:
        """Return how hosts are grouped by domain; a single host needs no public suffix list."""
        is_one = len({host_key(seed) for seed in self.seeds}) == 1
        return (
            str
            if is_one and self.options.scope in {"host", "prefix"}
            else (domains.registered_domain)
        )

    def _addresses(self) -> AddressPolicy:
        addresses = AddressPolicy.parse(self.options.allow_network)
        for seed in self.seeds:
            addresses = addresses.allowing_seed(seed)
        return addresses
