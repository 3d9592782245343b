"""A shared crawl as people run it: one command, and others that join and leave."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cluster.conftest import Crawl, Result


@pytest.mark.req("D16")
@pytest.mark.parametrize("workers", [1, 3])
def test_several_processes_find_what_one_finds(
    workers: int, crawl: "Crawl", expected: "Result"
) -> None:
    crawl.crawl(workers=workers).succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
    assert "this crawl is finished" in crawl.crawl(workers=workers).succeed()
