"""Links that were resolved before are resolved the same."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.links import ResolvedLinks, resolve_links
from gossamer.model import Url
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
