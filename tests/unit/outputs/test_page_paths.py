"""Paths of files from URLs: safe on any disk, told apart, and the same every time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model import Url
from gossamer.outputs.page_paths import extension_of, folded, free_path, page_path, relative_link
from gossamer.urls import normalise

RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://x.org/", "x.org/index.html"),
        ("http://x.org:8080/a", "x.org+8080/a.html"),
        ("http://[::1]:80/a", "__1/a.html"),
        ("http://x.org/a/", "x.org/a/index.html"),
        ("http://x.org/a.html", "x.org/a.html"),
        ("http://x.org/a.html/b", "x.org/a.html~/b.html"),
        ("http://x.org/index.php", "x.org/index.php.html"),
        ("http://x.org/v1.2/x", "x.org/v1.2/x.html"),
        ("http://x.org/m.webmanifest/x", "x.org/m.webmanifest~/x.html"),
        ("http://x.org/m.3GP/x", "x.org/m.3GP~/x.html"),
        ("http://index.html/", "index.html~/index.html"),
        ("http://x.org/a?x=1&y=/..", "x.org/a@x=1_y=_.html"),
        ("http://x.org/caf%C3%A9", "x.org/café.html"),
        ("http://x.org/%2e%2e%2f%2e%2e/etc", "x.org/_.._/etc.html"),
        ("http://x.org/.htaccess", "x.org/_.htaccess.html"),
        ("http://x.org/-rf", "x.org/_-rf.html"),
        ("http://x.org/CON/nul.html", "x.org/CON_/nul_.html"),
        ("http://x.org/a%00%0a%3Cb%3E", "x.org/a___b_.html"),
    ],
)
def test_a_url_has_a_readable_path(url: str, path: str) -> None:
    normal = normalise(url)
    assert normal is not None
    assert page_path(normal, ".html") == path


def test_the_extension_of_a_page_is_replaced() -> None:
    assert page_path(Url("http://x.org/a.HTML"), ".md") == "x.org/a.md"
    assert page_path(Url("http://x.org/a.htm"), ".html") == "x.org/a.html"
    assert page_path(Url("http://x.org/a.txt"), ".md") == "x.org/a.txt.md"


@pytest.mark.req("D19")
@given(st.text(st.characters(codec="utf-8"), max_size=300), st.text(max_size=200))
def test_whatever_the_url_its_path_is_safe(path: str, query: str) -> None:
    url = normalise(f"http://x.org/{path}?{query}")
    if url is None:
        return
    found = page_path(url, ".html")
    *folders, file = found.split("/")
    assert found == page_path(url, ".html")
    assert len(found.encode()) <= 200
    assert file.endswith(".html")
    for name in (*folders, file):
        assert name
        assert name.isprintable()
        assert name[0] not in ".-~"
        assert name[-1] not in ". "
        assert not set(name) & set("\\:*?\"<>|#%&;$`'")
        assert not RESERVED.fullmatch(name)
        assert len(name.encode()) <= 130
    for name in folders[1:]:
        assert not name.endswith(".html")  # a file may be called so


def test_pages_that_differ_in_case_or_nothing_have_files_of_their_own() -> None:
    taken: dict[str, str] = {}
    urls = [
        *("http://x.org/a", "http://x.org/A", "https://x.org/a", "http://x.org/a.html"),
        *("http://x.org/a?", "http://x.org/a?b=%2F", "http://x.org/a?b=_2F"),
    ]
    for url in urls:
        path = free_path(Url(url), ".html", taken.__contains__)
        assert folded(path) not in taken
        taken[folded(path)] = url
    # A page may have the name that another one would get by its hash.
    wanted = next(path for path, url in taken.items() if url == "http://x.org/A")
    last = {folded("x.org/a.html"), folded(wanted)}
    assert folded(free_path(Url("http://x.org/A"), ".html", last.__contains__)) not in last


@pytest.mark.parametrize(
    ("url", "content_type", "extension"),
    [
        ("http://x/a.css", "text/css", ".css"),
        ("http://x/a.js", "text/plain", ".js"),
        ("http://x/a.html", "text/plain", ".txt"),
        ("http://x/a.php", "image/png", ".png"),
        ("http://x/a.jpeg", "image/jpeg", ".jpeg"),
        ("http://x/a", "application/pdf", ".pdf"),
        ("http://x/a.exe", "x/y", ".bin"),
        ("http://x/a", "", ".bin"),
        ("http://x/a.png", "application/octet-stream", ".png"),
        ("http://x/a.html", "application/octet-stream", ".bin"),
        ("http://x/a.xhtml", "application/xhtml+xml", ".html"),
    ],
)
def test_the_extension_follows_the_type(url: str, content_type: str, extension: str) -> None:
    assert extension_of(Url(url), content_type) == extension


@pytest.mark.parametrize(
    ("source", "target", "link"),
    [
        ("h/a/b.html", "h/c.html", "../c.html"),
        ("h/a.html", "h/a.html", "a.html"),
        ("index.html", "h/é.html", "h/%C3%A9.html"),
        ("h/a/x.html", "g/a/x.html", "../../g/a/x.html"),
    ],
)
def test_links_between_files(source: str, target: str, link: str) -> None:
    assert relative_link(source, target) == link
