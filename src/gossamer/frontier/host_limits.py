"""The limits of single hosts: delay, connections, budget and depth, by rules for their names."""

from collections.abc import Iterable

import msgspec


class HostLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a host."""

    delay_s: float = 1.0
    """The least pause between two requests."""
    auto_delay: bool = False
    """Whether the pause follows how the host answers (`policy/auto_delay.py`)."""
    connections: int = 1
    """How many requests may run at once, if it has no delay."""
    max_pages: int | None = None
    """Nothing more is requested from it after this many pages."""
    max_bytes: int | None = None
    """Nothing more is requested from it after this many bytes of bodies."""

    def spent(self, pages: int, received: int) -> str:
        """Return which budget is used up by this many pages and bytes; empty: none is."""
        if self.max_pages is not None and pages >= self.max_pages:
            return "max-pages"
        return "max-bytes" if self.max_bytes is not None and received >= self.max_bytes else ""

    def slots(self, delay_s: float, pages: int) -> int:
        """Return how many requests may run at once: one with a delay, and no more than pages.

        When the pages are used up nothing is requested any more, only ended.
        """
        slots = 1 if delay_s > 0 else self.connections
        left = slots if self.max_pages is None else self.max_pages - pages
        return min(slots, left) if left > 0 else slots


class HostLimitRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule for the limits of some hosts; None: it says nothing about that."""

    host: str
    """In lower case; with `is_wild`, empty for every host."""
    is_wild: bool = False
    """Whether it is for the hosts below `host`."""
    delay_s: float | None = None
    auto_delay: bool | None = None
    """Given if the delay is."""
    connections: int | None = None
    max_pages: int | None = None
    max_bytes: int | None = None
    max_depth: int | None = None
    """How far from a seed its URLs may be."""

    def matches(self, name: str) -> bool:
        """Return whether it is for a host of this name."""
        if not self.is_wild:
            return name == self.host
        return not self.host or name.endswith(f".{self.host}")


def limits_of(name: str, rules: Iterable[HostLimitRule], default: HostLimits) -> HostLimits:
    """Return the limits of a host; of several rules, the first that says something counts.

    `lua/host_limits.lua` has the same for Redis.
    """
    found: dict[str, object] = {}
    for rule in rules:
        if rule.matches(name):
            for field in HostLimits.__struct_fields__:
                if (value := getattr(rule, field)) is not None:
                    found.setdefault(field, value)
    return msgspec.structs.replace(default, **found) if found else default


def depth_limit(name: str, rules: Iterable[HostLimitRule], default: int | None) -> int | None:
    """Return how far from a seed the URLs of a host may be; None: there is no limit."""
    depths = (one.max_depth for one in rules if one.max_depth is not None and one.matches(name))
    return next(depths, default)
