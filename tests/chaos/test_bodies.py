"""Bodies in segments when processes die: no page refers to a body that is not there."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.stores.bodies import ENDING, INDEX_ENDING
from gossamer.stores.body_writer import read_index
from gossamer.testing import Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

PAGES = 20


@pytest.fixture
def command(web: Web, tmp_path: Path) -> list[object]:
    """A crawl of a small site."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(1, PAGES)]
    site.page("/", links=paths)
    for path in paths:
        site.page(path, text=f"the page {path} " * 20)
    words: list[object] = ["crawl", f"{web.base_url}/", "--dir", tmp_path / "c", "--delay", "0s"]
    return [*words, "--similarity", "1", "--workers", "1", "--bodies", tmp_path / "bodies"]


def torn_bytes(folder: Path) -> int:
    """Return how many bytes no index knows of, in segments that all are finished."""
    torn = 0
    for segment in folder.glob(f"*{ENDING}"):
        index = read_index(segment.with_suffix(INDEX_ENDING).read_bytes())
        assert index is not None
        torn += segment.stat().st_size - index.end
    return torn


@pytest.mark.req("B1", "D16")
@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_a_worker_dies_while_it_writes_a_body(
    moment: str, gossamer: "Gossamer", command: list[object], tmp_path: Path
) -> None:
    run = gossamer.start(*command, step=f"{moment} os.writev", passing=7, role="worker")
    run.succeed()
    assert run.step_was_taken
    gossamer.start("verify", "--dir", tmp_path / "c").succeed()
    assert len([*(tmp_path / "bodies").glob(f"*{ENDING}")]) == 2
    assert (torn_bytes(tmp_path / "bodies") > 0) == (moment == "within")


@pytest.mark.req("B1", "D16")
def test_the_whole_crawl_dies_and_goes_on(
    gossamer: "Gossamer", command: list[object], tmp_path: Path
) -> None:
    for passing in (3, 9):
        run = gossamer.start(
            *command, step="after Frontier._record", passing=passing, commit_every_s=0.005
        )
        assert run.was_killed()
        gossamer.start("verify", "--dir", tmp_path / "c").succeed()
    gossamer.start(*command).succeed()
    gossamer.start("verify", "--dir", tmp_path / "c").succeed()
    listed = gossamer.start("pages", "--dir", tmp_path / "c", "--json")
    listed.succeed()
    assert listed.output.count('"outcome":"fetched"') == PAGES
    assert torn_bytes(tmp_path / "bodies") == 0
