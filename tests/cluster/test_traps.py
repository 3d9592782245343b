"""Traps in a crawl on a shared store."""

import asyncio
from pathlib import Path

import pytest
from redis_servers import StartServer

import gossamer
from gossamer.testing import Web


@pytest.mark.req("D19", "B4")
def test_finding_10_on_a_shared_store_a_trap_is_put_last_and_then_stopped(
    start_server: StartServer, tmp_path: Path
) -> None:
    """100 URLs have the same page, and are found before the others."""
    with Web() as web:
        site = web.site("a.test")
        site.page("/", [*(f"/missing/{number}" for number in range(100)), "/one"])
        site.under("/missing/", lambda _: gossamer.testing.Reply(body="There is no such page."))
        for path, link in (("/one", "/two"), ("/two", "/three"), ("/three", "/")):
            site.page(path, [link])
        summary = asyncio.run(
            gossamer.crawl(
                "http://a.test/",
                store=start_server().url,
                name="trap",
                dir=str(tmp_path),
                delay="0s",
                dns=web.dns,
                workers=2,
                scorer="fifo",
                allow_network=["127.0.0.0/8"],
            )
        )
        asked = [request.path for request in web.requests]
    assert summary.ended_by == "complete"
    outcomes = summary.snapshot.outcomes
    assert (outcomes["fetched"], outcomes["duplicate"] + outcomes["trap"]) == (5, 99)
    assert outcomes["trap"] >= 40
    assert asked.index("/three") < 20, "before most of the others"
