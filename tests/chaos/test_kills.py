"""kill -9 at any moment, then the same command again: nothing is lost, nothing is there twice."""

import os
import random
import time
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun, SmallCrawl

QUICK_COMMITS = {"commit_every_s": 0.005}
"""Twenty times as often as in real life, so that a crash can fall between any two commits."""

STEPS = [
    *[
        "after CrawlDirectory.__enter__",
        "after SqliteBackend.__init__",
        "after SqliteBackend.requeue_all",
    ],
    *["after ModuleRunner.open", "before EmbeddedStore.add_seeds", "after EmbeddedStore.add_seeds"],
    *["after SqliteBackend.insert", "after SqliteBackend.put"],
    *["after SqliteBackend.set_score", "after EmbeddedStore.prioritise"],
    *["after SqliteBackend.take", "after SqliteBackend.move", "after EmbeddedStore.route"],
    *["after SqliteBackend.begin", "after EmbeddedStore.lease"],
    *["before PoliteRobots.judge", "after PoliteRobots.judge", "after EmbeddedStore.release"],
    *["before Client.fetch", "after Client.fetch", "after EmbeddedStore.claim"],
    *["before os.writev", "within os.writev", "after os.writev", "after os.replace"],
    *["after ModuleRunner.deliver", "before EmbeddedStore.settle", "after SqliteBackend.retry"],
    *["after SqliteBackend.finish", "after SqliteBackend.add_page", "after SqliteBackend.set_path"],
    "after EmbeddedStore.settle",
    *["before ModuleRunner.depth_changed", "after ModuleRunner.depth_changed"],
    *[
        "after EmbeddedStore.confirm_depth_changes",
        "before EmbeddedStore.commit",
        "after SqliteBackend.save_hosts",
    ],
    *["before SqliteBackend.commit", "after Batch.write", "after SqliteBackend.commit"],
    "after ModuleRunner.close",
    *["after Client.__aexit__", "before EmbeddedStore.close", "before SqliteBackend.close"],
    *["after SqliteBackend.close", "after CrawlDirectory.__exit__"],
]


@pytest.mark.req("B1", "D16")
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_a_step(step: str, chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """At the first passing of it, and then at a later one, if there is any."""
    kills = 0
    for passing in (1, 4 + 3 * chaos_seed):
        if not crawl.start(tmp_path, step=step, passing=passing, **QUICK_COMMITS).was_killed():
            break
        kills += 1
    assert kills, "this step is never taken"
    crawl.finish(tmp_path)


def kill_at_random(run: "GossamerRun", crawl: "SmallCrawl", rng: random.Random) -> None:
    """Kill it a moment after one of its requests, while it works on the answer or on others."""
    requests = len(crawl.web.requests) + rng.randint(1, 20)
    run.wait_for(lambda: len(crawl.web.requests) >= requests)
    time.sleep(rng.uniform(0, 0.02))
    run.signal(SIGKILL)


@pytest.mark.req("B1", "D16")
def test_killed_at_random_moments(chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """Each crashed state is sound in itself, too."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    kills = 0
    for _ in range(6):
        run = crawl.start(tmp_path, **(QUICK_COMMITS if chaos_seed % 2 else {}))
        kill_at_random(run, crawl, rng)
        kills += run.was_killed()
        crawl.verify(tmp_path)
    assert kills
    crawl.finish(tmp_path)


@pytest.mark.req("B1")
def test_a_loss_of_power_costs_the_last_commits_only(
    chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path
) -> None:
    """What the operating system had not written of the log is gone; the files were faster."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    run = crawl.start(tmp_path, **QUICK_COMMITS)
    kill_at_random(run, crawl, rng)
    assert run.was_killed()
    log = tmp_path / "crawl.sqlite-wal"
    os.truncate(log, rng.randrange(log.stat().st_size))
    crawl.finish(tmp_path)


@pytest.mark.req("B1")
@pytest.mark.parametrize("passing", [1, 2, 3])
def test_killed_while_it_starts_over(passing: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """The old state goes file by file; what is left of it is not taken for a crawl."""
    assert crawl.start(tmp_path, "--max-pages", 1).end() == 0
    settled = {"step": "after EmbeddedStore.settle", "passing": 20}
    assert crawl.start(tmp_path, **settled, **QUICK_COMMITS).was_killed()
    assert tmp_path.joinpath("crawl.sqlite-wal").stat().st_size > 0
    assert crawl.start(tmp_path, "--fresh", step="after Path.unlink", passing=passing).was_killed()
    crawl.finish(tmp_path)


@pytest.mark.req("B1", "B2")
def test_what_a_kill_at_the_very_end_kept_from_the_modules_is_told_all_the_same(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The last page of the crawl is a short cut to another, which is saved already."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/short-cut", "/1"])
    site.page("/1", links=["/2"])
    site.page("/2", links=["/3"])
    site.page("/3")
    saved = tmp_path / "pages"
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path, "--module", "save"]
    command += ["--delay", "0s", "--host-connections", 2]
    site.reply("/short-cut", Reply(body='<a href="/3">three</a>', delay_s=0.5))
    step = "before ModuleRunner.depth_changed"
    assert gossamer.start(*command, step=step).was_killed()
    assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n3\n")
    assert gossamer.start(*command).end() == 0
    assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n2\n")
    assert gossamer.start("verify", "--dir", tmp_path).end() == 0
