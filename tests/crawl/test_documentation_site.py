"""A real documentation site of over 1,000 pages, against a search over its files."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from crawled import Crawled

from gossamer.testing import Web, traffic_of

Crawl = Callable[..., Crawled]
Search = Callable[[int | None], dict[str, int]]

HOME = "http://docs.test/index.html"


@pytest.mark.req("B1", "B2", "D1", "D8")
@pytest.mark.parametrize("depth", [None, 2])
def test_the_same_pages_as_an_independent_search(
    web: Web, crawl: Crawl, docs_site: Path, search_docs: Search, depth: int | None
) -> None:
    web.site("docs.test").folder("/", docs_site)
    crawled = crawl(
        HOME, workers=4, host_connections=8, depth=depth, max_page_bytes="2MB", max_bytes="1GB"
    )
    expected = search_docs(depth)
    assert crawled.summary.ended_by == "complete"
    assert crawled.depths() == expected
    assert sorted(page.id for page in crawled.pages) == list(range(1, len(expected) + 1))
    for page in crawled.pages:
        assert page.body == (docs_site / unquote(urlsplit(page.url).path[1:])).read_bytes()
    repeated = traffic_of(web.requests, now=0.0).repeated
    assert repeated.keys() <= {"http://docs.test/robots.txt"}
    assert sum(repeated.values()) <= 4, "once for each worker"
    assert len({record.connection for record in web.requests}) == 8
    if depth is None:
        assert len(expected) > 1000
