"""The own content of a page: what it says without navigation, header, footer and sidebar.

On many sites that frame is most of each page, so that all of them have nearly the same text. Pages
that look similar are therefore compared once more, by what is their own. It is read only then.
"""

from typing import Final

from gossamer.content.kind import kind_of, parse_content_type
from gossamer.content.similarity import sample
from gossamer.kinds import ContentKind

MAX_OWN_BYTES: Final = 500_000
"""The rest of a page is ignored: to find its own content takes up to 0.12 s for so much."""


def own_sample(body: bytes, content_type: str | None) -> bytes:
    """Return the sample of the own content of a page; empty if it has none, or too little."""
    return sample(own_text(body, content_type))


def own_text(body: bytes, content_type: str | None) -> str:
    """Return the text of the own content of a page; empty if it has none."""
    body, label = body[:MAX_OWN_BYTES], parse_content_type(content_type)
    kind = kind_of(label, body)
    if not kind.is_page:
        return ""
    # This loads the HTML parser, which a process that leaves parsing to another does not need.
    from gossamer.content.markup import decode_markup  # noqa: PLC0415

    text, _ = decode_markup(body, label)
    return text if kind is ContentKind.TEXT else _main_text(text)


def _main_text(source: str) -> str:
    """Return the text of the element that holds most of the running text.

    It is found as the reader modes of browsers find it: by length and punctuation of the text, the
    share of links in it, and the names of elements and classes.
    """
    from gossamer.content.tree import INVISIBLE, parse_tree  # noqa: PLC0415 -- as above

    document = parse_tree(source)
    for element in document.iter_elements({*INVISIBLE, "template"}):
        element.decompose()
    found = document.main_content()
    return "" if found is None else found.text
