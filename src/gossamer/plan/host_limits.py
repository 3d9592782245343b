"""What the rules for single hosts mean for the crawl: limits for the store, scopes for links."""

from gossamer.config import AutoDelay, CrawlOptions, HostTable, least_delay_s
from gossamer.config.host_table import shown_table
from gossamer.errors import UsageError
from gossamer.frontier.host_limits import HostLimitRule
from gossamer.urls import HostScopeFinder, ScopeKind

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
