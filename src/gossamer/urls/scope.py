"""The scope of a crawl: which URLs belong to it, and why, in words for people.

host     the seeds' network locations: host name and port. http and https on their own ports are
         one location; another port is another server, and another scope.
domain   the seeds' registered domains with all their hosts and ports, by the public suffix list.
prefix   URLs under a seed's directory: they start with the seed up to the last slash of its path.
any      every http and https URL.

Exclude and include patterns narrow each of these: a URL that matches an exclude pattern is out,
and if there are include patterns, it must match one.
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, Self

import msgspec

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown
from gossamer.urls.domains import Domains
from gossamer.urls.keys import host_key, location
from gossamer.urls.seeds import parse_seed

ScopeKind = Literal["host", "domain", "prefix", "any"]


class ScopeDecision(msgspec.Struct, frozen=True):
    """The decision of a scope about a URL: true if it is accepted."""

    accepted: bool
    rule: str
    """The rule that decided: `scope host`, `scope domain`, …, `include`, `exclude`."""
    reason: str
    """The reason, as the rest of a sentence about `subject`."""
    subject: Callable[[Url], str] = str
    """Which part of the URL the sentence is about."""

    def __bool__(self) -> bool:
        return self.accepted

    def explain(self, url: Url) -> str:
        """Return the decision about that URL as one sentence."""
        return f"{self.rule}: {self.subject(url)} {self.reason}"


class ScopeRule(msgspec.Struct, frozen=True):
    """The test of one kind of scope, with the decisions that it leads to."""

    admits: Callable[[Url], bool]
    accepted: ScopeDecision
    refused: ScopeDecision


class Scope:
    """A scope: one rule, and the include and exclude patterns of the user."""

    def __init__(
        self, rule: ScopeRule, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        self._admits = rule.admits
        self._accepted = rule.accepted
        self._refused = rule.refused
        self._include = tuple(_compiled(pattern, "include") for pattern in include)
        self._exclude = tuple(
            (
                _compiled(pattern, "exclude"),
                ScopeDecision(False, "exclude", f"matches the pattern {shown(pattern)}"),
            )
            for pattern in exclude
        )

    @classmethod
    def for_seeds(
        cls,
        kind: ScopeKind,
        seeds: Iterable[Url],
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        domains: Domains | None = None,
    ) -> Self:
        """Return the scope of that kind around the seeds; a bad pattern raises `UsageError`."""
        return cls(_rule_for(kind, seeds, domains), include, exclude)

    @classmethod
    def for_prefix(
        cls, prefix: str, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> Self:
        """Return the scope of the URLs that start with the normal form of `prefix`.

        The normal form has a slash after the host, so `http://a.example` does not admit
        `http://a.example.evil/`.
        """
        return cls(_prefix_rule([parse_seed(prefix, "prefix")]), include, exclude)

    def judge(self, url: Url) -> ScopeDecision:
        """Return whether the URL belongs to the crawl, and which rule decided."""
        if not self._admits(url):
            return self._refused
        for pattern, refusal in self._exclude:
            if pattern.search(url):
                return refusal
        if self._include and not any(pattern.search(url) for pattern in self._include):
            return _NOT_INCLUDED
        return self._accepted


_NOT_INCLUDED = ScopeDecision(False, "include", "matches none of the include patterns")


def _rule_for(kind: ScopeKind, seeds: Iterable[Url], domains: Domains | None) -> ScopeRule:
    match kind:
        case "host":
            return _host_rule(seeds)
        case "domain":
            return _domain_rule(seeds, domains or Domains())
        case "prefix":
            return _prefix_rule([_directory(seed) for seed in seeds])
        case "any":
            accepted = ScopeDecision(
                True, "scope any", "is accepted, as is every http and https URL"
            )
            return ScopeRule(lambda url: True, accepted, accepted)
        case _:
            raise UsageError(
                f"the scope {shown(kind)} is unknown; it is one of host, domain, prefix and any"
            )


def _host_rule(seeds: Iterable[Url]) -> ScopeRule:
    locations = frozenset(location(seed) for seed in seeds)
    return ScopeRule(
        lambda url: location(url) in locations,
        ScopeDecision(True, "scope host", "is one of the seeds' hosts", location),
        ScopeDecision(False, "scope host", "is not one of the seeds' hosts", location),
    )


def _domain_rule(seeds: Iterable[Url], domains: Domains) -> ScopeRule:
    registered_domain = domains.registered_domain
    wanted = frozenset(registered_domain(host_key(seed)) for seed in seeds)
    return ScopeRule(
        lambda url: registered_domain(host_key(url)) in wanted,
        ScopeDecision(True, "scope domain", "belongs to one of the seeds' domains", host_key),
        ScopeDecision(False, "scope domain", "belongs to none of the seeds' domains", host_key),
    )


def _prefix_rule(prefixes: Iterable[str]) -> ScopeRule:
    wanted = tuple(dict.fromkeys(prefixes))
    name = wanted[0] if len(wanted) == 1 else "one of the seeds' prefixes"
    return ScopeRule(
        lambda url: url.startswith(wanted),
        ScopeDecision(True, "scope prefix", f"begins with {name}"),
        ScopeDecision(False, "scope prefix", f"does not begin with {name}"),
    )


def _directory(url: Url) -> str:
    path = url.partition("?")[0]
    return path[: path.rfind("/") + 1]


def _compiled(pattern: str, role: str) -> re.Pattern[str]:
    # A URL is at most MAX_URL_LENGTH long, which bounds the input of a pattern.
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"the {role} pattern {shown(pattern)} is not a regular expression: {error}"
        ) from error
