"""The sources of options, and their precedence.

    command line  >  GOSSAMER_… variables  >  TOML file  >  profile  >  stored with the crawl
    >  default

A stronger source replaces the value of a weaker one, lists too. Every value is checked, also a
replaced one. A TOML file is read only when it is named: nothing is picked up from the current
directory.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import msgspec

from gossamer.config.declaration import PREFIX, Option
from gossamer.config.options import OPTIONS, RETIRED, CrawlOptions, OptionConflictError
from gossamer.config.values import nearest, quoted
from gossamer.model.errors import UsageError

DEFAULT = "default"
STORED = "stored with the crawl"

PROFILES = "profiles"
"""The table of one's own profiles in a file."""

NOT_OPTIONS = frozenset({"GOSSAMER_DOCS"})
"""Variables with that prefix that are not options."""

Profile: TypeAlias = Mapping[str, object]
"""Options by name, with values as in a TOML file."""
_Named: TypeAlias = tuple[Option, object, str]
"""An option, its value and its origin."""
_Key: TypeAlias = tuple[str, object, str]
"""A name as in a file, its value and its origin."""

_BY_NAME = {option.name: option for option in OPTIONS}
_BY_VARIABLE = {option.variable: option for option in OPTIONS}

SHIPPED: Final[Mapping[str, Profile]] = {
    # What the command `crawler` runs: every page under the seed's directory, whole, one at a time.
    "classic": {
        "scope": "prefix",
        "follow": "a,area",
        "delay": "1s",
        "connections": "1",
        "workers": "1",
        "max-pages": "1000000000000",
        "max-bytes": "1000TB",
        "max-page-bytes": "64MB",
        "timeout": "1m",
        "similarity": "off",
        "traps": "off",
        "scorer": "depth",
        "module": ["save"],
    },
    # Largest page number first, links from between the markers only, one pass over one host.
    "focused": {
        "scope": "host",
        "scorer": "page-number",
        "markers": "<!-- CONTENT -->",
        "follow": "a,area",
        "connections": "1",
        "workers": "1",
        "retries": "0",
        "revisit": "never",
    },
    # The distributed crawler of the whole web, most important pages first.
    "web": {
        "scope": "any",
        "follow": "a,area",
        "scorer": "auto",
        "max-pages": "10000",
        "max-bytes": "50MB",
        "max-page-bytes": "500kB",
        "similarity": "0.9",
        "similar-links": "ignore",
        "revisit": "1h",
        "keep": "1h",
        "retries": "1",
        "url-queue": "10000",
        "worker-queue": "10000",
    },
}


class Loaded(msgspec.Struct, frozen=True):
    """The effective options, and where each of them was set."""

    options: CrawlOptions
    origins: Mapping[str, str]
    """For each option's name: `default`, `stored with the crawl`, `profile NAME`, `FILE, line N`,
    the variable, or the flag."""


def load(
    command_line: Mapping[str, object],
    environment: Mapping[str, str],
    file: Path | None = None,
    stored: Mapping[str, object] = MappingProxyType({}),
) -> Loaded:
    """Return the options from all sources; raise `UsageError` for a wrong name or value.

    The keys of `command_line` are names of options (`max-pages` or `max_pages`), its values texts,
    lists of texts, or booleans; None counts as not given. `stored` are the values, by field, of a
    crawl that goes on.
    """
    origins = {option.name: DEFAULT for option in OPTIONS}
    values: dict[str, Any] = {}
    before = ((item, stored[item.field], STORED) for item in OPTIONS if item.field in stored)
    keys = list(_read_toml(file)) if file else []
    named = [*_from_file(keys), *_from_environment(environment), *_from_command_line(command_line)]
    for option, value, origin in chain(before, _from_profile(named, keys), named):
        values[option.field] = option.take(value, origin)
        origins[option.name] = origin
    try:
        return Loaded(CrawlOptions(**values), origins)
    except OptionConflictError as error:
        where = ", ".join(f"{name}: {origins[name]}" for name in error.names)
        raise UsageError(f"{error} ({where})") from error


def _from_profile(named: Iterable[_Named], keys: Iterable[_Key]) -> Iterator[_Named]:
    """Yield the options of the profile that was named last, if one was; check all of the file."""
    profiles: dict[str, Profile] = {}
    for key, value, where in keys:
        if key == PROFILES:
            profiles = _read_profiles(value, where)
    for profile in profiles:
        for option, value, where in _from_file(_profile_options(profile, "", profiles)):
            option.take(value, where)
    name, origin = None, ""
    for option, value, where in named:
        if option.name == "profile":
            name, origin = option.take(value, where), where
    if name is not None:
        yield from _from_file(_profile_options(str(name), origin, profiles))


