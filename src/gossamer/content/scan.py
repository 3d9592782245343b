"""A scan of the text of a page for its links, title, base and meta elements, without a tree.

It is for large pages, whose trees are limited (`limits.py`) and take two to four times as long.
The tree of a small page is made sooner than its text is scanned. Most pages are written so that
the tree cannot change what their tags say. For these the scan gives exactly what `PageReader`
gives, and every other page it leaves to the tree. One regular expression visits the tags in their
order. That this is enough rests on three facts:

1. **Where a tag ends.** A quote begins a value only after `=`. If no such value has a `<` or `>` in
   it (`_DOUBTFUL_VALUE`), every tag ends at the first `>`. So the expression can go from a `>` over
   text to the next `<`, which begins a tag, and need not look into tags that do not matter.
2. **What is text.** Comments, scripts and other elements without tags in them are skipped whole, if
   it is plain where they end.
3. **Which elements the tree has, and in which order.** Those of the tags in their order, with a few
   exceptions; where one could apply, the page is left to the tree:
   - what is in a `template`, `svg`, `math`, `select` or `frameset` may be no element of HTML, or
     none at all, and what is a tag follows other rules there. Drawings and choices are frequent, so
     those that consist of nothing else are skipped;
   - in a table but outside of its cells, everything is moved before the table. So the tag of a
     table must be followed by another one, unless it begins a cell or a caption, or ends the table;
   - a second `html` adds its attributes to the first.
   An unclosed `a` is repeated in the tree, and counts once there. Otherwise an end tag that is
   missing or misplaced changes what is in what, but not the order.

Names in capitals, `<` as text, null characters and character references that are not plainly
written have rules of their own, and are rare: pages with them are left to the tree as well.
`make fuzz-scan` compares scan and tree on real and on damaged pages.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from gossamer.content.contents import MAX_HREFS, Handler, PageContents, handlers_for
from gossamer.content.limits import PREFIX, root_in
from gossamer.content.reader import PageReader
from gossamer.content.scanned_tag import InDoubtError, ScannedTag, scanned_tag
from gossamer.kinds import LinkKind

_RAW: Final = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
"""The elements without tags in them."""
_LEFT: Final = ("frame", "frameset", "image", "math", "plaintext", "template", f"{PREFIX}a")
"""The elements that leave a page to the tree."""
_CELLS: Final = ("caption", "td", "th")
_AROUND_CELLS: Final = ("col", "colgroup", "tbody", "tfoot", "thead", "tr")
_DRAWN: Final = (
    *("circle", "clipPath", "defs", "ellipse", "g", "line", "linearGradient", "mask", "path"),
    *("polygon", "polyline", "radialGradient", "rect", "stop", "symbol", "text", "tspan", "use"),
)
"""Elements of drawings that would mean nothing in HTML either."""

_SPACE: Final = r"[\t\n\f\r\ ]*+"


def _named(names: Iterable[str]) -> str:
    """Return an expression for names. Each alternative begins with a letter: that is quicker.

    Capitals after the first letter are found, so that they are not taken for another name.
    """
    letters: dict[str, list[str]] = {}
    for name in sorted(names):
        letters.setdefault(name[0], []).append(name[1:])
    alternatives = (f"{letter}(?i:{'|'.join(rest)})" for letter, rest in letters.items())
    return " | ".join(rf"{one}(?=[\t\n\f\r\ />])" for one in alternatives)


def _only(names: Iterable[str], name: str) -> re.Pattern[str]:
    """Return an expression for an element with a title, if any, and only such tags in it."""
    return re.compile(
        rf"""
        (?=[\t\n\f\r\ >]) [^>]*+ (?: (?<!/) > {_SPACE} <title>[^<>]*+</title )?+
        (?: > [^<>]*+ </?(?:{_named(names)}) [^>]*+ )*+ > [^<>]*+ </{name}{_SPACE}(?=>)
        """,
        re.VERBOSE,
    )


# From the end of the name up to the `>` at the end; the group has neither tags nor values.
_SKIPPED: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "!--": re.compile(r"(?!-?>) ( (?: [^-]++ | -(?!-!?>) )*+ ) --(?=>)", re.VERBOSE),
        "svg": _only(_DRAWN, "svg"),
        "select": _only(("optgroup", "option"), "select"),
    }
    | {
        name: re.compile(
            rf"""
            [^>]*+ > ( [^<]*+ (?: <(?!/{name}[\t\n\f\r\ />]) [^<]*+ )*+ ) </{name}{_SPACE}(?=>)
            """,
            re.VERBOSE | re.IGNORECASE | re.ASCII,
        )
        for name in _RAW
    }
)
# Beginnings of tags that do not matter, told apart at once.
_FREQUENT: Final = "/[abd-su-z] | span | div"
# The most frequent form: attributes in double quotes, and nothing to decode in the URL.
_PLAIN_LINK: Final = r"""
    a (?: \ (?!href=)[a-z-]++="[^"<>]*+" )*+ \ href="( [^"<>&\t\n\f\r\ ]*+ )" [^>]*+
"""
_OUT_OF_CELLS: Final = rf"""
    (?: {_named((*_AROUND_CELLS, "table"))} | /(?:{_named((*_AROUND_CELLS, *_CELLS))}) )
    [^>]*+ > (?! {_SPACE} </?(?:{_named((*_AROUND_CELLS, *_CELLS, "table"))}) )
"""
_ODD: Final = r"!(?!(?i:doctype))(?:--)? | \?(?!xml) | [^a-z/!?] | /[^a-z]"

_DOUBTFUL_VALUE: Final = re.compile(
    rf"""= {_SPACE} (?: "[^"<>]*+[<>] | '[^'<>]*+[<>] )""", re.VERBOSE
)
_SCRIPT_IN_COMMENT: Final = re.compile("<!--.*?<script", re.DOTALL | re.IGNORECASE | re.ASCII)


class ScannedPage(PageContents):
    """The contents of a page, from a scan; a tree is made if its text is asked for."""

    def __init__(self, text: str, follow: frozenset[LinkKind]) -> None:
        super().__init__(follow)
        self._text = text

    def take_text(self) -> str:
        """Return the visible text."""
        return PageReader(self._text).take_text()

    def take_run(self) -> str:
        """Return the visible text as one run of characters."""
        return PageReader(self._text).take_run()


@cache
def _handlers(follow: frozenset[LinkKind]) -> Mapping[str, Handler]:
    handlers = handlers_for(ScannedPage, follow)
    return {name: handler for name, handler in handlers.items() if name not in _LEFT}


@cache
def _pattern(follow: frozenset[LinkKind]) -> re.Pattern[str]:
    """Return the expression for the next tag that matters, from the `>` before it."""
    names = {*_handlers(follow), "html", *_SKIPPED, *_LEFT} - {"!--"}
    plain_link = _PLAIN_LINK if LinkKind.A in follow else "(?!)()"
    alternatives = (plain_link, _named(names), _OUT_OF_CELLS, _ODD)
    return re.compile(
        rf"""
        > [^<>]*+ < (?!{_FREQUENT}) (?: {" | ".join(alternatives)} )
        """,
        re.VERBOSE,
    )


def scan(text: str, follow: frozenset[LinkKind]) -> PageContents | None:
    """Return the contents of a page; None if only the tree can tell."""
    try:
        return _Scan(text, follow).contents()
    except InDoubtError:
        return None


class _Scan:
    """One scan of a page."""

    def __init__(self, text: str, follow: frozenset[LinkKind]) -> None:
        self._text = text
        self._source = f">{text}"
        self._pattern = _pattern(follow)
        self._handlers = _handlers(follow)
        self._page = ScannedPage(text, follow)
        self._checked = 0
        """Up to here no value is doubtful."""
        self._has_root = False

    def contents(self) -> PageContents:
        """Return the contents of the page, or raise `InDoubtError`."""
        source = self._source
        # Of a tag that does not end, the tree has no element.
        if "\0" in source or source.rfind("<") > source.rfind(">"):
            raise InDoubtError
        position: int | None = 0
        while position is not None:
            position = self._read(position)
        self._check_values(len(source), 0)
        # A refresh in a noscript does not count, nor do more links than the limit.
        is_refreshed = self._page.refresh is not None
        if (is_refreshed and "<noscript" in source) or len(self._page.hrefs) > MAX_HREFS:
            raise InDoubtError
        return self._page

    def _read(self, position: int) -> int | None:
        """Note tags up to one that is to be skipped; return where it ends."""
        hrefs, kinds = self._page.hrefs, self._page.kinds
        for match in self._pattern.finditer(self._source, position):
            if (href := match[1]) is not None:
                hrefs.append(href)
                kinds.append(LinkKind.A)
                continue
            name = match[0].partition("<")[2]
            if (skipped := _SKIPPED.get(name)) is not None:
                return self._skip(name, skipped.match(self._source, match.end()))
            self._note(name, match.end())
        return None

    def _note(self, name: str, start: int) -> None:
        attributes = self._source[start : self._source.find(">", start)]
        if name == "a" and "href" not in attributes.lower():
            return
        tag = scanned_tag(name, attributes)
        if (handler := self._handlers.get(name)) is not None:
            handler(self._page, tag)
        elif name != "html" or self._has_root or root_in(self._text) != start - len("><html"):
            raise InDoubtError
        else:
            self._has_root = True
            self._page.note_root(tag)

    def _skip(self, name: str, match: re.Match[str] | None) -> int:
        """Skip what has no tags in it, or none that matter."""
        if match is None:
            raise InDoubtError
        if match.re.groups:
            # In such a script, an end tag may be part of it.
            if name == "script" and _SCRIPT_IN_COMMENT.search(match[1]):
                raise InDoubtError
            if (handler := self._handlers.get(name)) is not None:
                attributes = self._source[match.start() : match.start(1) - 1]
                handler(self._page, ScannedTag(name, attributes, match[1]))
            self._check_values(match.start(1), match.end())
        return match.end()

    def _check_values(self, end: int, resumed: int) -> None:
        """Check the values of all tags before `end`; what follows up to `resumed` has none."""
        if _DOUBTFUL_VALUE.search(self._source, self._checked, end) is not None:
            raise InDoubtError
        self._checked = resumed
