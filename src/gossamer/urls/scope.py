"""The scope of a crawl: which URLs belong to it, and why, in words for people.

host     the seeds' network locations: host name and port. http and https on their own ports are
         one location; another port is another server, and another scope.
domain   the seeds' registered domains with all their hosts and ports, by the public suffix list.
prefix   URLs under a seed's directory: they start with the seed up to the last slash of its path.
any      every http and https URL.

Exclude and include patterns narrow each of these: a URL that matches an exclude pattern is out,
and if there are include patterns, it must match one. Seeds, and what they redirect to, are exempt
from the include patterns; a seed that matches an exclude pattern contradicts it, and is refused.
URLs that a loop of links makes (`loops.py`) are out as well, unless traps are allowed.
A URL on which a pattern takes too long (`patterns`) is out.
"""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Literal, Self

import msgspec

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown
from gossamer.urls.domains import Domains
from gossamer.urls.keys import host_key, location
from gossamer.urls.loops import loop_in
from gossamer.urls.patterns import UrlPattern
from gossamer.urls.seed_keys import SeedKeys
from gossamer.urls.seeds import parse_seed

MAX_DIRECTORIES = 100
"""This many directories of a URL are looked up: a hostile one has a thousand."""

ScopeKind = Literal["host", "domain", "prefix", "any"]
_HOST, _DOMAIN, _PREFIX = "host ", "domain ", "prefix "
"""What the keys of seeds begin with: rules for single hosts may have another kind of scope."""