def _profile_options(
    name: str, origin: str, profiles: Mapping[str, Profile]
) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and origin of each option of a profile; the user's own come first."""
    known = {**SHIPPED, **profiles}
    if name not in known:
        raise UsageError(
            f"profile {quoted(name)} ({origin}) is unknown: there are {', '.join(known)}; your own "
            "are tables [profiles.NAME] in the file that --config names"
        )
    for option, value in known[name].items():
        if option == "profile":
            raise UsageError(f"profile {quoted(name)} names another profile: write out its options")
        yield option, value, f"profile {name}"


def _read_profiles(value: object, where: str) -> dict[str, Profile]:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise UsageError(
            f"{PROFILES} ({where}) must hold tables of options: write [{PROFILES}.NAME] above them"
        )
    return {
        name: {key.replace("_", "-"): item for key, item in options.items()}
        for name, options in value.items()
    }


def _from_file(keys: Iterable[_Key]) -> Iterator[_Named]:
    for name, value, where in keys:
        if name == PROFILES:
            continue
        if isinstance(value, dict) and not (name in _BY_NAME and _BY_NAME[name].is_table):
            tables = [table for table, option in _BY_NAME.items() if option.is_table]
            if (table := nearest(name, [*tables, PROFILES])) is not None:
                raise UsageError(f"the table {name!r} ({where}) is unknown: did you mean {table}?")
            likely = nearest(next(iter(value), name), _BY_NAME) or "max-pages"
            raise UsageError(
                f"the table {name!r} ({where}) is unknown: write options, such as {likely}, at "
                "the top of the file, without a table"
            )
        if name not in _BY_NAME:
            raise _unknown(f"key {name!r} ({where})", name, _BY_NAME)
        # A number is read like a text: a duration needs its unit, as on the command line.
        is_number = type(value) in {int, float}
        yield _BY_NAME[name], str(value) if is_number else value, where


def _read_toml(file: Path) -> Iterator[_Key]:
    """Yield name, value and origin (`FILE, line N`) of every key of the file."""
    import tomllib  # noqa: PLC0415 -- loaded only for those who have a file

    try:
        text = file.read_text(encoding="utf-8-sig")
        keys = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the configuration file {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the configuration file {file} is not valid TOML: {error}") from error
    origins: dict[str, str] = {}
    for key, value in keys.items():
        name, origin = key.replace("_", "-"), f"{file}{_line(key, text)}"
        if name in origins:
            raise UsageError(f"{name} is set twice ({origins[name]}; {origin}): remove one")
        origins[name] = origin
        yield name, value, origin


def _line(key: str, text: str) -> str:
    # tomllib keeps no positions, but a key of the top level starts its line.
    start = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    for number, line in enumerate(text.splitlines(), start=1):
        if start.match(line):
            return f", line {number}"
    return ""


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Named]:
    for name, text in environment.items():
        if not name.startswith(PREFIX) or name in NOT_OPTIONS:
            continue
        if name not in _BY_VARIABLE:
            raise _unknown(f"variable {name}", name, _BY_VARIABLE)
        # An empty variable counts as not set: scripts and containers cannot always leave one out.
        if text.strip():
            yield _BY_VARIABLE[name], text, name


def _from_command_line(command_line: Mapping[str, object]) -> Iterator[_Named]:
    for key, value in command_line.items():
        name = key.replace("_", "-")
        if name not in _BY_NAME:
            raise _unknown(f"option {name!r}", name, _BY_NAME)
        if value is not None:
            yield _BY_NAME[name], value, _BY_NAME[name].flag


def _unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    retired = RETIRED.get(name.removeprefix(PREFIX).lower())
    if retired is not None:
        return UsageError(f"the {what} is now two: {retired}")
    if name in {"config", f"{PREFIX}CONFIG"}:
        return UsageError(f"the {what} is unknown: only --config names a configuration file")
    # What all variables begin with makes none of them like another.
    shortened = {known_name.removeprefix(PREFIX): known_name for known_name in known}
    near = nearest(name.removeprefix(PREFIX), shortened)
    if near is None:
        return UsageError(f"the {what} is unknown: 'gossamer crawl --help' lists the options")
    return UsageError(f"the {what} is unknown: the nearest valid one is {shortened[near]}")
