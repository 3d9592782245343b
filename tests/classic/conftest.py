"""The classic crawl as a library: the same as the command, without its pause."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.coordinator.in_process import ClassicCrawl, ClassicPlan
from gossamer.model import Event
from gossamer.modules.page_directory import PageDirectory
from gossamer.policy import AddressPolicy
from gossamer.testing import Web
from gossamer.urls import merge_slashes, parse_seed

Saved = dict[str, tuple[int, bytes]]
Crawl = Callable[..., tuple[Saved, list[Event]]]


@pytest.fixture
def web() -> Iterator[Web]:
    """A web of our own."""
    with Web() as running:
        yield running


@pytest.fixture
def crawl(web: Web, tmp_path: Path) -> Crawl:
    """Crawl from a seed and return the saved pages, by URL, and the events."""

    def run(
        seed: str, depth: int, *, prefix: str = "", delay_s: float = 0.0, first_id: int = 1
    ) -> tuple[Saved, list[Event]]:
        folder = tmp_path / f"pages-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        events: list[Event] = []
        start = merge_slashes(parse_seed(seed))
        host, port = web.address
        plan = ClassicPlan(
            start,
            parse_seed(prefix) if prefix else start,
            depth,
            AddressPolicy.parse([f"{host}:{port}"]),
            delay_s=delay_s,
            dns=web.dns,
        )
        pages = PageDirectory(folder, first_id=first_id, fresh=True)
        asyncio.run(ClassicCrawl(plan, pages, events.append).run())
        return read_pages(folder, first_id), events

    return run


def read_pages(folder: Path, first_id: int) -> Saved:
    """Read the files back; their names must be numbers without holes."""
    names = sorted(int(entry.name) for entry in folder.iterdir())
    assert names == list(range(first_id, first_id + len(names)))
    saved: Saved = {}
    for name in names:
        url, depth, body = (folder / str(name)).read_bytes().split(b"\n", 2)
        assert url.decode() not in saved, "a page was saved twice"
        saved[url.decode()] = (int(depth), body)
    return saved
