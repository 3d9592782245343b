"""The shape of a URL: what is left of it when numbers and random names are left out.

Traps make URLs without end, and nearly all of them have few shapes: `/calendar/N/N`, `/X/about`,
`/list?page=N`. N stands for a number, X for what looks random: identifiers, keys of sessions,
numbers of many digits.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

from gossamer.model import Url

MAX_KEY_LENGTH: Final = 120
_MAX_NAMES: Final = 4
"""URLs with more parameters are of one shape, whatever their names are."""
_MIN_RANDOM: Final = 8
_MIN_UNSPEAKABLE: Final = 6
_LONG: Final = 20

_NUMBER: Final = re.compile(r"[0-9]+")
_PIECE: Final = re.compile(r"[0-9A-Za-z]+")
_CHANGES: Final = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_HEX: Final = re.compile(r"[0-9a-fA-F]+\Z")
_CONSONANTS: Final = re.compile(r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{6}")
_WITHOUT_VOWELS: Final = str.maketrans("", "", "aeiouyAEIOUY")


class UrlShape(msgspec.Struct, frozen=True):
    """The shape of a URL."""

    template: str
    """The URL without numbers and random parts; its group if it has neither, and no query."""
    group: str
    """Its first directory: `/maze/*`, or `/*` if it is in none."""
    page: str = ""
    """The URL without its random parts only; empty if it has none. If those are keys of sessions,
    URLs with the same are one page."""
    sessions: tuple[str, ...] = ()
    """Where the random parts are: `/s/X/*`, `*?visit=X`."""


@lru_cache(maxsize=4096)
def shape_of(url: Url) -> UrlShape:
    """Return the shape of a URL."""
    path, _, query = url.partition("?")
    group, parts = group_of(url), path.split("/")[3:]
    segments = [_template(one) for one in parts]
    if not query and not any(one.kinds for one in segments):
        return UrlShape(group, group)
    template = "/" + "/".join(one.text for one in segments) + _query_shape(query)
    sessions = []
    for number, one in enumerate(segments):
        if "X" in one.kinds:
            sessions.append("/" + "/".join(each.text for each in segments[: number + 1]) + "/*")
            break
    names = _parameters(query)
    sessions += [f"*?{name}=X" for name, value in names if "X" in _template(value).kinds]
    return UrlShape(
        template[:MAX_KEY_LENGTH],
        group,
        _PIECE.sub(lambda piece: "X" if is_random(piece[0]) else piece[0], url) if sessions else "",
        tuple(one[:MAX_KEY_LENGTH] for one in sessions),
    )


def group_of(url: Url) -> str:
    """Return the first directory of a URL, where random names and numbers do not tell apart."""
    parts = url.partition("?")[0].split("/", 4)
    # scheme, nothing, host, first segment, rest
    return f"/{_template(parts[3]).text}/*"[:MAX_KEY_LENGTH] if len(parts) > 4 else "/*"


class _Template(msgspec.Struct, frozen=True):
    text: str
    kinds: str
    """N if a number was left out, X if something random was."""


@lru_cache(maxsize=16384)
def _template(segment: str) -> _Template:
    """Return a segment, or a value, without its numbers and random parts."""
    segment = segment[:MAX_KEY_LENGTH]
    text = _PIECE.sub(lambda piece: "\0" if is_random(piece[0]) else piece[0], segment)
    kinds = "X" if "\0" in text else ""
    text, numbers = _NUMBER.subn("N", text)
    return _Template(text.replace("\0", "X"), kinds + ("N" if numbers else ""))


def is_random(name: str) -> bool:
    """Tell whether letters and digits without a separator look like no word and no small number.

    Keys of sessions and times are numbers of many digits, too.
    """
    if name.isdigit():
        return len(name) >= _MIN_RANDOM
    if not name.isalpha():
        is_key = len(_CHANGES.findall(name)) >= 3 or _HEX.match(name) is not None
        return len(name) >= _MIN_RANDOM and (is_key or len(name) >= _LONG)
    if len(name) < _MIN_UNSPEAKABLE or name.isupper():
        return False
    vowels = len(name) - len(name.translate(_WITHOUT_VOWELS))
    return 7 * vowels < len(name) or _CONSONANTS.search(name) is not None


def _query_shape(query: str) -> str:
    if not query:
        return ""
    names = sorted({_template(name).text for name, _ in _parameters(query)})
    return "?" + ("&".join(names) if len(names) <= _MAX_NAMES else "…")


def _parameters(query: str) -> list[tuple[str, str]]:
    pairs = (one.partition("=") for one in query.split("&")[: 2 * _MAX_NAMES] if one)
    return [(name, value) for name, _, value in pairs]
