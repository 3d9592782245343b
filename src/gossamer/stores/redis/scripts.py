"""The Lua scripts, put together from their files.

A step names in its first line the files of which it needs something. Redis runs a script from its
first line each time, definitions and all, so it gets only the paragraphs that it uses, and every
constant in place of its name. For that, a paragraph of a common file (up to the next empty line)
is one definition, and what is no definition always belongs to the script. Functions become fields
of one table: a closure over many others takes Lua long to make.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from gossamer.frontier import scheduler, scheduler_rules
from gossamer.frontier.queues import MAX_SCORE
from gossamer.policy import rests
from gossamer.stores.contract import UrlState
from gossamer.stores.embedded import host_registry, store
from gossamer.stores.redis.keys import NAMES

RECORD_VERSION = 1
"""How records of URLs are packed."""
ANSWERS = 1024
"""How many answers are kept for each client: more calls than that are never on their way."""
ANSWERS_S = 86_400
LEASES_PER_S = 10_000
"""The number of a lease is the moment at which it was given, in parts of a second, or the next."""
LONGEST_MS = 10**13
"""Longer than that nothing is kept for a time: the server counts it in 64 bits."""
POISON_DEATHS = 3
POISON_WORDS = "three workers died on it"
MAX_SHARING = 32
"""How many pages of a band are looked at: the last ones."""
MAX_CANDIDATES = 32
"""How many pages are compared: those that share most bands."""

CONSTANTS: Mapping[str, int | float | str] = {
    **{state.name: state.value for state in UrlState},
    "VERSION": RECORD_VERSION,
    "ANSWERS": ANSWERS,
    "ANSWERS_S": ANSWERS_S,
    "LEASES_PER_S": LEASES_PER_S,
    "LONGEST_MS": LONGEST_MS,
    "POISON_DEATHS": POISON_DEATHS,
    "POISON_WORDS": POISON_WORDS,
    "MAX_SHARING": MAX_SHARING,
    "MAX_CANDIDATES": MAX_CANDIDATES,
    "MAX_SCORE": MAX_SCORE,
    "MAX_RETRY_AFTER_S": rests.MAX_RETRY_AFTER_S,
    "MAX_BACK_OFF_S": rests.MAX_BACK_OFF_S,
    "HOPELESS_AFTER": rests.HOPELESS_AFTER,
    "HOPELESS_AFTER_REFUSALS": rests.HOPELESS_AFTER_REFUSALS,
    "SOON_S": scheduler.SOON_S,
    "PROMISE_S": scheduler.PROMISE_S,
    "ASK_AGAIN_S": scheduler.ASK_AGAIN_S,
    "ASSIGNED_AT_ONCE": scheduler.ASSIGNED_AT_ONCE,
    "MAX_ASSIGNED": scheduler_rules.MAX_ASSIGNED,
    "SLOW_HOSTS": host_registry.SLOW_HOSTS,
    "EXPIRED_AT_ONCE": store.EXPIRED_AT_ONCE,
}

_NEEDS = "-- needs:"
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"^local (?:function (\w+)|([\w, ]+?) =)", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst\.(\w+)|\bK\.(\w+)")
_COUNTER = re.compile(r"\bC\.(\w+)")


class Script(msgspec.Struct, frozen=True):
    """One step, as the server gets it."""

    name: str
    source: bytes
    sha: bytes


@cache
def script(name: str) -> Script:
    """Return a step by its name."""
    source = _put_together(name).encode()
    return Script(name, source, hashlib.sha1(source, usedforsecurity=False).hexdigest().encode())


def _put_together(name: str) -> str:
    body = _read(name)
    first = body.partition("\n")[0]
    if not first.startswith(_NEEDS):
        raise ValueError(f"the script {name} does not say what it needs")
    common = first.removeprefix(_NEEDS).split()
    parts = [part for file in common for part in _paragraphs(_read(file))]
    source = _in_one_table("\n".join(_needed(parts, body)), body)
    counters = sorted({"unsure", *_COUNTER.findall(source)})
    source = source.replace("COUNTERS", ", ".join(f"'{one}'" for one in counters))
    return _CONSTANT.sub(_literal, source)


def _needed(parts: list[str], body: str) -> list[str]:
    """Return those paragraphs that are used, and what is no definition."""
    needed, chosen = {"F", *_words(body)}, set[int]()
    for place, part in reversed([*enumerate(parts)]):  # what is used is defined before
        defined = _defined(part)
        if not defined or defined & needed:
            needed |= _words(part)
            chosen.add(place)
    return [parts[place] for place in sorted(chosen)]


def _in_one_table(common: str, body: str) -> str:
    functions = _FUNCTION.findall(common)
    source = _FUNCTION.sub(r"function F.\1", common) + "\n" + body
    if not functions:
        return source
    return re.sub(rf"(?<![\w.:])({'|'.join(functions)})\(", r"F.\1(", source)


def _literal(match: re.Match[str]) -> str:
    constant, key = match.groups()
    value = CONSTANTS[constant] if constant else NAMES[key]
    return f"'{value}'" if isinstance(value, str) else repr(value)


def _paragraphs(source: str) -> Iterator[str]:
    for paragraph in re.split(r"\n{2,}", source.strip()):
        lines = [line for line in paragraph.splitlines() if not line.lstrip().startswith("--")]
        if lines:
            yield "\n".join(lines)


def _defined(part: str) -> set[str]:
    return {name for pair in _DEFINED.findall(part) for name in _WORD.findall(" ".join(pair))}


def _words(source: str) -> set[str]:
    return set(_WORD.findall(source))


def _read(name: str) -> str:
    return (files(__package__) / "lua" / f"{name}.lua").read_text(encoding="utf-8")
