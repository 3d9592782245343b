"""Links that were resolved before are resolved the same."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.links import PageLink, PageLinks, ResolvedLinks, resolve_links
from gossamer.model import Url
from gossamer.model.names import LinkKind
from gossamer.urls import normalise, resolve


@given(
    page=st.from_regex(r"http://h/([a-c.]{0,2}/){0,3}[a-c]{0,2}(\?[a-c/]{0,3})?", fullmatch=True),
    hrefs=st.lists(
        st.one_of(
            st.from_regex(r"[a-c./?#:%;\\ ]{0,8}", fullmatch=True),
            st.sampled_from(["http:", "http:?a", "http:a", "https:a", "//a/b", "\x01?b", "é?ü"]),
        ),
        max_size=6,
    ),
    pages_before=st.lists(st.sampled_from(["http://h/a/", "http://h/", "http://h/a/b?c"])),
)
def test_what_was_resolved_before_changes_nothing(
    page: str, hrefs: list[str], pages_before: list[str]
) -> None:
    url = normalise(page)
    assert url is not None
    resolved = ResolvedLinks(max_size=5)
    for before in pages_before:
        resolve_links(hrefs, Url(before), "utf-8", resolved)
    remembered, _ = resolve_links(hrefs, url, "windows-1252", resolved)
    assert remembered == resolve_links(hrefs, url, "windows-1252", ResolvedLinks())[0]
    targets = [href.partition("#")[0] for href in hrefs]
    assert remembered == {one: resolve(one, url, "windows-1252") for one in targets}


@given(st.lists(st.sampled_from(["", "a", "a#b", "#c", "mailto:a", "b?d", "http:", "left/out"])))
def test_where_links_lead_is_known_without_making_them(hrefs: list[str]) -> None:
    leading_to, _ = resolve_links(hrefs, Url("http://h/"), "utf-8", ResolvedLinks())
    leading_to.pop("left/out", None)  # as those beyond the limits
    header = PageLink("x", Url("http://h/x")), PageLink("y:", None)
    links = PageLinks(hrefs, [LinkKind.A] * len(hrefs), leading_to, before=header, after=header)
    assert links.targets() == tuple(link.url for link in links.all if link.url)