class ScopeDecision(msgspec.Struct, frozen=True):
    """The decision of a scope about a URL: true if it is accepted."""

    accepted: bool
    rule: str
    """The rule that decided: `scope host`, `scope domain`, …, `include`, `exclude`, `traps`."""
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
        self._rule = rule
        self._exception: Callable[[Url], ScopeRule | None] | None = None
        self._refuses_loops = False
        self._include = tuple(UrlPattern(pattern, "include") for pattern in include)
        self._exclude = tuple(UrlPattern(pattern, "exclude") for pattern in exclude)

    @classmethod
    def for_seeds(
        cls,
        kind: ScopeKind,
        seeds: Iterable[Url],
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        domains: Domains | None = None,
        more: SeedKeys | None = None,
    ) -> Self:
        """Return the scope of that kind around the seeds; a bad pattern raises `UsageError`.

        `more` has the `scope_key` of seeds that are too many to be given.
        """
        return cls(scope_rule(kind, seeds, domains, more or SeedKeys()), include, exclude)

    @classmethod
    def for_prefix(
        cls, prefix: str, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> Self:
        """Return the scope of the URLs that start with the normal form of `prefix`.

        The normal form has a slash after the host, so `http://a.example` does not admit
        `http://a.example.evil/`.
        """
        return cls(_prefix_rule([parse_seed(prefix, "prefix")], SeedKeys()), include, exclude)

    def with_exceptions(self, exception: Callable[[Url], ScopeRule | None]) -> Self:
        """Return the scope with another rule for some URLs; the patterns are the same."""
        scope = copy(self)
        scope._exception = exception  # noqa: SLF001 -- it is one of us
        return scope

    def without_loops(self) -> Self:
        """Return the scope without the URLs that a loop of links makes; seeds are exempt."""
        scope = copy(self)
        scope._refuses_loops = True  # noqa: SLF001 -- it is one of us
        return scope

    def judge(self, url: Url, *, is_seed: bool = False) -> ScopeDecision:
        """Return whether the URL belongs to the crawl, and which rule decided.

        A seed need not match an include pattern: those say which links to follow from there.
        """
        rule = self._rule
        if self._exception is not None:
            rule = self._exception(url) or rule
        if not rule.admits(url):
            return rule.refused
        if (refusal := self.exclusion(url)) is not None:
            return refusal
        if (
            self._include
            and not is_seed
            and not any(pattern.matches(url) for pattern in self._include)
        ):
            return _NOT_INCLUDED
        if self._refuses_loops and not is_seed and (loop := loop_in(url)):
            return ScopeDecision(False, "traps", loop)
        return rule.accepted

    def exclusion(self, url: Url) -> ScopeDecision | None:
        """Return the decision of an exclude pattern that the URL matches; None: it matches none."""
        for pattern in self._exclude:
            if (matches := pattern.matches(url)) is not False:
                how = "matches" if matches else "takes too long to compare with"
                return ScopeDecision(False, "exclude", f"{how} the pattern {shown(pattern.text)}")
        return None


_NOT_INCLUDED = ScopeDecision(False, "include", "matches none of the include patterns")


def scope_key(kind: ScopeKind, seed: Url, domains: Domains) -> str:
    """Return the part of a seed that the scope of that kind goes by, with that kind."""
    match kind:
        case "host":
            return _HOST + location(seed)
        case "domain":
            return _DOMAIN + domains.registered_domain(host_key(seed))
        case _:
            return _PREFIX + _directory(seed)


def scope_rule(
    kind: ScopeKind, seeds: Iterable[Url], domains: Domains | None, more: SeedKeys
) -> ScopeRule:
    """Return the rule of that kind around the seeds, and those of which `more` has the keys."""
    match kind:
        case "host":
            return _host_rule(seeds, more)
        case "domain":
            return _domain_rule(seeds, domains or Domains(), more)
        case "prefix":
            return _prefix_rule([_directory(seed) for seed in seeds], more)
        case "any":
            accepted = ScopeDecision(
                True, "scope any", "is accepted, as is every http and https URL"
            )
            return ScopeRule(lambda url: True, accepted, accepted)
        case _:
            raise UsageError(
                f"the scope {shown(kind)} is unknown; it is one of host, domain, prefix and any"
            )


def _host_rule(seeds: Iterable[Url], more: SeedKeys) -> ScopeRule:
    locations = frozenset(location(seed) for seed in seeds)
    return ScopeRule(
        lambda url: location(url) in locations or (bool(more) and _HOST + location(url) in more),
        ScopeDecision(True, "scope host", "is one of the seeds' hosts", location),
        ScopeDecision(False, "scope host", "is not one of the seeds' hosts", location),
    )


def _domain_rule(seeds: Iterable[Url], domains: Domains, more: SeedKeys) -> ScopeRule:
    registered_domain = domains.registered_domain
    wanted = frozenset(registered_domain(host_key(seed)) for seed in seeds)

    def admits(url: Url) -> bool:
        domain = registered_domain(host_key(url))
        return domain in wanted or (bool(more) and _DOMAIN + domain in more)

    return ScopeRule(
        admits,
        ScopeDecision(True, "scope domain", "belongs to one of the seeds' domains", host_key),
        ScopeDecision(False, "scope domain", "belongs to none of the seeds' domains", host_key),
    )


def _prefix_rule(prefixes: Iterable[str], more: SeedKeys) -> ScopeRule:
    wanted = tuple(dict.fromkeys(prefixes))
    name = wanted[0] if len(wanted) == 1 and not more else "one of the seeds' prefixes"

    def admits(url: Url) -> bool:
        if url.startswith(wanted):
            return True
        return bool(more) and any(_PREFIX + one in more for one in _directories(url))

    return ScopeRule(
        admits,
        ScopeDecision(True, "scope prefix", f"begins with {name}"),
        ScopeDecision(False, "scope prefix", f"does not begin with {name}"),
    )


def _directory(url: Url) -> str:
    path = url.partition("?")[0]
    return path[: path.rfind("/") + 1]


def _directories(url: Url) -> Iterator[str]:
    """Yield the directories that a URL lies in, the outermost first."""
    path = url.partition("?")[0]
    at = path.find("/", 8)
    for _ in range(MAX_DIRECTORIES):
        if at < 0:
            return
        yield path[: at + 1]
        at = path.find("/", at + 1)
