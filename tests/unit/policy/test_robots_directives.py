"""What a page says about its own links."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy import may_follow

AGENT = "Gossamer"


@pytest.mark.parametrize(
    ("values", "follow"),
    [
        ([], True),
        ([""], True),
        (["noindex"], True),
        (["all"], True),
        (["nofollow"], False),
        (["NoFollow"], False),
        (["none"], False),
        (["noindex, nofollow"], False),
        (["noindex,nofollow"], False),
        (["noindex; nofollow"], False),
        (["noindex nofollow"], False),
        (["noindex", "nofollow"], False),
        (["nofollow, follow"], False),
        (["nofollows"], True),
        # who is meant
        (["otherbot: nofollow"], True),
        (["gossamer: nofollow"], False),
        (["GOSSAMER : nofollow"], False),
        (["*: nofollow"], False),
        (["gossamer-images: nofollow"], True),
        (["otherbot: noindex, nofollow"], True),
        (["gossamer: noindex, nofollow"], False),
        (["otherbot: noindex, gossamer: nofollow"], False),
        (["gossamer: noindex, otherbot: nofollow"], True),
        (["nofollow, otherbot: noindex"], False),
        (["otherbot: noindex", "nofollow"], False),
        (["gossamer: all", "nofollow"], False),
        (["gossamer: follow, nofollow"], False),
        # words with a value
        (["max-image-preview: none"], True),
        (["max-image-preview:none"], True),
        (["max-snippet:20, nofollow"], False),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], True),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], False),
        (["unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, nofollow"], False),
        (["gossamer: max-snippet:20, nofollow"], False),
        (["otherbot: max-snippet:20, nofollow"], True),
        # nonsense
        ([":"], True),
        ([": nofollow"], True),
        (["nofollow:"], True),
        ([",,;;nofollow,"], False),
    ],
)
def test_the_header(values: list[str], follow: bool) -> None:
    assert may_follow(AGENT, values, []) is follow


@pytest.mark.parametrize(
    ("metas", "follow"),
    [
        ([], True),
        ([("robots", "noindex")], True),
        ([("robots", "nofollow")], False),
        ([("ROBOTS", "NOINDEX, NOFOLLOW")], False),
        ([(" robots ", " none ")], False),
        ([("robots", "noindex nofollow")], False),
        ([("robots", "noindex;nofollow")], False),
        ([("robots", "follow"), ("robots", "nofollow")], False),
        ([("gossamer", "nofollow")], False),
        ([("Gossamer", "nofollow"), ("robots", "all")], False),
        ([("googlebot", "nofollow")], True),
        ([("description", "nofollow")], True),
        ([("", "nofollow")], True),
        ([("robots", "index, follow, max-image-preview:large, max-snippet:-1")], True),
        ([("robots", "max-image-preview: none")], True),
        ([("robots", "noindex nofollow max-snippet:-1")], False),
        ([("robots", "max-snippet:-1 nofollow")], False),
        ([("robots", "")], True),
    ],
)
def test_the_meta_elements(metas: list[tuple[str, str]], follow: bool) -> None:
    assert may_follow(AGENT, [], metas) is follow


def test_header_and_meta_add_up() -> None:
    assert not may_follow(AGENT, ["nofollow"], [("robots", "follow")])
    assert not may_follow(AGENT, ["all"], [("robots", "none")])


text = st.text(max_size=20) | st.text(":,; -robtsnefwl*", max_size=40)


@settings(deadline=None, max_examples=200)
@given(text, st.lists(text, max_size=3), st.lists(st.tuples(text, text), max_size=3))
def test_a_restriction_holds_whatever_else_is_said(
    agent: str, values: list[str], metas: list[tuple[str, str]]
) -> None:
    may_follow(agent, values, metas)  # never raises
    assert not may_follow(agent, [*values, "nofollow"], metas)
    assert not may_follow(agent, values, [("robots", "none"), *metas])
