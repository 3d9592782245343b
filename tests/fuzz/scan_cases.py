"""Pages on which the scan of a text is compared with the tree, whole and damaged."""

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from gossamer.content.contents import PageContents
from gossamer.content.reader import PageReader
from gossamer.content.scan import scan
from gossamer.kinds import LinkKind
from gossamer.policy.link_kinds import HYPERLINKS, USUAL

TREE_TESTS: Final = Path(__file__).parents[1] / "spec/data/html/tree_construction.json"
"""The inputs of the tree construction tests of html5lib and the web platform."""

FOLLOWED: Final = (
    USUAL,
    frozenset(LinkKind),
    HYPERLINKS,
    frozenset({LinkKind.NEXT, LinkKind.IMAGE, LinkKind.SCRIPT}),
)

_ALL_NAMES: Final = """
    a a area b base body br button caption code col colgroup div em font form frame frameset g h1
    head hr html i iframe image img input li link listing math meta mi nobr noembed noframes
    noscript object optgroup option p path plaintext pre script section select source span style
    svg table tbody td template textarea tfoot th thead title tr tt ul use video xmp
"""
_NAMES: Final = tuple(_ALL_NAMES.split())
_ATTRIBUTES: Final = (
    *('href="x"', "href='y'", "href=z", "HREF=w", 'href="?a=1&b=2"', 'href="&amp;&lt;&copy"'),
    *(
        'href="a&#39;b&#x41;"',
        'href="&copy=1&notit;&zz;"',
        'href="\r\n q \r"',
        "href",
        'href = "v"',
    ),
    *('title="a > b"', 'title="<a href=no>"', "title='\"'", 'class=""', '="', "='", "=", '"', "'"),
    *('rel="next"', "rel=prev", 'rel="preload" as="font"', 'src="s"', 'srcset="p 1x, q 2x"', "/"),
    *('name="n"', 'content="c"', "content='0;url=r'", 'http-equiv="refresh"', "content=de", "<"),
    *(
        'http-equiv="Content-Language"',
        'lang="en"',
        "xml:lang=fr",
        "type=image",
        "data=d",
        "poster=p",
    ),
    *(
        "id=1",
        'href="first" href="second"',
        "href=u/",
        "href=a=b",
        'href=a"b',
        "a\tb",
        "type=hidden",
    ),
)
_FAMILIES: Final = (
    ("table", "table", "tr", "td", "th", "tbody"),
    ("table", "table", "caption", "colgroup", "col", "thead", "td"),
    ("svg", "svg", "g", "path", "title"),
    ("select", "select", "option", "optgroup"),
)
_PLAIN_ATTRIBUTES: Final = ('href="x"', 'href="y"', "href=z", 'rel="next"', 'src="s"', 'id="1"')
_TEXTS: Final = (
    *("x", " ", "\n", "a < b", "a > b", "&amp;", "&lt;b&gt;", '"', "'", '="', "='<'", "\0", "\r"),
    *(
        "<!--",
        "-->",
        "<!-->",
        "<!--->",
        "--!>",
        "<!-- c -->",
        "<!-- <a href=c> -->",
        "<![CDATA[",
        "]]>",
    ),
    *(
        "<!doctype html>",
        "<!DOCTYPE x PUBLIC '>'>",
        "<?xml version='1.0'?>",
        "<?pi >",
        "<!x>",
        "</>",
    ),
    *(
        "</ a>",
        "<",
        "</",
        "<a",
        "</title",
        "<script><!--<script></script>-->",
        "<gossamer-a href=g>",
    ),
    *("<1>", "<a/href=s>", "<A HREF=t>", "&", "&#0;", "&#128;", "é", "\u212a", "=", ">"),
)
_TAG: Final = re.compile("<|>")


def tag(chance: random.Random, names: Sequence[str] = _NAMES, odd: float = 0.5) -> str:
    """Return a tag with up to three attributes, not always well formed."""
    name = chance.choice(names)
    if chance.random() < 0.35:
        rest = chance.choice((" ", ' x=">"', " <a href=e")) if chance.random() < odd / 5 else ""
        return f"</{name}{rest}>"
    is_odd = chance.random() < odd
    if name == "a" and not is_odd:
        return f'<a href="{chance.randrange(1000)}">'
    among = _ATTRIBUTES if is_odd else _PLAIN_ATTRIBUTES
    attributes = [chance.choice(among) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))]
    return f"<{' '.join((name, *attributes))}{'/' if chance.random() < odd / 3 else ''}>"


def written(chance: random.Random) -> str:
    """Return a page of random tags and texts: of few kinds, so that most pages are not left."""
    names = (*chance.choices(_NAMES, k=chance.randint(1, 4)), "a", "a")
    if chance.random() < 0.3:
        names = (*chance.choice(_FAMILIES), *names[-3:])
    texts = (*chance.choices(_TEXTS, k=chance.randint(0, 1)), "x", " ")
    odd = chance.choice((0, 0, 0.1, 0.5))
    parts = (
        tag(chance, names, odd) if chance.random() < 0.75 else chance.choice(texts)
        for _ in range(chance.randint(2, 16))
    )
    return "".join(parts)


def damaged(text: str, chance: random.Random) -> str:
    """Return the page with something inserted, removed, moved or changed, mostly at its tags."""
    for _ in range(chance.randint(1, 3)):
        start = _place(text, chance)
        match chance.randrange(6):
            case 0 | 1:
                text = text[:start] + tag(chance) + text[start:]
            case 2:
                text = text[:start] + chance.choice(_TEXTS) + text[start:]
            case 3:
                text = text[:start] + text[start + chance.choice((1, 1, 2, 5, 60)) :]
            case 4:
                other = _place(text, chance)
                text = (
                    text[:start] + text[other : other + chance.choice((5, 40, 300))] + text[start:]
                )
            case _:
                text = text[:start] + chance.choice("<>\"'=/&!- aA\0") + text[start + 1 :]
    return text


def difference(text: str, follow: frozenset[LinkKind]) -> str | None:
    """Return in what scan and tree differ, empty: in nothing; None if the scan leaves the page."""
    scanned = scan(text, follow)
    if scanned is None:
        return None
    found, expected = facts_of(scanned), facts_of(PageReader(text, None, follow))
    return "; ".join(
        f"{name}: {found[name]!r:.200} instead of {value!r:.200}"
        for name, value in expected.items()
        if found[name] != value
    )


def facts_of(page: PageContents) -> dict[str, object]:
    """Return everything that is read from a page but its text."""
    return {
        "links": [*zip(page.hrefs, page.kinds, strict=True)],
        "title": page.title,
        "bases": page.bases,
        "metas": page.metas,
        "refresh": page.refresh,
        "language": page.language,
        "markers_missing": page.markers_missing,
    }


def tree_tests() -> list[str]:
    """Return the inputs of the tree construction tests."""
    inputs: list[str] = json.loads(TREE_TESTS.read_text("ascii"))["inputs"]
    return inputs


def _place(text: str, chance: random.Random) -> int:
    """Return a place in the text, mostly before or after a tag nearby."""
    start = chance.randrange(len(text) + 1)
    match = _TAG.search(text, start)
    if match is None or chance.random() < 0.2:
        return start
    return match.start() if match[0] == "<" else match.end()
