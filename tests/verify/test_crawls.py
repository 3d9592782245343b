"""The crawls of a Redis are listed with their states, also those of an older version."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from gossamer.config import StoreAddress
from gossamer.stores.redis.row_keys import REGISTRY, prefix
from gossamer.views.crawls import CrawlEntry, crawls_in

if TYPE_CHECKING:
    from tests.verify.conftest import CrawlLab


def listed(lab: "CrawlLab") -> dict[str, CrawlEntry]:
    found = asyncio.run(crawls_in(StoreAddress("redis", url=lab.url)))
    return {entry.name: entry for entry in found}


@pytest.mark.req("D15")
def test_each_has_its_state(lab: "CrawlLab") -> None:
    asyncio.run(lab.crawl(40))
    stopped = listed(lab)[lab.name]
    assert stopped.state == "interrupted"
    assert stopped.pages >= 40
    assert stopped.urls > stopped.pages
    assert stopped.memory is not None
    assert 10_000 < stopped.memory < 10_000_000
    asyncio.run(lab.crawl())
    assert listed(lab)[lab.name].state == "finished"


def test_one_of_an_older_version_says_so(lab: "CrawlLab") -> None:
    lab.client.set(f"{prefix(lab.name)}rules", b"rules")
    lab.client.sadd(REGISTRY, lab.name)
    old = listed(lab)[lab.name]
    assert old.state == "outdated"
    assert "was begun with an older version of Gossamer" in (old.trouble or "")
    lab.client.delete(f"{prefix(lab.name)}rules")
    lab.client.srem(REGISTRY, lab.name)
