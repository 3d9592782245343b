"""The sources of options, and their precedence.

    command line  >  GOSSAMER_… variables  >  TOML file  >  default

A stronger source replaces the value of a weaker one, lists too. Every value is checked, also a
replaced one. A TOML file is read only when it is named: nothing is picked up from the current
directory.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from gossamer.config.declaration import PREFIX, Option
from gossamer.config.kinds import nearest
from gossamer.config.options import OPTIONS, CrawlOptions, OptionConflictError
from gossamer.errors import UsageError

DEFAULT = "default"

_Given: TypeAlias = tuple[Option, object, str]
"""An option, its value and its origin."""

NOT_OPTIONS = frozenset({"GOSSAMER_DOCS"})
"""Variables with that prefix that are not options."""


class Loaded(msgspec.Struct, frozen=True):
    """The effective options, and where each of them was set."""

    options: CrawlOptions
    origins: Mapping[str, str]
    """For each option's name: `default`, `FILE, line N`, the variable, or the flag."""


def load(
    command_line: Mapping[str, object], environment: Mapping[str, str], file: Path | None = None
) -> Loaded:
    """Return the options from all sources; raise `UsageError` for a wrong name or value.

    The keys of `command_line` are names of options (`max-pages` or `max_pages`), its values texts,
    lists of texts, or booleans; None counts as not given.
    """
    origins = {option.name: DEFAULT for option in OPTIONS}
    values: dict[str, Any] = {}
    typed = _from_command_line(command_line)
    for option, value, origin in chain(_from_file(file), _from_environment(environment), typed):
        values[option.field] = option.take(value, origin)
        origins[option.name] = origin
    try:
        return Loaded(CrawlOptions(**values), origins)
    except OptionConflictError as error:
        where = ", ".join(f"{name}: {origins[name]}" for name in error.names)
        raise UsageError(f"{error} ({where})") from error


def _from_file(file: Path | None) -> Iterator[_Given]:
    known = {option.name: option for option in OPTIONS}
    for name, value, where in _read_toml(file) if file else ():
        if isinstance(value, dict):
            likely = nearest(next(iter(value), name), known)
            raise UsageError(
                f"the table {name!r} ({where}) is unknown: write options, such as {likely}, at "
                "the top of the file, without a table"
            )
        if name not in known:
            raise _unknown(f"key {name!r} ({where})", name, known)
        # A number is read like a text: a duration needs its unit, as on the command line.
        is_number = type(value) in {int, float}
        yield known[name], str(value) if is_number else value, where


def _read_toml(file: Path) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and origin (`FILE, line N`) of every option in the file."""
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


def _from_environment(environment: Mapping[str, str]) -> Iterator[_Given]:
    known = {option.variable: option for option in OPTIONS}
    for name, text in environment.items():
        if not name.startswith(PREFIX) or name in NOT_OPTIONS:
            continue
        if name not in known:
            raise _unknown(f"variable {name}", name, known)
        # An empty variable counts as not set: scripts and containers cannot always leave one out.
        if text.strip():
            yield known[name], text, name


def _from_command_line(command_line: Mapping[str, object]) -> Iterator[_Given]:
    known = {option.name: option for option in OPTIONS}
    for key, value in command_line.items():
        name = key.replace("_", "-")
        if name not in known:
            raise _unknown(f"option {name!r}", name, known)
        if value is not None:
            yield known[name], value, known[name].flag


def _unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    if name in {"config", f"{PREFIX}CONFIG"}:
        return UsageError(f"the {what} is unknown: only --config names a configuration file")
    return UsageError(f"the {what} is unknown: the nearest valid one is {nearest(name, known)}")
