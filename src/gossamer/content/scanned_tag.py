"""A tag in the text of a page, with its attributes decoded where that is plain."""

import re
from functools import lru_cache
from html.entities import html5
from typing import Final

from gossamer.content.limits import PREFIX

_MAX_CACHED_LENGTH: Final = 200

# HTML standard, "before attribute name state" and the following; the text of a tag has no `>`.
_ATTRIBUTE: Final = re.compile(
    r"""
    [\t\n\f\r\ /]*+ ( =?[^\t\n\f\r\ /=]*+ )
    (?: [\t\n\f\r\ ]*+ = [\t\n\f\r\ ]*+ (?: "([^"]*+)" | '([^']*+)' | ([^\t\n\f\r\ ]*+) ) )?+
    """,
    re.VERBOSE,
)
# What follows an ampersand: a reference; nothing that could be one; or, in a value, a parameter of
# a query, which is none even if it begins like one.
_REFERENCE: Final = re.compile(
    r"""
    & (?: \#([0-9]{1,7}); | \#[xX]([0-9A-Fa-f]{1,6}); | ([A-Za-z][A-Za-z0-9]*+;)
        | (?![A-Za-z0-9\#]) | ([A-Za-z0-9]++(?==)) | (.) )
    """,
    re.VERBOSE | re.DOTALL,
)
_FIRST_PLAIN, _SURROGATES, _END_OF_PLAIN = 0xA0, range(0xD800, 0xE000), 0xFDD0
"""The numbers of characters among which none but surrogates means another; ASCII's are plain too,
but for the control characters."""


class InDoubtError(Exception):
    """Only the tree of a page can tell what this is."""


class ScannedTag:
    """A tag as it stands in a page."""

    def __init__(self, tag: str, attributes: str, text: str = "") -> None:
        self.tag = tag
        self._text = text
        self._attributes: dict[str, str] = {}
        for name, double, single, unquoted in _ATTRIBUTE.findall(attributes):
            # Of several with one name the first counts.
            self._attributes.setdefault(name.lower(), double or single or unquoted)

    @property
    def text(self) -> str:
        """The text of an element without tags in it."""
        return _decoded(self._text, is_value=False)

    def attr(self, name: str, /) -> str | None:
        """Return the value of an attribute; None if there is none of this name."""
        value = self._attributes.get(name)
        return _decoded(value, is_value=True) if value else value


def scanned_tag(tag: str, attributes: str) -> ScannedTag:
    """Return a tag; the pages of a site have many in common."""
    make = _remembered_tag if len(attributes) <= _MAX_CACHED_LENGTH else ScannedTag
    return make(tag, attributes)


@lru_cache(1000)
def _remembered_tag(tag: str, attributes: str) -> ScannedTag:
    return ScannedTag(tag, attributes)


def _decoded(text: str, *, is_value: bool) -> str:
    """Return the text with its character references replaced; `InDoubtError` for an unusual one."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "&" in text:
        text = _REFERENCE.sub(_in_value if is_value else _in_text, text)
    # What looks as if we had renamed it would be named back in the tree.
    if PREFIX in text:
        raise InDoubtError
    return text


def _in_text(match: re.Match[str]) -> str:
    if match[4]:
        raise InDoubtError
    return _in_value(match)


def _in_value(match: re.Match[str]) -> str:
    decimal, hexadecimal, name, _, doubtful = match.groups()
    if decimal or hexadecimal:
        return _character(int(decimal) if decimal else int(hexadecimal, 16))
    if doubtful or (name and name not in html5):
        raise InDoubtError
    return html5[name] if name else match[0]


def _character(code: int) -> str:
    is_plain = _FIRST_PLAIN <= code < _END_OF_PLAIN and code not in _SURROGATES
    if not (is_plain or 0x20 <= code < 0x7F or code in b"\t\n"):
        raise InDoubtError
    return chr(code)
