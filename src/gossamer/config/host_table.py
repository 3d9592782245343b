"""The table of host rules: read from a TOML file, checked, and asked what applies to a host.

Where several patterns match, each key is taken from the most specific one that has it; keys that
belong together (`FAMILIES`) are taken together, so that a password is never used with another's
proxy.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeAlias

import msgspec

from gossamer.config.declaration import Option
from gossamer.config.host_rules import (
    FAMILIES,
    HOST_KEYS,
    SECRETS,
    WHOLE_HOST,
    HostPattern,
    HostRules,
    request_conflicts,
)
from gossamer.config.values import (
    NONE,
    BadValueError,
    HiddenValueError,
    OptionKind,
    nearest,
    quoted,
)

HostTables: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The rules as written: for each pattern its keys, with values as texts or lists of texts."""

_KEYS = {option.name: option for option in HOST_KEYS}
_FAMILY_OF = {name: family for family in FAMILIES for name in family}


class HostRule(msgspec.Struct, frozen=True):
    """One rule: its pattern, and the checked values of the keys that it has, by field."""

    pattern: HostPattern
    values: Mapping[str, Any]


class AppliedRules(msgspec.Struct, frozen=True):
    """The rules that apply to a host or an origin, and where each value comes from."""

    rules: HostRules
    patterns: Mapping[str, HostPattern]
    """For each field that is set: the pattern of its rule."""
    withheld: Mapping[str, HostPattern] = {}
    """The secrets that a rule for this host has, but not for this scheme and port."""


class HostTable(msgspec.Struct, frozen=True):
    """The rules of a crawl, the most specific first."""

    rules: tuple[HostRule, ...] = ()

    @classmethod
    def of(cls, tables: HostTables) -> Self:
        """Return the rules of checked tables; raise `BadValueError` for wrong ones."""
        rules: list[HostRule] = []
        for written, keys in tables.items():
            rule = _checked_rule(written, keys)
            if any(rule.pattern == other.pattern for other in rules):
                raise BadValueError(f"has {shown_table(rule.pattern)} twice: write one table")
            rules.append(rule)
        return cls(tuple(sorted(rules, key=lambda rule: rule.pattern.rank, reverse=True)))

    def rules_for(self, host: str, scheme: str | None = None, port: int | None = None) -> HostRules:
        """Return the rules for a host key, or for one origin of the host.

        Without scheme and port, rules for single origins do not count, nor do secrets.
        """
        return self.explain(host, scheme, port).rules

    def explain(
        self, host: str, scheme: str | None = None, port: int | None = None
    ) -> AppliedRules:
        """Return the rules for a host, or for one origin of it, and where each comes from."""
        values: dict[str, Any] = {}
        patterns: dict[str, HostPattern] = {}
        withheld: dict[str, HostPattern] = {}
        taken: set[str] = set()
        """The fields that a more specific rule has, or another one of their family."""
        for rule in self.rules:
            if not rule.pattern.matches(host, scheme, port):
                continue
            for name in rule.values.keys() - taken:
                if name in SECRETS and not rule.pattern.may_get_secrets(scheme, port):
                    withheld.setdefault(name, rule.pattern)
                    continue
                values[name], patterns[name] = rule.values[name], rule.pattern
            for name in patterns:
                taken.update(_FAMILY_OF.get(name, (name,)))
        return AppliedRules(HostRules(**values), patterns, withheld)


def host_tables() -> OptionKind[HostTables]:
    """Return the kind of the tables of all rules."""

    def take(value: object) -> HostTables:
        if value == NONE:
            return {}
        if not isinstance(value, Mapping):
            raise BadValueError(
                'must hold tables of rules: write [host."PATTERN"] above them, in the file that '
                "--config names"
            )
        table = HostTable.of({str(pattern): keys for pattern, keys in value.items()})
        return {str(rule.pattern): dict(_written(rule)) for rule in reversed(table.rules)}

    return OptionKind(take, lambda value: " ".join(value) or NONE, "TABLES")


def shown_table(pattern: HostPattern | str) -> str:
    """Return the head of a rule's table, as in the file."""
    return f'[host."{pattern}"]'


def _checked_rule(written: str, keys: object) -> HostRule:
    if (meant := _unquoted(written, keys)) != written:
        raise BadValueError(f"has a name without quotes: write {shown_table(meant)}")
    try:
        pattern = HostPattern.parse(written)
    except BadValueError as error:
        raise BadValueError(f"has the pattern {quoted(written)}, which {error}") from error
    where = f"has {shown_table(pattern)}, "
    if not isinstance(keys, Mapping):
        raise HiddenValueError(f"{where}which must be a table of keys")
    values: dict[str, Any] = {}
    for written_key, value in keys.items():
        name = str(written_key).replace("_", "-")
        if name not in _KEYS:
            raise BadValueError(f"{where}whose key {quoted(name)} is unknown: {_meant(name)}")
        option = _KEYS[name]
        if complaint := _misplaced(option, pattern):
            raise BadValueError(f"{where}{complaint}")
        values[option.field] = _checked_value(option, value, where)
    for _, sentence in request_conflicts(HostRules(**values)):
        raise BadValueError(f"{where}where {sentence}")
    return HostRule(pattern, values)


def _unquoted(name: str, keys: object) -> str:
    """Return the name that was probably meant: TOML reads [host.a.test] as a table in a table."""
    while isinstance(keys, Mapping) and keys and isinstance(next(iter(keys.values())), Mapping):
        inner, keys = next(iter(keys.items()))
        name = f"{name}.{inner}"
    return name


def _checked_value(option: Option, value: object, where: str) -> object:
    # A number is read like a text: a duration needs its unit, as everywhere.
    is_number = type(value) in {int, float}
    try:
        return option.kind.take(str(value) if is_number else value)
    except BadValueError as error:
        hidden = isinstance(error, HiddenValueError) or isinstance(value, list | tuple)
        shown = "" if hidden else f" {quoted(value)}"
        raise HiddenValueError(f"{where}whose {option.name}{shown} {error}") from error


def _misplaced(option: Option, pattern: HostPattern) -> str | None:
    """Return why a pattern cannot have this key, or None."""
    if option.field in WHOLE_HOST and not pattern.is_host_wide:
        whole = HostPattern(pattern.host, pattern.is_wild)
        return f"but {option.name} is for all ports of a host: write it under {shown_table(whole)}"
    if option.field in SECRETS and not pattern.host:
        return f"but {option.name} is a secret and not for every host: name the hosts"
    return None


def _written(rule: HostRule) -> Iterator[tuple[str, object]]:
    """Yield the keys of a rule with values as they are written in a file."""
    for option in HOST_KEYS:
        if option.field in rule.values:
            value = rule.values[option.field]
            yield option.name, list(value) if isinstance(value, tuple) else option.show(value)


def _meant(name: str) -> str:
    near = nearest(name, _KEYS)
    return f"the nearest valid one is {near}" if near else f"there are {', '.join(_KEYS)}"
