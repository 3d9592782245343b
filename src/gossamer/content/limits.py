"""Pages that would explode when their tree is built.

Where an author forgets to close `<b>`, the HTML standard opens it again in every paragraph that
follows ("reconstruct the active formatting elements"), with all its attributes; and a second
`<body>` adds its attributes to the first. A few hundred such tags before a few thousand paragraphs
make a tree of gigabytes out of 100 kB, in any parser that keeps to the standard. On pages large
enough for that, these elements get names that mean nothing to a parser: links and words stay what
they are, and the tree stays in proportion to the page.
"""

import re
from typing import Final

HARMLESS: Final = 20_000_000
"""Up to so many tags times characters, the worst page costs 120 MB and a tenth of a second."""

PREFIX: Final = "gossamer-"
"""What the names of limited elements begin with."""

# The first letters are looked at first because most tags need no closer look.
_EXPLOSIVE: Final = re.compile(
    r"""<(?=[abcefhinstu])
         (?=(?:[abisu]|em|tt|big|body|code|font|html|nobr|small|strike|strong)[\t\n\f\r\ />])""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)


def limited_tree(text: str) -> str:
    """Return the page with its formatting elements renamed if it could explode, else as it is.

    Their end tags are left alone: without an open element of that name they do nothing.
    """
    if text.count("<") * len(text) <= HARMLESS:
        return text
    return _EXPLOSIVE.sub(f"<{PREFIX}", text)


def as_written(text: str) -> str:
    """Return a piece of a limited page, a title or the like, as its author wrote it."""
    return text.replace(f"<{PREFIX}", "<")
