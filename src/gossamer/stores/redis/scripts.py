"""The Lua scripts, put together from their files.

A step names in its first line the files of which it needs something. Redis runs a script from its
first line each time, definitions and all, so it gets only the paragraphs that it uses, and every
constant in place of its name. For that, a paragraph of a common file (up to the next empty line)
is one definition, and what is no definition always belongs to the script. Functions become fields
of one table: a closure over many others takes Lua long to make.

Where a crawl is divided, its partitions and its centre have scripts of their own, made of the same
files: what stands in the folder `part/` or `centre/` takes the place of the file of that name, or,
in a common file, of the paragraphs that define the same. A line that begins with `--divided` is
there in the scripts of a partition, and in no other.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from gossamer.frontier import desk, desk_rules
from gossamer.frontier.queues import MAX_SCORE
from gossamer.policy import pace
from gossamer.stores import embedded, host_book
from gossamer.stores.contract import Place
from gossamer.stores.redis.keys import NAMES

RECORD_VERSION = 1
"""How records of URLs are packed."""
ANSWERS = 1024
"""How many answers are kept for each client: more calls than that are never on their way."""
ANSWERS_S = 86_400
LEASES_PER_S = 10_000
"""The number of a lease is the moment at which it was given, in parts of a second, or the next."""
KEPT_MESSAGES_S = 10
"""How long a message is kept that was taken in: longer than what a server loses by a crash."""
LONGEST_MS = 10**13
"""Longer than that nothing is kept for a time: the server counts it in 64 bits."""
POISON_DEATHS = 3
POISON_WORDS = "three workers died on it"
MAX_SHARING = 32
"""How many pages of a band are looked at: the last ones."""
MAX_CANDIDATES = 32
"""How many pages are compared: those that share most bands."""

CONSTANTS: Mapping[str, int | float | str] = {
    **{place.name: place.value for place in Place},
    "VERSION": RECORD_VERSION,
    "ANSWERS": ANSWERS,
    "ANSWERS_S": ANSWERS_S,
    "LEASES_PER_S": LEASES_PER_S,
    "KEPT_MESSAGES_S": KEPT_MESSAGES_S,
    "LONGEST_MS": LONGEST_MS,
    "POISON_DEATHS": POISON_DEATHS,
    "POISON_WORDS": POISON_WORDS,
    "MAX_SHARING": MAX_SHARING,
    "MAX_CANDIDATES": MAX_CANDIDATES,
    "MAX_SCORE": MAX_SCORE,
    "MAX_RETRY_AFTER_S": pace.MAX_RETRY_AFTER_S,
    "MAX_BACK_OFF_S": pace.MAX_BACK_OFF_S,
    "HOPELESS_AFTER": pace.HOPELESS_AFTER,
    "HOPELESS_AFTER_REFUSALS": pace.HOPELESS_AFTER_REFUSALS,
    "SOON_S": desk.SOON_S,
    "PROMISE_S": desk.PROMISE_S,
    "ASK_AGAIN_S": desk.ASK_AGAIN_S,
    "DEALT_AT_ONCE": desk.DEALT_AT_ONCE,
    "MOST_DEALT": desk_rules.MOST_DEALT,
    "SLOW_HOSTS": host_book.SLOW_HOSTS,
    "EXPIRED_AT_ONCE": embedded.EXPIRED_AT_ONCE,
}

Kind = Literal["whole", "part", "centre"]
"""Of what the keys are that a script works on: a whole crawl, a partition, the centre."""

_NEEDS = "-- needs:"
_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"^local (?:function (\w+)|([\w, ]+?) =)", re.MULTILINE)
_FUNCTION = re.compile(r"^local function (\w+)", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst\.(\w+)|\bK\.(\w+)")
_COUNTER = re.compile(r"\bC\.(\w+)")
_DIVIDED = re.compile(r"^( *)--divided (.*\n)", re.MULTILINE)


class Script(msgspec.Struct, frozen=True):
    """One step, as the server gets it."""

    name: str
    source: bytes
    sha: bytes


@cache
def script(name: str, kind: Kind = "whole") -> Script:
    """Return a step by its name."""
    source = _put_together(name, kind).encode()
    return Script(name, source, hashlib.sha1(source, usedforsecurity=False).hexdigest().encode())


def _put_together(name: str, kind: Kind) -> str:
    body = _read_own(name, kind) or _read(name, kind)
    first = body.partition("\n")[0]
    if not first.startswith(_NEEDS):
        raise ValueError(f"the script {name} does not say what it needs")
    common = first.removeprefix(_NEEDS).split()
    if kind != "whole":
        common.insert(common.index("base") + 1, "outbox")
    parts = [part for file in common for part in _definitions(file, kind)]
    source = _in_one_table("\n".join(_needed(parts, body, kind)), body)
    counters = sorted({"unsure", *_COUNTER.findall(source)})
    source = source.replace("COUNTERS", ", ".join(f"'{one}'" for one in counters))
    return _CONSTANT.sub(_literal, source)


def _needed(parts: list[str], body: str, kind: Kind) -> list[str]:
    """Return those paragraphs that are used, and what is no definition."""
    needed, chosen = {"F", *_words(body)}, set[int]()
    while True:
        before = len(chosen)
        for place, part in reversed([*enumerate(parts)]):  # what is used is defined before
            defined = _defined(part)
            if place not in chosen and (not defined or defined & needed):
                needed |= _words(part)
                chosen.add(place)
        # Only what stands in a folder of its own may be used before it is defined.
        if kind == "whole" or len(chosen) == before:
            return [parts[place] for place in sorted(chosen)]


def _definitions(file: str, kind: Kind) -> list[str]:
    """Return the paragraphs of a common file, as they are for a kind of script."""
    own = [*_paragraphs(_read_own(file, kind))]
    replaced = {name for part in own for name in _defined(part)}
    common = _paragraphs(_read(file, kind))
    return [part for part in common if not _defined(part) & replaced] + own


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


def _read(name: str, kind: Kind) -> str:
    """Return a file that all kinds of scripts have in common; empty if there is none."""
    file = files(__package__) / "lua" / f"{name}.lua"
    source = file.read_text(encoding="utf-8") if file.is_file() else ""
    return _DIVIDED.sub(r"\1\2" if kind == "part" else "", source)


def _read_own(name: str, kind: Kind) -> str:
    """Return what a kind of scripts has for itself; empty if there is nothing."""
    file = files(__package__) / "lua" / kind / f"{name}.lua"
    return file.read_text(encoding="utf-8") if file.is_file() else ""
