"""The scope of a crawl: which URLs belong to it, and why, in words for people.

host     the seeds' network locations: host name and port. http and https on their own ports are
         one location; another port is another server, and another scope.
domain   the seeds' registered domains with all their hosts and ports, by the public suffix list.
prefix   URLs under a seed's directory: they start with the seed up to the last slash of its path.
any      every http and https URL.

Exclude and include patterns narrow each of these: a URL that matches an exclude pattern is out,
and if there are include patterns, it must match one. Seeds, and what they redirect to, are exempt
from the include patterns; a seed that matches an exclude pattern contradicts it, and is refused.
URLs that a loop of links makes are out as well, unless traps are allowed, and so is a URL on which
a pattern takes too long.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import Final, Literal, Self

import msgspec

from gossamer.model import Url
from gossamer.model.errors import UsageError, shown
from gossamer.urls.keys import Domains, host_key, location
from gossamer.urls.seeds import SeedKeys, parse_seed

MAX_DIRECTORIES = 100
"""This many directories of a URL are looked up: a hostile one has a thousand."""

ScopeKind = Literal["host", "domain", "prefix", "any"]

MATCH_WITHIN_S = 0.1
"""Ordinary patterns take microseconds."""
MAX_REPEATED: Final = 3
"""A run of one to three segments may be there so often in a row."""
MAX_SEGMENTS: Final = 50
MAX_PARAMETERS: Final = 50


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
    def for_prefix(cls, prefix: str) -> Self:
        """Return the scope of the URLs that start with the normal form of `prefix`.

        The normal form has a slash after the host, so `http://a.example` does not admit
        `http://a.example.evil/`.
        """
        return cls(_prefix_rule([parse_seed(prefix, "prefix")], SeedKeys()))

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
            return f"host {location(seed)}"
        case "domain":
            return f"domain {domains.registered_domain(host_key(seed))}"
        case _:
            return f"prefix {_directory(seed)}"


def scope_rule(
    kind: ScopeKind, seeds: Iterable[Url], domains: Domains | None, more: SeedKeys
) -> ScopeRule:
    """Return the rule of that kind around the seeds, and those of which `more` has the keys."""
    match kind:
        case "host":
            admits = _with_key("host", location, seeds, more)
            return _rule("host", admits, ("is", "is not"), "one of the seeds' hosts", location)
        case "domain":
            find = (domains or Domains()).registered_domain
            admits = _with_key("domain", lambda url: find(host_key(url)), seeds, more)
            belongs = "belongs to one", "belongs to none"
            return _rule("domain", admits, belongs, "of the seeds' domains", host_key)
        case "prefix":
            return _prefix_rule(map(_directory, seeds), more)
        case "any":
            accepted = ("is accepted,", "is not accepted,")
            return _rule("any", lambda url: True, accepted, "as is every http and https URL")
        case _:
            raise UsageError(
                f"the scope {shown(kind)} is unknown; it is one of host, domain, prefix and any"
            )


def _rule(
    kind: str,
    admits: Callable[[Url], bool],
    verbs: tuple[str, str],
    words: str,
    subject: Callable[[Url], str] = str,
) -> ScopeRule:
    """Return the rule whose decisions begin with one of two verbs: of a URL in scope, or not."""
    accepted, refused = (
        ScopeDecision(is_in, f"scope {kind}", f"{verb} {words}", subject)
        for is_in, verb in zip((True, False), verbs, strict=True)
    )
    return ScopeRule(admits, accepted, refused)


def _with_key(
    kind: str, key_of: Callable[[Url], str], seeds: Iterable[Url], more: SeedKeys
) -> Callable[[Url], bool]:
    """Return whether a URL has the key of a seed."""
    keys = frozenset(map(key_of, seeds))

    def admits(url: Url) -> bool:
        key = key_of(url)
        return key in keys or (bool(more) and f"{kind} {key}" in more)

    return admits


def _prefix_rule(prefixes: Iterable[str], more: SeedKeys) -> ScopeRule:
    wanted = tuple(dict.fromkeys(prefixes))
    name = wanted[0] if len(wanted) == 1 and not more else "one of the seeds' prefixes"

    def admits(url: Url) -> bool:
        if url.startswith(wanted):
            return True
        return bool(more) and any(f"prefix {folder}" in more for folder in _directories(url))

    return _rule("prefix", admits, ("begins with", "does not begin with"), name)


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


HostScopeFinder = Callable[[str], tuple[ScopeKind, str] | None]
"""Returns the kind of scope that a rule has for a host, and how people know that rule."""


def with_host_scopes(
    scope: Scope,
    seeds: Sequence[Url],
    find: HostScopeFinder,
    domains: Domains | None,
    more: SeedKeys,
) -> Scope:
    """Return the scope with others for some hosts, around the same seeds."""
    domains = domains or Domains()

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
        rule = find(host)
        return None if rule is None else rule_of(*rule)

    return scope.with_exceptions(lambda url: rule_for(host_key(url)))


class UrlPattern:
    """One pattern; text that is not a regular expression raises `UsageError`."""

    def __init__(self, pattern: str, role: str) -> None:
        import regex  # noqa: PLC0415 -- most crawls have no patterns

        self.text = pattern
        self._too_long = sys.maxsize
        try:
            self._compiled = regex.compile(pattern)
        except (regex.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"the {role} pattern {shown(pattern)} is not a regular expression: {error}"
            ) from error

    def matches(self, url: Url) -> bool | None:
        """Return whether the URL matches; None if that would take too long to find out."""
        if len(url) >= self._too_long:
            return None
        try:
            return self._compiled.search(url, timeout=MATCH_WITHIN_S) is not None
        except TimeoutError:
            self._too_long = len(url)
            return None


def loop_in(url: Url) -> str:
    """Return why a URL is surely made by a loop of links, in words; empty: it may be sound.

    A relative link on a page that answers for every path gives `/a/b/a/b/a/b`.
    """
    path, _, query = url.partition("?")
    if query.count("&") >= MAX_PARAMETERS:
        return f"has more than {MAX_PARAMETERS} parameters"
    segments = path.split("/")[3:]
    if len(segments) > MAX_SEGMENTS:
        return f"has more than {MAX_SEGMENTS} segments in its path"
    for length in (1, 2, 3):
        if _is_repeated(segments, length):
            return f"has the same part of its path more than {MAX_REPEATED} times in a row"
    return ""


def _is_repeated(segments: list[str], length: int) -> bool:
    """Tell whether a run of this many segments comes too often in a row."""
    needed, run = length * MAX_REPEATED, 0
    for at in range(length, len(segments)):
        # Empty segments and numbers are no names: //, and 0/0/0/0 of a map.
        is_same = segments[at] == segments[at - length] and not _is_plain(segments[at])
        run = run + 1 if is_same else 0
        if run >= needed:
            return True
    return False


def _is_plain(segment: str) -> bool:
    return not segment or segment.isdigit()
