"""What applies to one origin, and why: the rules of its host, then the options, then the defaults.

Options that say who we are (`FOR_SEEDS`) apply to the origins of the seeds only; the others, such
as a proxy, to every host.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec

from gossamer.config import OPTIONS, CrawlOptions, HostTable, Option
from gossamer.config.host_rules import FAMILIES, HOST_KEYS, AppliedRules, HostPattern
from gossamer.model import Url
from gossamer.policy.addresses import port_of
from gossamer.urls import authority, host_key

FOR_SEEDS: Final = frozenset({"header", "secret_header", "auth", "client_cert", "client_key"})
"""The options that apply to the origins of the seeds."""

_OPTIONS = {option.field: option for option in OPTIONS}
_OPTION_OF = {key.field: _OPTIONS.get(key.field) for key in HOST_KEYS} | {
    "connections": _OPTIONS["host_connections"],
    # The options of these names are for the crawl as a whole.
    **dict.fromkeys(("max_pages", "max_bytes")),
}


class HostSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the rules, as it applies to an origin."""

    key: Option
    value: Any
    pattern: HostPattern | None = None
    """Of the rule that it comes from."""
    option: Option | None = None
    """That it comes from, if no rule says anything."""
    withheld: HostPattern | Option | None = None
    """A rule, or an option, that has a value for other origins and not for this one."""


class HostSettings:
    """Finds what applies to an origin."""

    def __init__(self, options: CrawlOptions, seeds: Iterable[Url]) -> None:
        self._options = options
        self._table = HostTable.of(options.host)
        self._seed_origins = frozenset(map(authority, seeds))

    @property
    def is_plain(self) -> bool:
        """Whether all requests are made alike, without anything that an option or a rule adds."""
        return not self._options.host and all(
            getattr(self._options, name) == _OPTIONS[name].default
            for name in (*FOR_SEEDS, "ca_file", "proxy", "http2")
        )

    def explain(self, url: Url) -> list[HostSetting]:
        """Return every key, as it applies to the URL's origin."""
        applied = self._table.explain(host_key(url), url.partition(":")[0], port_of(url))
        is_seeds = authority(url) in self._seed_origins
        replaced = {
            name for family in FAMILIES if applied.patterns.keys() & set(family) for name in family
        }
        return [self._setting(key, applied, replaced, is_seeds=is_seeds) for key in HOST_KEYS]

    def _setting(
        self, key: Option, applied: AppliedRules, replaced: Collection[str], *, is_seeds: bool
    ) -> HostSetting:
        """Return one key; `replaced` are those of families of which a rule has a key."""
        name, option = key.field, _OPTION_OF[key.field]
        if name in applied.patterns:
            value = getattr(applied.rules, name)
            return HostSetting(key=key, value=value, pattern=applied.patterns[name])
        value = None if option is None else getattr(self._options, option.field)
        withheld: HostPattern | Option | None = applied.withheld.get(name)
        if name in replaced or (name in FOR_SEEDS and not is_seeds):
            is_given = option is not None and value != option.default
            if is_given and name not in replaced:
                withheld = withheld or option
            option, value = None, () if isinstance(value, tuple) else None
        return HostSetting(key=key, value=value, option=option, withheld=withheld)

    def values(self, url: Url) -> dict[str, Any]:
        """Return the values of all keys, by field, as they apply to the URL's origin."""
        return {one.key.field: one.value for one in self.explain(url)}

    def sources(self) -> list[tuple[str, Any]]:
        """Return who may name a secret or a file, with its words: the options, and each rule."""
        rules = [(f'[host."{rule.pattern}"]', rule.values) for rule in self._table.rules]
        given = {key: getattr(self._options, key) for key in _OPTION_OF if key in _OPTIONS}
        return [("", given), *rules]
