"""The visible text of pages: by a plain definition of it, which takes longer."""

import sys
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import CData, Document, Element, Node, ProcessingInstruction, Text, parse

from gossamer.content import parser_limits as limits
from gossamer.content.html_tree import INVISIBLE, HtmlTree, with_single_spaces

INLINE_NAMES = """
    a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr q ruby
    s samp small span strike strong sub sup time tt u var wbr
"""
OTHER_NAMES = """
    p div table tr td caption select option button template svg math mi foreignObject x-y br pre
    textarea xmp plaintext frameset head body ul li dd form rt slot image object
"""
INLINE = frozenset(INLINE_NAMES.split())
TAGS = [*sorted(INLINE | INVISIBLE), *OTHER_NAMES.split()]
WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))

PIECES = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(["", "/"]), st.sampled_from(TAGS)),
    st.sampled_from(TAGS).map("<{} class='a>b' href=x>".format),
    st.text(alphabet=f"{WHITE_SPACE}ab<&\xad\u200b\U0001f600", max_size=4),
    st.sampled_from(
        ["<!-- c -->", "<!doctype html>", "<?pi?>", "</ x>", "<![CDATA[ d ]]>", "&nbsp;"]
    ),
)


def runs_of(node: Node) -> Iterator[str]:
    """Yield the texts of a tree, with a space for everything that separates words."""
    for one in node.children:
        if isinstance(one, Text | CData):
            yield one.data
        elif isinstance(one, ProcessingInstruction):
            yield " "
        elif isinstance(one, Element) and one.tag not in INVISIBLE | {"template"}:
            space = "" if one.tag.removeprefix(limits.PREFIX) in INLINE else " "
            yield from (space, *runs_of(one), space)


def defined_text(tree: Document) -> str:
    return " ".join("".join(runs_of(tree)).split())


@given(st.lists(PIECES, max_size=30).map("".join))
def test_the_text_is_as_defined(source: str) -> None:
    text = with_single_spaces(HtmlTree(source).take_text())
    assert text == defined_text(parse(source, allow_declarative_shadow_roots=False))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_so_is_that_of_a_page_with_renamed_elements(source: str) -> None:
    with patch.object(limits, "HARMLESS", -1):
        reader = HtmlTree(source)
        renamed = parse(limits.rename_formatting(source), allow_declarative_shadow_roots=False)
    text = with_single_spaces(reader.take_text())
    assert text == limits.as_written(defined_text(renamed))


@given(st.text(alphabet=f"{WHITE_SPACE}     ab\x00\xad\u200b\u180e\ufeff\ud800\U0001f600"))
def test_words_have_one_space_between_them(text: str) -> None:
    assert with_single_spaces(text) == " ".join(text.split())


@pytest.mark.parametrize("space", WHITE_SPACE)
def test_all_white_space_counts(space: str) -> None:
    assert with_single_spaces(f"{space}a{space * 2}b {space} c{space}") == "a b c"
