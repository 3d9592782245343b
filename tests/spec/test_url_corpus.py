"""Every link of a real documentation site, against the standard library's resolver."""

import html
import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from gossamer.model import Url
from gossamer.urls import fingerprint, merge_slashes, normalise, resolve

_HREF = re.compile(r"""<a\b[^>]*?\bhref\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
# What both resolvers must agree on: nothing that the URL standard reads differently.
_PLAIN = re.compile(r"[A-Za-z0-9/._~!$&()*+,;=:@?#-]*")


@pytest.fixture(scope="module")
def links(docs_site: Path) -> list[tuple[str, str]]:
    """Return each link with the URL of its page."""
    found: list[tuple[str, str]] = []
    for page in sorted(docs_site.rglob("*.html")):
        base = normalise(f"http://docs.example/{page.relative_to(docs_site).as_posix()}")
        assert base is not None
        text = page.read_text(encoding="utf-8", errors="replace")
        found += [(html.unescape(href), base) for href in _HREF.findall(text)]
    return found


@pytest.mark.req("C8", "C9")
def test_every_link_has_a_stable_normal_form(links: list[tuple[str, str]]) -> None:
    assert len(links) > 5000
    urls = {url for href, base in links if (url := resolve(href, base)) is not None}
    assert len(urls) > 500
    assert [url for url in urls if normalise(url) != url or not url.isascii()] == []
    assert [url for url in urls if normalise(merge_slashes(url)) != merge_slashes(url)] == []
    assert [url for url in urls if normalise(fingerprint(url)) != Url(fingerprint(url))] == []


@pytest.mark.req("C9")
def test_links_resolve_as_the_standard_library_resolves_them(
    links: list[tuple[str, str]],
) -> None:
    differing = []
    compared = 0
    for href, base in set(links):
        expected = urldefrag(urljoin(base, href)).url
        parts = urlsplit(expected)
        if not _PLAIN.fullmatch(href) or parts.scheme not in {"http", "https"}:
            continue
        if not parts.path or not parts.netloc.islower():
            continue  # the standard library does not normalise these
        compared += 1
        if resolve(href, base) != expected:
            differing.append((href, base, resolve(href, base), expected))
    assert differing == []
    assert compared > 1000
