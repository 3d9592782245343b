"""Workers whose clocks are wrong by minutes: the time that counts is the server's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cluster.crawl_result import CrawlResult
    from tests.cluster.process_crawl import ProcessCrawl

SKEW = """\
import time

_true = time.time
time.time = lambda: _true() + ({skew_s})
"""


def skewed(folder: Path, skew_s: int) -> dict[str, str]:
    """Return the environment in which a process of Python has another time of day."""
    place = folder / f"skew{skew_s}"
    place.mkdir()
    (place / "sitecustomize.py").write_text(SKEW.format(skew_s=skew_s), encoding="utf-8")
    before = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(place), before]))}


@pytest.mark.req("B1", "B3", "D16")
def test_clocks_that_are_wrong_by_minutes(
    crawl: "ProcessCrawl", expected: "CrawlResult", tmp_path: Path
) -> None:
    run = crawl.crawl(workers=0)
    workers = [crawl.worker(**skewed(tmp_path, skew_s)) for skew_s in (-600, 600)]
    for worker in workers:
        assert "the crawl is over" in worker.succeed()
    run.succeed()
    assert crawl.result() == expected
    crawl.assert_polite()
    crawl.verify()
