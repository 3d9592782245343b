"""The language of a page, as its markup or its header says."""

import re
from collections.abc import Iterable
from typing import Final

from gossamer.model import Headers

# RFC 5646: subtags of letters and digits. An underscore is a common mistake.
_TAG: Final = re.compile(r"\s*([A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8}){0,8})\s*(?:,|$)")


def first_language(values: Iterable[str | None]) -> str:
    """Return the first language that is named; empty if none is. Of a list its first counts."""
    for value in values:
        found = _TAG.match(value) if value else None
        if found:
            return found[1].replace("_", "-")
    return ""


def header_language(headers: Headers) -> str:
    """Return the language that the header of an answer names."""
    return first_language(headers.get_all("content-language"))
