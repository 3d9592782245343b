"""What a page says about itself: the metadata in its head and its markup."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

import msgspec
from turbohtml import Document
from turbohtml import MicrodataItem as ParsedItem

from gossamer.model import Url
from gossamer.model.page import Metadata, MicrodataItem
from gossamer.urls import resolve

MAX_NESTING: Final = 100
"""JSON-LD that is nested deeper is left out: whoever writes it down again would stumble."""
MAX_REFERENCES: Final = 100
"""This many parts of a page may be shared by items of microdata (`itemref`)."""

_JSON_LD: Final = "script[type^='application/ld+json' i]"
_SOCIAL: Final = ("og:", "twitter:")
_MODIFIED: Final = (
    *("article:modified_time", "og:updated_time", "last-modified"),
    *("dcterms.modified", "dc.date.modified"),
)
"""The names of meta elements that say when a page was changed."""


def metadata_of(document: Document, url: Url) -> Metadata:
    """Return what a page says about itself."""
    base = resolve(document.base_url(url), url) or url
    article = document.article()
    metas = _metas(document)
    json_ld = tuple(_json_ld(document))
    return Metadata(
        description=article.description,
        canonical=_absolute(article.canonical, base),
        author=article.byline,
        site_name=article.site_name,
        image=_absolute(article.image, base),
        published=article.date or _dated(json_ld, "datePublished"),
        modified=next((metas[name] for name in _MODIFIED if metas.get(name)), None)
        or _dated(json_ld, "dateModified"),
        keywords=article.tags,
        open_graph={name: text for name, text in metas.items() if name.startswith(_SOCIAL)},
        dublin_core=document.dublin_core(),
        json_ld=json_ld,
        microdata=_microdata(document, base),
    )


def _metas(document: Document) -> dict[str, str]:
    """Return the contents of meta elements, by name or property in lower case; the first counts."""
    metas: dict[str, str] = {}
    for element in document.iter_elements({"meta"}):
        content = element.attr("content")
        name = element.attr("property") or element.attr("name") or element.attr("http-equiv")
        if name and content is not None:
            metas.setdefault(name.strip().lower(), content.strip())
    return metas


def _absolute(href: str | None, base: Url) -> str | None:
    return resolve(href, base) if href else None


def _json_ld(document: Document) -> Iterator[Any]:
    """Yield the blocks of JSON-LD; unlike the parser's own, without halves of characters."""
    for element in document.select(_JSON_LD):
        try:
            block = msgspec.json.decode(element.text.strip())
        except (msgspec.MsgspecError, RecursionError):
            continue
        if _is_shallow(block, MAX_NESTING):
            yield block


def _is_shallow(value: object, levels: int) -> bool:
    match value:
        case dict():
            return levels > 0 and all(_is_shallow(part, levels - 1) for part in value.values())
        case list():
            return levels > 0 and all(_is_shallow(part, levels - 1) for part in value)
        case _:
            return True


def _dated(blocks: Iterable[object], name: str) -> str | None:
    """Return the date of that name in a block of JSON-LD, or in one of a graph of blocks."""
    for block in blocks:
        nodes = block.get("@graph", [block]) if isinstance(block, dict) else block
        for node in nodes if isinstance(nodes, list) else ():
            date = node.get(name) if isinstance(node, dict) else None
            if isinstance(date, str) and date:
                return date
    return None


def _microdata(document: Document, base: Url) -> tuple[MicrodataItem, ...]:
    try:
        return tuple(map(_item, _without_reference_bomb(document).microdata(base)))
    except RecursionError:  # nested more deeply than anybody means
        return ()


def _without_reference_bomb(document: Document) -> Document:
    """Return the tree without `itemref`, if items that share each other's parts could explode."""
    elements = document.select("[itemref]")
    shared = sum(len((element.attr("itemref") or "").split()) for element in elements)
    is_nested = any(element.attr("itemprop") is not None for element in elements)
    if not is_nested and shared <= MAX_REFERENCES:
        return document
    document = deepcopy(document)  # others read it, too
    for element in document.select("[itemref]"):
        del element.attrs["itemref"]
    return document


def _item(parsed: ParsedItem) -> MicrodataItem:
    properties = {
        name: tuple(value if isinstance(value, str) else _item(value) for value in values)
        for name, values in parsed.properties.items()
    }
    return MicrodataItem(parsed.type, parsed.id, properties)
