"""White space between words."""

from typing import Final

from turbohtml import parse_fragment

_NODE: Final = parse_fragment("")
"""Expressions are evaluated on a node, also those that are not about it."""


def with_single_spaces(text: str) -> str:
    """Return the words of a text with one space between them.

    This is what splitting and joining it yields, without making a string of each word.
    """
    spaced = str(_NODE.xpath("normalize-space($text)", text=text.replace("\xa0", " ")))
    # XPath knows no white space but that of XML. All other is not printable.
    return spaced if spaced.isprintable() else " ".join(spaced.split())
