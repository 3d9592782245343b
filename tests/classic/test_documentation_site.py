"""A real documentation site, against a breadth-first search over its files with another parser."""

from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
import pytest

from gossamer.model import Event
from gossamer.testing import Web

Crawl = Callable[..., tuple[dict[str, tuple[int, bytes]], list[Event]]]

HOME = "http://docs.test/index.html"


@cache
def links_of(file: Path) -> list[str]:
    """The links of a file as lxml and urllib see them."""
    url = f"http://docs.test/{file.name}"
    document = lxml.html.fromstring(file.read_bytes())
    hrefs = [element.get("href") for element in document.iter("a", "area")]
    return [urljoin(url, href.strip()).partition("#")[0] for href in hrefs if href]


def search(site: Path, depth: int) -> dict[str, int]:
    """Every page within the depth, with its depth, by the files alone."""
    depths = {HOME: 0}
    line = deque([HOME])
    while line:
        url = line.popleft()
        file = site / unquote(urlsplit(url).path[1:])
        if depths[url] == depth or file.suffix != ".html":
            continue
        for link in links_of(file):
            inside = link.startswith("http://docs.test/")
            target = site / unquote(urlsplit(link).path[1:])
            is_page = target.is_file() and target.suffix in {".html", ".txt"}
            if inside and is_page and link not in depths:
                depths[link] = depths[url] + 1
                line.append(link)
    return depths


@pytest.mark.req("C5", "C7", "C13")
@pytest.mark.parametrize("depth", range(4))
def test_the_same_pages_at_the_same_depths(
    web: Web, crawl: Crawl, docs_site: Path, depth: int
) -> None:
    web.site("docs.test").folder("/", docs_site)
    saved, _ = crawl(HOME, depth, prefix="http://docs.test/")
    expected = search(docs_site, depth)
    assert {url: found for url, (found, _) in saved.items()} == expected
    for url, (_, body) in saved.items():
        assert body == (docs_site / unquote(urlsplit(url).path[1:])).read_bytes()
    if depth == 3:
        assert len(saved) > 500
