"""A real documentation site, against a breadth-first search over its files with another parser."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from gossamer.model import Event
from gossamer.testing import Web

Crawl = Callable[..., tuple[dict[str, tuple[int, bytes]], list[Event]]]
Search = Callable[[int | None], dict[str, int]]


@pytest.mark.req("C5", "C7", "C13")
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_same_pages_at_the_same_depths(
    web: Web, crawl: Crawl, docs_site: Path, search_docs: Search, depth: int
) -> None:
    web.site("docs.test").folder("/", docs_site)
    saved, _ = crawl("http://docs.test/index.html", depth, prefix="http://docs.test/")
    assert {url: found for url, (found, _) in saved.items()} == search_docs(depth)
    for url, (_, body) in saved.items():
        assert body == (docs_site / unquote(urlsplit(url).path[1:])).read_bytes()
    if depth == 3:
        assert len(saved) > 500
