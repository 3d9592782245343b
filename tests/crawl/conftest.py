"""Crawls of a web of our own, with real sockets and the store that people use."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crawled import Crawled, crawl_into

from gossamer.testing import Web


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        yield running


@pytest.fixture
def crawl(web: Web, tmp_path: Path) -> Callable[..., Crawled]:
    """Crawl the web from the seeds; the same directory again continues."""

    def run(*seeds: str, **options: Any) -> Crawled:  # noqa: ANN401 -- whatever a crawl takes
        return asyncio.run(crawl_into(tmp_path / "crawl", web, *seeds, **options))

    return run
