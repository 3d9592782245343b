"""The frontier of a crawl in Redis rarely waits for the server: nobody is served meanwhile."""

import asyncio
import secrets
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.webs.graph import GraphWeb

import gossamer
from gossamer.stores.redis.connection import BlockingLink

MOST_A_PAGE = 0.05


@pytest.mark.req("D16")
def test_the_frontier_waits_for_less_than_one_answer_in_twenty_pages(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked in the thread of the frontier holds it up; commits have other threads."""
    asked = 0
    frontier = threading.current_thread()
    answers = BlockingLink.answers

    def counting(
        link: BlockingLink, commands: Sequence[bytes], *, same: bool = False
    ) -> list[object]:
        nonlocal asked
        asked += threading.current_thread() is frontier
        return answers(link, commands, same=same)

    monkeypatch.setattr(BlockingLink, "answers", counting)
    graph = GraphWeb(hosts=100, pages=2_000)
    with graph.serve_in_process() as served:
        summary = asyncio.run(
            gossamer.crawl(
                graph.seed_url,
                dns=served.dns,
                allow_network=["127.0.0.1"],
                store=redis_url,
                name=f"trips-{secrets.token_hex(4)}",
                dir=tmp_path / "crawl",
                scope="any",
                workers=2,
                delay="0s",
                timeout="2s",
            )
        )
    assert summary.ended_by == "complete"
    pages = summary.snapshot.pages
    assert pages > 1_000
    print(f"{asked} blocking round trips for {pages:,} pages: {asked / pages:.4f} a page")
    assert 0 < asked <= MOST_A_PAGE * pages
