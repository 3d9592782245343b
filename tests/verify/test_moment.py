"""A copy of a crawl in Redis is as the crawl was after one commit."""

import asyncio
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.verify.conftest import CrawlLab


@pytest.mark.req("B1", "D13")
def test_a_crawl_that_has_ended_is_sound(lab: "CrawlLab") -> None:
    assert asyncio.run(lab.crawl()) == "complete"
    found = lab.verified()
    assert [(one.rule, one.examples) for one in found.findings if one.broken] == []
    assert (found.complete, found.running) == (True, False)
    assert found.pages > 100


def test_a_crawl_that_was_interrupted_is_sound(lab: "CrawlLab") -> None:
    assert asyncio.run(lab.crawl(40)) == "interrupted"
    assert lab.broken() == {}
