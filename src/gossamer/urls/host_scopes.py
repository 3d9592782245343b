"""Scopes for single hosts: rules that replace the scope of the crawl for the hosts they name."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from gossamer.model import Url
from gossamer.urls.domains import Domains
from gossamer.urls.keys import host_key
from gossamer.urls.scope import Scope, ScopeKind, ScopeRule, scope_rule
from gossamer.urls.seed_keys import SeedKeys

HostScopeFinder = Callable[[str], tuple[ScopeKind, str] | None]
"""Returns the kind of scope that a rule has for a host, and how people know that rule."""


def with_host_scopes(
    scope: Scope,
    seeds: Sequence[Url],
    find: HostScopeFinder,
    domains: Domains | None = None,
    more: SeedKeys | None = None,
) -> Scope:
    """Return the scope with others for some hosts, around the same seeds."""
    domains, more = domains or Domains(), more or SeedKeys()

    @lru_cache
    def rule_of(kind: ScopeKind, name: str) -> ScopeRule:
        rule = scope_rule(kind, seeds, domains, more)
        accepted, refused = (
            msgspec.structs.replace(decision, rule=f"{decision.rule} of {name}")
            for decision in (rule.accepted, rule.refused)
        )
        return ScopeRule(rule.admits, accepted, refused)

    @lru_cache(10_000)
    def rule_for(host: str) -> ScopeRule | None:
        found = find(host)
        return None if found is None else rule_of(*found)

    return scope.with_exceptions(lambda url: rule_for(host_key(url)))
