"""kill -9 at any moment, then the same command again: nothing is lost, nothing is there twice."""

import os
import random
import time
from collections import Counter
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, Web
from gossamer.testing.traffic import traffic_of

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun, SmallCrawl

QUICK_COMMITS = {"commit_every_s": 0.005}
"""Twenty times as often as in real life, so that a crash can fall between any two commits."""

COORDINATOR_STEPS = [
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
    *["after EmbeddedStore.join", "after EmbeddedStore.release", "after EmbeddedStore.claim"],
    *["before EmbeddedStore.settle", "after SqliteBackend.retry"],
    *["after SqliteBackend.finish", "after SqliteBackend.add_page", "after SqliteBackend.set_path"],
    "after EmbeddedStore.settle",
    *[
        "after EmbeddedStore.confirm_depth_changes",
        "before EmbeddedStore.commit",
        "after SqliteBackend.save_hosts",
    ],
    *["before SqliteBackend.commit", "after Batch.write", "after SqliteBackend.commit"],
    *["after ModuleRunner.close", "before EmbeddedStore.close", "before SqliteBackend.close"],
    *["after SqliteBackend.close", "after CrawlDirectory.__exit__"],
]
WORKER_STEPS = [
    *["before ModuleRunner.open", "after ModuleRunner.open"],
    *["before PoliteRobots.judge", "after PoliteRobots.judge"],
    *["before Client.fetch", "after Client.fetch"],
    *["before os.writev", "within os.writev", "after os.writev", "after os.replace"],
    *["before ModuleRunner.deliver", "after ModuleRunner.deliver"],
    *["before ModuleRunner.depth_changed", "after ModuleRunner.depth_changed"],
    *["before ModuleRunner.close", "after ModuleRunner.close", "after Client.__aexit__"],
]


@pytest.mark.req("B1", "D16")
@pytest.mark.parametrize("step", COORDINATOR_STEPS)
def test_killed_at_a_step(step: str, chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """At the first passing of it, and then at a later one, if there is any."""
    kills = 0
    for passing in (1, 4 + 3 * chaos_seed):
        if not crawl.start(tmp_path, step=step, passing=passing, **QUICK_COMMITS).was_killed():
            break
        kills += 1
    assert kills, "this step is never taken"
    crawl.finish(tmp_path)


@pytest.mark.req("B1", "D16")
@pytest.mark.parametrize("step", WORKER_STEPS)
def test_a_worker_killed_at_a_step_is_replaced(
    step: str, chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path
) -> None:
    """The command goes on; at the first passing, and in other rounds at later ones."""
    passing = 1 + 2 * chaos_seed
    run = crawl.start(tmp_path, step=step, passing=passing, role="worker", **QUICK_COMMITS)
    run.succeed()
    assert run.step_was_taken or passing > 1, "this step is never taken"
    crawl.check(tmp_path, with_parts=True)


@pytest.mark.req("B1", "B3", "D16")
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_killed_at_random_moments_are_replaced(
    workers: int, chaos_seed: int, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """Each page is kept once, what was in progress is fetched again, and nobody else is asked."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(80)]
    site.page("/", links=paths)
    for path in paths:
        site.reply(path, Reply(body=path, delay_s=0.03))
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path, "--module", "save"]
    command += ["--delay", "0s", "--host-connections", 4, "--workers", workers]
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    run = gossamer.start(*command)
    killed: list[int] = []
    for requests in (4, 20, 40, 60):
        least = requests + rng.randrange(10)
        run.wait_for(lambda: len(web.requests) >= least and bool(run.workers))  # noqa: B023
        killed.append(rng.choice(run.workers))
        os.kill(killed[-1], SIGKILL)
        run.wait_for(lambda: killed[-1] not in run.workers)
    run.succeed()
    assert run.output.count("died (signal 9) and is replaced") == len(killed)
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(asked) == {"/", *paths}
    assert asked.total() <= len(asked) + 4 * len(killed), "what nobody had was not asked for twice"
    assert traffic_of(web.requests, time.monotonic()).most_at_once <= 4
    saved = [one for one in (tmp_path / "pages").iterdir() if not one.name.startswith(".")]
    assert sorted(int(one.name) for one in saved) == [*range(1, len(asked) + 1)]
    assert len({one.read_text().partition("\n")[0] for one in saved}) == len(asked)
    gossamer.start("verify", "--dir", tmp_path).succeed()


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
@pytest.mark.parametrize("role", ["coordinator", "worker"])
def test_what_a_kill_at_the_very_end_kept_from_the_modules_is_told_all_the_same(
    role: str, gossamer: "Gossamer", web: Web, tmp_path: Path
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
    # The first commit is that of the seeds, the second that of the shorter path.
    steps: dict[str, dict[str, object]] = {
        "coordinator": {"step": "after EmbeddedStore.commit", "passing": 2},
        "worker": {"step": "before ModuleRunner.depth_changed"},
    }
    run = gossamer.start(*command, **steps[role], role=role, commit_every_s=1000)
    if role == "coordinator":
        assert run.was_killed()
        assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n3\n")
        gossamer.start(*command).succeed()
    else:
        run.succeed()
        assert run.step_was_taken
    assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n2\n")
    assert gossamer.start("verify", "--dir", tmp_path).end() == 0
